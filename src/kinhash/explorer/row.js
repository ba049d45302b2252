"use strict";
// The chosen row, or the vector that was tried: what it is, its bits, and its neighbors by shells of equal distance.

const SHOWN_AT_ONCE = 48, BITS_A_LINE = 32;
let shownNeighbors = SHOWN_AT_ONCE;

const kinWord = (kin) => (kin === KIN ? "similar" : kin === STRANGER ? "dissimilar" : "");
const kinClass = (kin) => (kin === KIN ? "kin" : kin === STRANGER ? "stranger" : "");

function showPanel() {
  const panel = byId("chosen");
  if (!near) {
    panel.replaceChildren(
      make("h2", {}, "Choose a row"),
      make("p", {}, "Click a row on the map, or find one by its id, label or text" + (hasModel ? ", or try a vector. Neighbors" : ". Its neighbors") + " appear here, nearest first."),
      make("p", { class: "soft" }, "By keyboard: focus the map, move it with the arrow keys, + and −, and press Enter for the row in the middle."),
      make("p", { class: "soft" }, facts.model && facts.model.why));
    return;
  }
  const top = state.row < 0 ? [vectorHead()] : [head(state.row), ...ways()];
  panel.replaceChildren(...top, bitsFigure(near.code), summary(), neighbors());
}

function head(row) {
  const step = (by) => {
    let next = row + by;
    while (next >= 0 && next < rows.n && !visible[next]) next += by;
    return next >= 0 && next < rows.n ? next : -1;
  };
  const go = (by, text, name) => make("button", { type: "button", disabled: step(by) < 0, "aria-label": name, "data-step": by,
    onclick: () => { chooseRow(step(by)); const again = byId("panel").querySelector(`[data-step="${by}"]`); if (again) again.focus(); } }, text);
  const labels = make("p", { class: "labels" }, ...Array.from(labelsOf(row), (label) => words(facts.names[label])));
  if (facts.kind && !labelsOf(row).length) labels.append(labelText(row));
  const doubt = doubtOf(row);
  return make("div", {},
    make("p", { class: "buttons" }, go(-1, "◀ previous", "previous row"), go(1, "next ▶", "next row"),
      make("button", { type: "button", onclick: () => chooseRow(-1) }, "close")),
    make("div", { class: "head" }, hasPicture(row) ? pictureElement(row) : null,
      make("div", { class: "words" }, make("h2", {}, "Row ", words(String(idOf(row)))), labels,
        doubt ? make("p", { class: "soft" }, "Probably mislabeled: " + doubtText(doubt)) : null)),
    textOf(row) ? make("blockquote", { class: "quote" }, words(textOf(row))) : null);
}

/** Which code of the row is searched for, where the model gives it another one than it has among the codes. */
function ways() {
  if (!rows.mapped) return [];
  const way = (mapped, text) => {
    const input = make("input", { type: "radio", name: "way", onchange: () => searchMapped(mapped) });
    input.checked = state.mapped === mapped;
    return make("label", {}, input, " ", text);
  };
  return [make("fieldset", { class: "ways" }, make("legend", {}, "Search with"),
    way(false, "its stored code"), way(true, "its code by the model (features alone)"))];
}

function bitsFigure(code) {
  const cell = 9, figure = makeSvg("svg", { class: "bits", role: "img" }), on = [];
  const label = makeSvg("text", { x: 0, y: 9 });
  label.textContent = count(facts.bits, "bit");
  figure.append(label);
  for (let bit = 0; bit < facts.bits; bit++) {
    const one = bitAt(code, bit);
    if (one) on.push(bit);
    figure.append(makeSvg("rect", { x: (bit % BITS_A_LINE) * cell, y: (1.3 + Math.floor(bit / BITS_A_LINE)) * cell,
      width: cell - 1.5, height: cell - 1.5, class: one ? "on" : "off" }));
  }
  figure.setAttribute("viewBox", `0 0 ${BITS_A_LINE * cell} ${(1.3 + Math.ceil(facts.bits / BITS_A_LINE)) * cell}`);
  figure.setAttribute("aria-label", "The code: bits " + on.join(", ") + " are 1");
  return figure;
}

function summary() {
  const first = Array.from(near.order.subarray(0, 10)), judged = first.filter((row) => kinship(state.row, row) !== UNKNOWN);
  const kin = judged.filter((row) => kinship(state.row, row) === KIN).length;
  const equal = near.starts[1];
  const parts = [];
  if (judged.length) parts.push(`${kin} of the first ${judged.length} are similar${facts.learned ? ` (${facts.caveat})` : ""}.`);
  if (equal) parts.push(count(equal, state.row < 0 ? "row" : "other row") + (equal === 1 ? " has" : " have") + " the same code.");
  if (facts.sameWithin !== null) {
    const same = near.starts[Math.min(facts.sameWithin + 1, near.starts.length - 1)];
    parts.push(`${count(same, state.row < 0 ? "row" : "other row")} within ${facts.sameWithin} bits ${same === 1 ? "is" : "are"} the same.`);
  }
  if (facts.rows < facts.allRows) parts.push("Searched among the rows of this page, a sample.");
  return make("p", { id: "panel-summary" }, parts.join(" "));
}

function neighbors() {
  const box = make("div", { id: "neighbors", onkeydown: moveAmongCards });
  const shown = near.order.subarray(0, shownNeighbors);
  let cards = null, last = -1;
  for (const row of shown) {
    const distance = near.distances[row];
    if (distance !== last) {
      const [start, end] = [near.starts[distance], near.starts[distance + 1]];
      if (facts.sameWithin !== null && distance > facts.sameWithin && last <= facts.sameWithin) {
        box.append(make("p", { class: "line whole", title: facts.decision || "" }, `Not the same: more than ${facts.sameWithin} bits differ.`));
      }
      cards = make("ol", { class: facts.pictures ? "cards" : facts.texts ? "cards texts" : "cards short" });
      const heading = make("h3", {}, `Distance ${distance}`, make("small", {}, shellText(start, end, shown.length)));
      box.append(make("section", { class: facts.texts && !facts.pictures ? "shell whole" : "shell" }, heading, cards));
      last = distance;
    }
    cards.append(make("li", {}, card(row, distance)));
  }
  const left = near.order.length - shown.length;
  box.append(make("p", { class: "buttons whole" },
    left > 0 ? make("button", { type: "button", onclick: () => { shownNeighbors += SHOWN_AT_ONCE; showPanel(); focusCard(shown.length); } }, "Show more") : null,
    make("button", { type: "button", id: "export-neighbors", onclick: () => exportNeighbors(shown) }, "Export these")));
  return box;
}

function shellText(start, end, nShown) {
  const total = end - start;
  let kin = 0, known = 0;
  for (const row of near.order.subarray(start, end)) {
    const one = kinship(state.row, row);
    if (one !== UNKNOWN) known++;
    if (one === KIN) kin++;
  }
  const cut = end > nShown ? `, ${(nShown - start).toLocaleString("en")} shown` : "";
  return count(total, "row") + (known ? `, ${kin.toLocaleString("en")} similar` : "") + cut;
}

function card(row, distance) {
  const kin = kinship(state.row, row), bits = differingBits(near.code, row);
  const listed = bits.length ? "bits " + bits.join(", ") : "the same code";
  const spoken = [`row ${idOf(row)}`, labelText(row), kinWord(kin), `distance ${distance}`, bits.length ? "differing in " + listed : listed];
  return make("button", { type: "button", class: "card " + kinClass(kin), "data-row": row, "aria-label": spoken.filter(Boolean).join(", "),
    title: listed, onclick: () => { chooseRow(row); byId("panel").focus(); } },
    hasPicture(row) ? make("span", { class: "picture-box" }, pictureElement(row)) : null,
    make("span", { class: "one-line" }, make("b", {}, words(String(idOf(row)))), ...(facts.kind === "classes" ? [" ", words(labelText(row))] : [])),
    facts.kind === "tags" ? tagsOf(row) : null,
    textOf(row) ? make("span", {}, words(textOf(row).slice(0, 140))) : null,
    make("span", {}, kin === UNKNOWN ? null : make("span", { class: "verdict one-line" }, (kin === KIN ? "✓ " : "✗ ") + kinWord(kin)), count(bits.length, "bit") + (bits.length === 1 ? " differs" : " differ")),
    ticks(bits));
}

/** The tags of a neighbor, those of the chosen row in bold. */
function tagsOf(row) {
  const own = new Set(state.row < 0 ? [] : labelsOf(state.row));
  const tags = Array.from(labelsOf(row), (tag) => (own.has(tag) ? make("b", {}, words(facts.names[tag])) : words(facts.names[tag])));
  const parted = tags.flatMap((tag, place) => (place ? [", ", tag] : [tag]));
  return make("span", { class: "tags" }, ...(parted.length ? parted : [labelText(row)]));
}

/** One line for all bits, a tick where the two codes differ. */
function ticks(bits) {
  const line = makeSvg("svg", { class: "ticks", viewBox: `0 0 ${facts.bits} 4`, preserveAspectRatio: "none", "aria-hidden": "true" },
    makeSvg("rect", { x: 0, y: 0, width: facts.bits, height: 4, class: "all-bits" }));
  for (const bit of bits) line.append(makeSvg("rect", { x: bit, y: 0, width: 1, height: 4, class: "differs" }));
  return line;
}

function focusCard(place) {
  const cards = byId("panel").querySelectorAll(".card");
  if (cards.length) cards[Math.max(0, Math.min(cards.length - 1, place))].focus();
}

/** Arrow keys move from neighbor to neighbor, Home and End to the first and the last. */
function moveAmongCards(event) {
  const cards = [...byId("panel").querySelectorAll(".card")], at = cards.indexOf(document.activeElement);
  const steps = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: cards.length - 1 };
  if (at < 0 || !(event.key in steps)) return;
  focusCard(steps[event.key]);
  event.preventDefault();
}

function exportNeighbors(shown) {
  const lines = Array.from(shown, (row, place) => [state.row < 0 ? "vector" : idOf(state.row), place + 1, idOf(row), labelText(row),
    near.distances[row], kinWord(kinship(state.row, row)), textOf(row)]);
  saveCsv("neighbors.csv", ["query", "place", "id", "label", "distance", "verdict", "text"], lines);
}

function exportRows(name, list) {
  const distance = (row) => (near ? near.distances[row] : null);
  saveCsv(name, ["id", "label", "distance_from_chosen", "text"], Array.from(list, (row) => [idOf(row), labelText(row), distance(row), textOf(row)]));
}

function startPanel() {
  listen("row", () => {
    shownNeighbors = SHOWN_AT_ONCE;
    showPanel();
    const name = state.row < 0 ? "Your vector" : `Row ${idOf(state.row)}, ${labelText(state.row)}`;
    if (near) announce(`${name}. ${byId("panel-summary").textContent}`);
  });
  listen("filter", showPanel);
  showPanel();
}
