"use strict";
// The rows of the page: read once from the data blocks, then plain arrays. Rows stand in the order of their ids,
// so the order (distance, row) is that of HammingIndex: (distance, id).

const facts = JSON.parse(document.getElementById("facts").textContent);

/** Bytes of a data block, or null where the page has none of that name. */
function bytesOf(name) {
  const block = document.getElementById("data-" + name);
  if (!block) return null;
  const text = atob(JSON.parse(block.textContent));
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Numbers of a data block: `kind` is a typed array. */
function numbersOf(name, kind) {
  const bytes = bytesOf(name);
  return bytes && new kind(bytes.buffer);
}

const rows = {
  n: facts.rows,
  words: facts.words,
  codes: numbersOf("codes", Uint32Array),
  mapped: numbersOf("mapped", Uint32Array),
  places: numbersOf("places", Uint16Array),
  classes: numbersOf("classes", Int32Array),
  tagStarts: numbersOf("tag-starts", Uint32Array),
  tags: numbersOf("tags", Uint32Array),
  known: bytesOf("known"),
};
const KIN = 1, STRANGER = 0, UNKNOWN = -1;

/** The id of a row: a number where ids are numbers, else text. */
function idOf(row) {
  return facts.ids === null ? row : facts.ids[row];
}

/** The row with this id (as text), or -1. */
function rowOf(text) {
  if (facts.ids === null) return /^\d+$/.test(text) && Number(text) < rows.n ? Number(text) : -1;
  if (!rowOf.places) rowOf.places = new Map(facts.ids.map((id, row) => [String(id), row]));
  return rowOf.places.has(text) ? rowOf.places.get(text) : -1;
}

/** Places in facts.names of the labels of a row: one class, or any number of tags. */
function labelsOf(row) {
  if (rows.classes) return rows.classes[row] < 0 ? [] : [rows.classes[row]];
  return rows.tags ? rows.tags.subarray(rows.tagStarts[row], rows.tagStarts[row + 1]) : [];
}

function labelText(row) {
  const names = Array.from(labelsOf(row), (label) => facts.names[label]);
  return names.length ? names.join(", ") : facts.kind === "tags" && rows.known[row] ? "no tag" : facts.kind ? "no label" : "";
}

function textOf(row) {
  return facts.texts ? facts.texts[row] : "";
}

/** Similar rows share their class, or a tag. A row of unknown label is neither similar nor dissimilar; nor is a vector, row -1. */
function kinship(left, right) {
  if (!facts.kind || !rows.known[left] || !rows.known[right]) return UNKNOWN;
  if (rows.classes) return rows.classes[left] === rows.classes[right] ? KIN : STRANGER;
  const mine = new Set(labelsOf(left));
  return labelsOf(right).some((label) => mine.has(label)) ? KIN : STRANGER;
}

// The first bit of a code is the highest of its first byte, and the bytes of a word come lowest first.
/** The place of a bit in its word. */
function shiftOf(bit) {
  return 8 * ((bit >> 3) & 3) + 7 - (bit & 7);
}

function bitAt(code, bit) {
  return (code[bit >> 5] >>> shiftOf(bit)) & 1;
}

/** The words of a row's code: the stored one, or the one that the model gives its features. */
function codeOf(row, mapped) {
  return (mapped && rows.mapped ? rows.mapped : rows.codes).subarray(row * rows.words, (row + 1) * rows.words);
}

/** The words of a code whose bits are 1 where a score is above zero. */
function codeOfScores(scores) {
  const code = new Uint32Array(rows.words);
  scores.forEach((score, bit) => { if (score > 0) code[bit >> 5] |= 1 << shiftOf(bit); });
  return code;
}

function ones(word) {
  word -= (word >>> 1) & 0x55555555;
  word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
  return Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Distances of all rows from a code: differing bits. */
function distancesFrom(code) {
  const out = new Uint16Array(rows.n), all = rows.codes, width = rows.words;
  for (let i = 0, at = 0; i < rows.n; i++) {
    let differing = 0;
    for (let w = 0; w < width; w++, at++) differing += ones(all[at] ^ code[w]);
    out[i] = differing;
  }
  return out;
}

/** The code itself, all rows but `except` in the order (distance, row), and the distances of all rows. */
function neighborsOf(code, except = -1) {
  const distances = distancesFrom(code);
  const starts = new Uint32Array(facts.bits + 2);
  for (let i = 0; i < rows.n; i++) if (i !== except) starts[distances[i] + 1]++;
  for (let d = 0; d <= facts.bits; d++) starts[d + 1] += starts[d];
  const next = starts.slice(), order = new Uint32Array(starts[facts.bits + 1]);
  for (let i = 0; i < rows.n; i++) if (i !== except) order[next[distances[i]]++] = i;
  return { code, order, distances, starts };
}

/** Bits in which a code and a row's code differ. */
function differingBits(code, row) {
  const other = codeOf(row);
  return Array.from({ length: facts.bits }, (_, bit) => bit).filter((bit) => bitAt(code, bit) !== bitAt(other, bit));
}
