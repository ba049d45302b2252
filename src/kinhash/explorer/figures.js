"use strict";
// "Is it any good?": distances of similar and dissimilar pairs, precision by rank, labels, confusions, bits.

function showFigures() {
  const figures = facts.quality, parts = [];
  if (figures) {
    parts.push(answersFigure(figures), distancesFigure(figures), precisionFigure(figures), labelsFigure(figures));
    if (figures.confusion) parts.push(confusionFigure(figures));
  }
  parts.push(bitsTable(facts.bitFigures));
  byId("view-good").replaceChildren(...verdict(figures), make("div", { class: "figures" }, ...parts));
}

function verdict(figures) {
  if (!figures) return [make("p", { class: "lead" }, "Without labels it is unknown which rows are similar: the page shows the bits only.")];
  const first = figures.precision.find(([rank]) => rank === 10) || figures.precision[figures.precision.length - 1];
  const ten = first ? `Of the first ${first[0]} rows, ${percent(first[1])} are similar (chance: ${percent(figures.chance)}; ${facts.caveat}). ` : "";
  const score = figures.map === null ? "" : `Mean average precision ${figures.map.toFixed(3)}` +
    (figures.interval ? ` (95 % interval over queries ${figures.interval.map((end) => end.toFixed(3)).join(" to ")})` : "") + ".";
  const how = [
    `${count(figures.queries, "row")} of this page ${figures.queries === 1 ? "is a query and searches" : "are queries and search"} all others, the own row left out; ` +
      "ties count as the expected value over all orders. " +
      (figures.without_kin ? `${count(figures.without_kin, "query").replace("querys", "queries")} without similar rows left out. ` : "") +
      (figures.mapped ? "Queries carry the codes that the model gives to their features." : "Queries carry their stored codes."),
  ];
  if (facts.learned) how.push("The stored codes were learned with these labels." +
    (figures.mapped ? "" : " Make the page with --model and --features to see how rows fare that come with features alone."));
  if (facts.decision) how.push(facts.decision);
  how.push("kinhash fit prints figures of held-out rows.");
  return [make("h2", {}, "Is it any good?"), make("p", { class: "lead" }, ten + score), ...how.map((text) => make("p", { class: "note" }, text))];
}

function figure(title, note, ...content) {
  return make("div", { class: "figure" }, make("h2", {}, title), make("p", { class: "note" }, note), ...content);
}

/** A figure of quality: whose rows these are stands beside it. */
function judged(title, note, ...content) {
  return figure(title, `${note} (${facts.caveat[0].toUpperCase()}${facts.caveat.slice(1)}.)`, ...content);
}

/** What a person sees in the first answers: these codes beside float cosine, a classifier and a random order. */
function answersFigure(figures) {
  const names = Object.keys(figures.answers[0].figures);
  const itself = figures.self_retrieval === null ? "" : `A row's own features, encoded as a new row, find that row first in ${percent(figures.self_retrieval)} of cases. `;
  const note = `${count(figures.answers_of, "row")} search all others. ${itself}The classifier is logistic regression with the true labels of all rows; it did not see the rows that ask.`;
  const lines = figures.answers.map((line) => make("tr", {}, make("td", { class: "name" }, line.name), cell(line.bytes ? line.bytes.toLocaleString("en") : "–"),
    ...names.map((name) => cell(typeof line.figures[name] === "number" ? line.figures[name].toFixed(3) : "–"))));
  return judged("The first answers, beside what else one could do", note, table(["", "bytes", ...names], lines));
}

const WIDE = 480, HIGH = 230, LEFT = 42, BOTTOM = 34, TOP = 10;

function chart(label) {
  return makeSvg("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label });
}

function chartText(svg, x, y, text, anchor = "middle", kind = "soft-text") {
  const node = makeSvg("text", { x, y, "text-anchor": anchor, class: kind });
  node.textContent = text;
  svg.append(node);
}

function axes(svg, across, up) {
  svg.append(makeSvg("path", { class: "axis", d: `M${LEFT} ${TOP}V${HIGH - BOTTOM}H${WIDE - 6}` }));
  chartText(svg, (LEFT + WIDE) / 2, HIGH - 3, across);
  chartText(svg, 2, TOP, up, "start");
}

function distancesFigure(figures) {
  const sum = (list) => list.reduce((total, one) => total + one, 0);
  const kinSum = sum(figures.kin_at) || 1, strangerSum = sum(figures.strangers_at) || 1;
  const kin = figures.kin_at.map((one) => one / kinSum), strangers = figures.strangers_at.map((one) => one / strangerSum);
  let last = facts.bits;
  while (last > 1 && !figures.kin_at[last] && !figures.strangers_at[last]) last--;
  const width = Math.max(1, Math.ceil((last + 1) / 80)), bins = Math.ceil((last + 1) / width);
  const binned = (list) => Array.from({ length: bins }, (_, k) => sum(list.slice(k * width, (k + 1) * width)));
  const [a, b] = [binned(kin), binned(strangers)], highest = Math.max(...a, ...b), step = (WIDE - LEFT - 6) / bins;
  const median = (list) => { let total = 0; return list.findIndex((one) => (total += one) >= 0.5); };
  const svg = chart(`Half of the similar pairs are within distance ${median(kin)}, half of the dissimilar ones within ${median(strangers)}.`);
  const bar = (value, k, kind, shift) => svg.append(makeSvg("rect", { class: kind, x: LEFT + k * step + (shift * step) / 2, width: Math.max(0.6, step / 2 - 0.3),
    y: TOP + (1 - value / highest) * (HIGH - BOTTOM - TOP), height: (value / highest) * (HIGH - BOTTOM - TOP) }));
  a.forEach((value, k) => bar(value, k, "kin", 0));
  b.forEach((value, k) => bar(value, k, "stranger", 1));
  axes(svg, "distance", "");
  const tick = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find((size) => last / size <= 9) || last;
  for (let d = 0; d <= last; d += tick) chartText(svg, LEFT + (d / width + 0.5) * step, HIGH - BOTTOM + 14, String(d));
  chartText(svg, LEFT - 4, TOP + 8, percent(highest), "end");
  const key = make("ul", { class: "key" }, make("li", {}, make("i", { class: "kin" }), "similar"), make("li", {}, make("i", { class: "stranger" }), "dissimilar"));
  return judged("How far apart are similar and dissimilar rows?",
    `Half of the similar pairs lie within distance ${median(kin)}, half of the dissimilar ones within ${median(strangers)}. Bars: share of the pairs; each kind adds up to 100 %.`, key, svg);
}

function precisionFigure(figures) {
  const points = figures.precision, most = Math.log(Math.max(2, points[points.length - 1][0]));
  const x = (rank) => LEFT + (Math.log(rank) / most) * (WIDE - LEFT - 20), y = (share) => TOP + (1 - share) * (HIGH - BOTTOM - TOP);
  const svg = chart("Share of similar rows among the first: " + points.map(([rank, share]) => `${rank}: ${percent(share)}`).join(", "));
  axes(svg, "rank", "");
  for (const share of [0, 0.25, 0.5, 0.75, 1]) chartText(svg, LEFT - 4, y(share) + 4, percent(share), "end");
  svg.append(makeSvg("path", { class: "chance", d: `M${LEFT} ${y(figures.chance)}H${WIDE - 6}` }));
  chartText(svg, WIDE - 8, y(figures.chance) - 4, "chance", "end");
  svg.append(makeSvg("path", { class: "curve", d: points.map(([rank, share], k) => (k ? "L" : "M") + x(rank) + " " + y(share)).join("") }));
  for (const [rank, share] of points) {
    svg.append(makeSvg("circle", { class: "dot", cx: x(rank), cy: y(share), r: 3 }));
    chartText(svg, x(rank), HIGH - BOTTOM + 14, rank >= 1000 ? rank / 1000 + "k" : String(rank));
  }
  return judged("How many of the first are similar?", "Precision by rank, mean over queries.", svg);
}

function table(heading, lines, kind = "") {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heading.join(", ") },
    make("table", { class: kind }, make("thead", {}, make("tr", {}, ...heading.map((text, k) => make("th", { scope: "col", class: k ? "" : "name" }, text)))),
      make("tbody", {}, ...lines)));
}

const named = (label) => make("td", { class: "name" }, words(facts.names[label], { title: facts.names[label] }));
const cell = (text) => make("td", {}, text);

function labelsFigure(figures) {
  const lines = figures.labels.map(([label, size, queries, score, first]) =>
    make("tr", {}, named(label), cell(size.toLocaleString("en")), cell(queries.toLocaleString("en")), cell(score.toFixed(3)), cell(percent(first)),
      make("td", {}, make("button", { type: "button", "aria-label": "show only " + facts.names[label] + " on the map",
        onclick: () => { filterLabels((other) => other === label); chooseView("map"); wholeMap(); } }, "show"))));
  return judged(facts.kind === "tags" ? "Which tags are found worst?" : "Which classes are found worst?", "The worst on top; mAP and similar rows among the first ten, over the queries that carry the label.",
    table([facts.kind === "tags" ? "tag" : "class", "rows", "queries", "mAP", "first ten", ""], lines),
    make("p", {}, make("button", { type: "button", onclick: () => saveCsv("labels.csv", ["label", "rows", "queries", "map", "precision_at_10"],
      figures.labels.map(([label, ...rest]) => [facts.names[label], ...rest])) }, "Export (CSV)")));
}

function shadeOf(share, wrong) {
  const strength = Math.sqrt(Math.min(1, share)), far = wrong ? [214, 90, 90] : [88, 176, 130];
  return "rgb(" + far.map((value) => Math.round(255 + strength * (value - 255))).join(",") + ")";
}

function grid(shares, first) {
  const head = make("tr", { class: "tall" }, make("th", {}, first), ...facts.names.map((name) => make("th", { scope: "col" }, words(name, { title: name }))));
  const lines = shares.map((line, own) => make("tr", {}, make("th", { scope: "row", class: "name" }, words(facts.names[own], { title: facts.names[own] })),
    ...line.map((share, other) => {
      const one = make("td", { class: share < 0.0005 ? "blank" : "" }, share < 0.0005 ? "·" : share < 0.0095 ? "<1" : String(Math.round(100 * share)));
      if (share >= 0.0005) one.style.background = shadeOf(share, own !== other);
      return one;
    })));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": first }, make("table", { class: "grid" }, make("thead", {}, head), make("tbody", {}, ...lines)));
}

function pairsTable(pairs, heading) {
  return table(heading, pairs.map(([own, other, n, share]) => make("tr", {}, named(own), named(other), cell(n.toLocaleString("en")), cell(percent(share)))));
}

function confusionFigure(figures) {
  const { table: shares, pairs } = figures.confusion;
  return judged("Whose rows are found?", "Among the first ten rows of a query: per cent of its own class, and of each other one.",
    shares ? grid(shares, "query ↓, found →") : pairsTable(pairs, ["class of the query", "class found", "rows", "share"]));
}

function bitsTable(bits) {
  const labels = bits.labels || [];
  const lines = bits.ones.map((share, bit) => {
    const shares = bits.share ? bits.share[bit] : [];
    const bar = makeSvg("svg", { viewBox: "0 0 60 8", width: 60, height: 8, "aria-hidden": "true" }, makeSvg("rect", { width: 60, height: 8, fill: "var(--edge)" }),
      makeSvg("rect", { width: 60 * share, height: 8, fill: "var(--link)" }));
    return make("tr", {}, make("th", { scope: "row" }, String(bit)),
      make("td", {}, bar, " ", percent(share)), bits.information ? cell(bits.information[bit].toFixed(2)) : null,
      make("td", { class: "text" }, separates(shares, labels)));
  });
  const heading = ["bit", "ones", ...(bits.information ? ["says of the class (bits)"] : []), labels.length ? "1 in … / 0 in …" : ""];
  const facts2 = [`${count(bits.distinct, "different code")}; ${percent(bits.in_company)} of the rows share theirs with another row.`,
    bits.dead.length ? `Bits ${bits.dead.join(", ")} are the same in every code and say nothing.` : "",
    bits.twins.length ? `${count(bits.twins.length, "pair")} of bits always agree or always differ.` : ""];
  const box = figure("What does each bit say?", "Balance: a bit that is 1 in half of the rows tells most apart. " + facts2.filter(Boolean).join(" "), table(heading, lines));
  box.classList.add("whole");
  return box;
}

/** The labels that a bit parts: those that nearly always have it, and those that nearly never do. */
function separates(shares, labels) {
  const names = (keep) => labels.filter((_, k) => keep(shares[k])).map((label) => facts.names[label]);
  const say = (list) => (list.length > 8 ? list.slice(0, 8).join(", ") + ` and ${list.length - 8} more` : list.join(", "));
  const yes = names((share) => share >= 0.9), no = names((share) => share <= 0.1);
  if (!yes.length && !no.length) return make("span", {}, labels.length ? "no label clearly" : "");
  return make("span", {}, make("b", {}, "1 "), words(say(yes) || "–"), make("b", {}, " / 0 "), words(say(no) || "–"));
}
