"use strict";
// Colors of rows: by label, by distance from the chosen row, or one for all.

// Twenty colors that are distinct on white and on black; labels beyond them are gray.
const PALETTE = [
  "#1f77d0", "#e8710a", "#2e9e44", "#d33a3a", "#9163c9", "#9a6448", "#d964b6", "#17a5b5", "#a5a31c", "#5b6ee1",
  "#7fb3e6", "#f5b56b", "#7fcf8a", "#f08c8c", "#c4a8e8", "#c9a08a", "#efa9da", "#83d5de", "#d0cf6b", "#3f8f7f",
];
const GRAY = "#8a939c", ONE_COLOR = "#3f7fc4";
// From near to far: the ends of a scale that is readable in gray, too.
const NEAR_TO_FAR = [[253, 188, 43], [226, 88, 62], [150, 40, 120], [70, 40, 140], [60, 70, 110]];

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** Labels by size, the largest first: these have colors. */
const labelSizes = new Uint32Array(facts.names.length + 1);
for (let row = 0; row < rows.n; row++) {
  const labels = labelsOf(row);
  if (!labels.length) labelSizes[facts.names.length]++;
  for (const label of labels) labelSizes[label]++;
}
const labelOrder = facts.names.map((_, label) => label);
if (facts.names.length > PALETTE.length) labelOrder.sort((a, b) => labelSizes[b] - labelSizes[a] || a - b);
const labelColors = new Array(facts.names.length + 1).fill(GRAY);
labelOrder.forEach((label, place) => { if (place < PALETTE.length) labelColors[label] = PALETTE[place]; });

/** The label that gives a row its color: its class, or the rarest of its tags that is shown and has one. */
function coloringLabel(row) {
  let best = facts.names.length;
  for (const label of labelsOf(row)) {
    if (hidden[label]) continue;
    const gray = labelColors[label] === GRAY, bestGray = best === facts.names.length || labelColors[best] === GRAY;
    if (best === facts.names.length || (bestGray && !gray) || (gray === bestGray && labelSizes[label] < labelSizes[best])) best = label;
  }
  return best;
}

function distanceColor(distance) {
  const place = Math.min(1, distance / Math.max(1, farthest())) * (NEAR_TO_FAR.length - 1);
  const low = Math.min(Math.floor(place), NEAR_TO_FAR.length - 2), part = place - low;
  return NEAR_TO_FAR[low].map((value, k) => Math.round(value + part * (NEAR_TO_FAR[low + 1][k] - value)));
}

/** The distance that nine rows in ten do not exceed: the end of the scale. */
function farthest() {
  if (!near) return facts.bits;
  let distance = 0;
  while (distance < facts.bits && near.starts[distance + 1] < 0.9 * rows.n) distance++;
  return distance;
}

/** Red, green and blue of every row, one after the other. */
function rowColors() {
  const out = new Uint8Array(3 * rows.n);
  const byLabel = labelColors.map(rgb), one = rgb(ONE_COLOR);
  let scale = null;
  if (state.color === "distance" && near) {
    scale = Array.from({ length: facts.bits + 1 }, (_, distance) => distanceColor(distance));
  }
  for (let row = 0; row < rows.n; row++) {
    const color = scale ? scale[near.distances[row]] : state.color === "label" ? byLabel[coloringLabel(row)] : one;
    out[3 * row] = color[0];
    out[3 * row + 1] = color[1];
    out[3 * row + 2] = color[2];
  }
  return out;
}

// ---- the legend: a label is shown or not; "only" shows it alone ---------------------------------------------

const LISTED = 200; // entries of a long legend shown at once

function buildLegend() {
  const none = facts.names.length;
  const entries = [...labelOrder];
  if (labelSizes[none]) entries.push(none);
  byId("legend-box").hidden = !facts.kind;
  byId("legend-box").open = innerWidth > 820;
  const find = byId("legend-find");
  find.hidden = entries.length <= 15;
  byId("show-all").addEventListener("click", () => filterLabels(() => true));
  byId("show-none").addEventListener("click", () => filterLabels(() => false));
  const names = (label) => (label === none ? (facts.kind === "tags" ? "no tag" : "no label") : facts.names[label]);

  function entry(label) {
    const box = make("input", { type: "checkbox", "data-label": label });
    box.checked = !hidden[label];
    box.addEventListener("change", () => filterLabels((other) => (other === label ? box.checked : !hidden[other])));
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = labelColors[label];
    return make("li", {},
      make("label", {}, box, swatch, words(names(label), { title: names(label) }),
        make("span", { class: "count" }, labelSizes[label].toLocaleString("en"))),
      make("button", { type: "button", class: "only", "aria-label": "only " + names(label),
        onclick: () => filterLabels((other) => other === label) }, "only"));
  }

  function list() {
    const wanted = find.value.trim().toLowerCase();
    const found = entries.filter((label) => !wanted || names(label).toLowerCase().includes(wanted));
    const items = found.slice(0, LISTED).map(entry);
    if (found.length > LISTED) items.push(make("li", { class: "soft" }, count(found.length - LISTED, "more label")));
    byId("legend").replaceChildren(...items);
  }
  find.addEventListener("input", list);
  listen("filter", () => {
    for (const box of byId("legend").querySelectorAll("input")) box.checked = !hidden[Number(box.dataset.label)];
  });
  list();
}

/** The choice of colors, and the scale of distances beside it. */
function buildColors() {
  const select = byId("color");
  const choices = facts.kind ? [["label", facts.kind === "tags" ? "tag (the rarest)" : "label"]] : [];
  choices.push(["distance", "distance from the chosen row"], ["plain", "nothing"]);
  select.append(...choices.map(([value, text]) => make("option", { value }, text)));
  select.addEventListener("change", () => chooseColor(select.value));

  function showScale() {
    select.value = state.color;
    const box = byId("scale");
    box.hidden = state.color !== "distance";
    if (box.hidden) return;
    if (!near) {
      box.replaceChildren(make("p", {}, "Choose a row on the map first."));
      return;
    }
    const canvas = make("canvas", { width: 100, height: 1, "aria-hidden": "true" }), context = canvas.getContext("2d");
    for (let x = 0; x < 100; x++) {
      context.fillStyle = "rgb(" + distanceColor((x / 99) * farthest()).join(",") + ")";
      context.fillRect(x, 0, 1, 1);
    }
    box.replaceChildren(canvas, make("p", {}, make("span", {}, "distance 0"), make("span", {}, farthest() + " and more")));
  }
  listen("color", showScale);
  listen("row", showScale);
  showScale();
}
