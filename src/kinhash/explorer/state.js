"use strict";
// What is chosen, shown and hidden, in one place; the address of the page says it, too: #row=17&view=good.

const VIEWS = ["map", "good", "doubts"];
const state = { row: -1, view: "map", color: facts.kind ? "label" : "plain", mapped: false, vector: null };
const hidden = new Uint8Array(facts.names.length + 1); // labels filtered out; the last is "no label"
const visible = new Uint8Array(rows.n).fill(1);
let shownRows = rows.n; // rows that no filter hides
let near = null; // the neighbors of the chosen row, or of the vector that was tried
const listeners = { row: [], view: [], color: [], filter: [], theme: [] };

function listen(what, call) {
  listeners[what].push(call);
}

function tell(what) {
  for (const call of listeners[what]) call();
}

function chooseRow(row, options = {}) {
  state.row = row;
  near = row >= 0 ? neighborsOf(codeOf(row, state.mapped), row) : state.vector ? neighborsOf(state.vector) : null;
  tell("row");
  if (!options.quiet) writeAddress(true);
}

/** Search with the code of a vector; null forgets it. */
function chooseVector(code) {
  state.vector = code;
  chooseRow(-1);
}

function chooseView(view) {
  state.view = VIEWS.includes(view) ? view : "map";
  tell("view");
  writeAddress(false);
}

function chooseColor(color) {
  state.color = color;
  tell("color");
  writeAddress(false);
}

function searchMapped(mapped) {
  state.mapped = mapped;
  chooseRow(state.row);
}

/** Hide the labels for which `wanted(label)` is false; the label after the last name is "no label". */
function filterLabels(wanted) {
  const none = facts.names.length;
  for (let label = 0; label <= none; label++) hidden[label] = wanted(label) ? 0 : 1;
  for (let row = 0; row < rows.n; row++) {
    const labels = labelsOf(row);
    visible[row] = labels.length ? Number(labels.some((label) => !hidden[label])) : 1 - hidden[none];
  }
  shownRows = visible.reduce((sum, one) => sum + one, 0);
  tell("filter");
  writeAddress(false);
}

// ---- the address --------------------------------------------------------------------------------------

let reading = false;

function address() {
  const parts = [];
  if (state.row >= 0) parts.push("row=" + encodeURIComponent(idOf(state.row)));
  if (state.view !== "map") parts.push("view=" + state.view);
  if (facts.kind && state.color !== "label") parts.push("color=" + state.color);
  if (state.mapped) parts.push("by=model");
  const off = hidden.reduce((sum, one) => sum + one, 0);
  if (off) {
    const shownFewer = off > hidden.length / 2;
    const listed = [];
    hidden.forEach((one, label) => { if (Boolean(one) !== shownFewer) listed.push(label); });
    parts.push((shownFewer ? "only=" : "hide=") + listed.join("."));
  }
  return "#" + parts.join("&");
}

/** A new row is a step in the history, so that the back button leads to the row before. */
function writeAddress(step) {
  const hash = address();
  if (reading || (hash === location.hash) || (hash === "#" && !location.hash)) return;
  try {
    history[step ? "pushState" : "replaceState"](null, "", hash);
  } catch (error) { // inside a notebook the page has no address of its own
  }
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  reading = true;
  state.mapped = given.get("by") === "model" && rows.mapped !== null;
  for (const [name, keep] of [["hide", false], ["only", true]]) {
    if (!given.has(name)) continue;
    const listed = new Set(given.get(name).split(".").map(Number));
    filterLabels((label) => listed.has(label) === keep);
  }
  if (!given.has("hide") && !given.has("only") && hidden.some(Boolean)) filterLabels(() => true);
  const color = given.get("color");
  chooseColor(["label", "distance", "plain"].includes(color) ? color : facts.kind ? "label" : "plain");
  chooseView(given.get("view") || "map");
  const row = given.has("row") ? rowOf(given.get("row")) : -1;
  chooseRow(row);
  if (given.has("row") && row < 0) announce("There is no row " + given.get("row") + " on this page.");
  reading = false;
}
