"use strict";
// Probably mislabeled rows: a list to look through, and to take away.

const DOUBTS_AT_ONCE = 100;
let shownDoubts = DOUBTS_AT_ONCE;

/** What is said against the label of a row, or null: [row, chance of its label, other label, its chance, missing]. */
function doubtOf(row) {
  if (!facts.doubts || !facts.doubts.rows) return null;
  if (!doubtOf.places) doubtOf.places = new Map(facts.doubts.rows.map((one) => [one[0], one]));
  return doubtOf.places.get(row) || null;
}

/** A calibrated probability; nothing is certain. */
function chanceText(share) { return share > 0.99 ? "> 99 %" : share < 0.01 ? "< 1 %" : percent(share); }

function doubtText([row, given, label, chance, missing]) {
  if (facts.kind === "tags") return `the tag ${facts.names[label]} is ${missing ? "missing" : "not expected"} (${chanceText(chance)})`;
  return `${facts.names[label]} is expected (${chanceText(chance)}), not ${labelText(row)} (${chanceText(given)})`;
}

function doubtLine(one, place) {
  const [row, given, label, chance, missing] = one, tags = facts.kind === "tags";
  return make("tr", {},
    make("td", {}, String(place + 1)),
    make("td", { class: "name" }, make("button", { type: "button", "data-row": row, onclick: () => { chooseView("map"); chooseRow(row); } },
      words(String(idOf(row))))),
    facts.pictures ? make("td", {}, hasPicture(row) ? pictureElement(row) : null) : null,
    make("td", { class: "name" }, words(labelText(row))),
    make("td", { class: "name" }, words((tags ? (missing ? "+ " : "− ") : "") + facts.names[label])),
    make("td", {}, chanceText(given)), make("td", {}, chanceText(chance)),
    facts.texts ? make("td", { class: "text" }, make("span", {}, words(textOf(row)))) : null);
}

function showDoubts() {
  const box = byId("view-doubts"), doubts = facts.doubts;
  if (!doubts || !doubts.rows) {
    box.replaceChildren(make("h2", {}, "Probably mislabeled rows"), make("p", { class: "note" }, doubts ? doubts.how : "There are no labels on this page."));
    return;
  }
  const tags = facts.kind === "tags", shown = doubts.rows.slice(0, shownDoubts);
  const cells = ["", "row", facts.pictures ? "" : null, tags ? "its tags" : "its label", tags ? "in question (+ missing, − not expected)" : "expected",
    tags ? "chance as it is" : "chance of its label", "chance otherwise", facts.texts ? "text" : null];
  const heading = make("tr", {}, ...cells.filter((cell) => cell !== null).map((cell) => make("th", { scope: "col", class: "name" }, cell)));
  box.replaceChildren(
    make("h2", {}, "Probably mislabeled rows"),
    make("p", { class: "note" }, `Judged by ${doubts.how}; ${percent(doubts.agreement)} of the labels are as expected. ` +
      (doubts.agreement < 0.85 ? "That is few: most of these rows are hard rather than mislabeled. " +
        (doubts.byCodes ? "Features judge better than codes: --features FILE. " : "") : "") + "Chances are calibrated on labels the judge did not see. The least expected labels come first. " +
      (doubts.total > doubts.rows.length ? `The first ${doubts.rows.length.toLocaleString("en")} of ${count(doubts.total, "row")} are listed.`
        : `${count(doubts.total, "row")} ${doubts.total === 1 ? "is" : "are"} listed.`) + " Look before you change one: some are only hard."),
    make("p", { class: "buttons" }, make("button", { type: "button", id: "export-doubts", onclick: exportDoubts }, "Export the list (CSV)")),
    make("div", { class: "scroll-x" }, make("table", { id: "doubts" }, make("thead", {}, heading), make("tbody", {}, ...shown.map(doubtLine)))),
    shown.length < doubts.rows.length
      ? make("p", {}, make("button", { type: "button", onclick: () => { shownDoubts += DOUBTS_AT_ONCE; showDoubts(); } }, "Show more")) : "");
}

function exportDoubts() {
  const tags = facts.kind === "tags";
  const heading = tags ? ["place", "id", "tags", "tag_in_question", "verdict", "chance_as_it_is", "chance_otherwise", "text"]
    : ["place", "id", "label", "expected", "chance_of_label", "chance_of_expected", "text"];
  saveCsv("probably-mislabeled.csv", heading, facts.doubts.rows.map(([row, given, label, chance, missing], place) =>
    tags ? [place + 1, idOf(row), labelText(row), facts.names[label], missing ? "missing" : "not expected", given, chance, textOf(row)]
      : [place + 1, idOf(row), labelText(row), facts.names[label], given, chance, textOf(row)]));
}
