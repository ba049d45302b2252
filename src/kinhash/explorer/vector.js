"use strict";
// Try a vector: numbers that are pasted become a code by the model of the page, and its neighbors are shown.

let pageModel = null; // read when first needed

/** Whole scores of a row of numbers by the model of the page. */
function scoresOf(numbers) {
  const { steps, kinds } = facts.model;
  pageModel = pageModel || readModel(steps, kinds, (name) => bytesOf("model-" + name));
  return runModel(pageModel, numbers);
}

const hasModel = Boolean(facts.model && !facts.model.why);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The numbers of a text, or an error that says what is wrong with it. */
function parseNumbers(text) {
  const { features, single } = facts.model, bare = text.replace(/^[\s[(]+|[\s,;)\]]+$/g, "");
  const parts = bare ? bare.split(/\s*[,;]\s*|\s+/) : [], numbers = new Float64Array(parts.length);
  const shorten = (part) => (part.length > 30 ? part.slice(0, 30) + "…" : part);
  parts.forEach((part, k) => {
    if (!part) throw new Error(`Number ${k + 1} is missing.`);
    if (!NUMBER.test(part)) throw new Error(`Number ${k + 1}, “${shorten(part)}”, is not a number.`);
    numbers[k] = single ? Math.fround(Number(part)) : Number(part);
    if (!Number.isFinite(numbers[k])) throw new Error(`Number ${k + 1}, “${shorten(part)}”, is too large.`);
  });
  if (numbers.length !== features) {
    throw new Error(`The model takes ${count(features, "number")}. ` + (numbers.length ? `These are ${numbers.length.toLocaleString("en")}.` : "Paste them above."));
  }
  return numbers;
}

function vectorHead() {
  return make("div", { class: "head" }, make("h2", {}, "Your vector"));
}

function startVector() {
  if (!hasModel) return;
  const box = byId("numbers");
  const complain = (text) => {
    byId("vector-said").textContent = text;
    box.setAttribute("aria-invalid", String(text !== ""));
  };
  byId("numbers-label").textContent = count(facts.model.features, "number") + (facts.model.single ? ", read as float32" : "");
  byId("vector-box").hidden = false;
  byId("vector").addEventListener("submit", (event) => {
    event.preventDefault();
    let numbers = null;
    try {
      numbers = parseNumbers(box.value);
    } catch (error) {
      complain(error.message);
      box.focus();
      return;
    }
    complain("");
    chooseVector(codeOfScores(scoresOf(numbers)));
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("vector").requestSubmit();
  });
  byId("vector-clear").addEventListener("click", () => {
    box.value = "";
    complain("");
    chooseVector(null);
    box.focus();
  });
}
