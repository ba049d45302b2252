"use strict";
// Search by id, and click on: every id in the table is the next query. Text is set as text, never as markup.

const byId = (id) => document.getElementById(id);

function make(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function say(text, wrong = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("wrong", wrong);
}

/** JSON numbers of more digits than a number holds here become text, so that no id changes. */
function parsed(text) {
  return JSON.parse(text.replace(/("(?:[^"\\]|\\.)*")|(-?\d{16,})(?![\d.eE])/g, (all, words, digits) => words || `"${digits}"`));
}

/** The id as JSON: a whole number as it stands, unless the index has text as ids. */
function asJson(id) {
  return !textIds && /^-?(0|[1-9]\d*)$/.test(id) ? id : JSON.stringify(id);
}

let textIds = false;

function bodyOf(id) {
  const parts = [`"ids": [${asJson(id)}]`, `"k": ${Number(byId("k").value) || 10}`, `"payload": true`];
  const where = byId("where").value.trim();
  if (where) parts.push(`"where": ${/^[[{]/.test(where) ? where : JSON.stringify(where)}`);
  return `{${parts.join(", ")}}`;
}

function keyHeader() {
  return byId("key").value ? { "X-API-Key": byId("key").value } : {};
}

async function ask(id) {
  const headers = { "Content-Type": "application/json", ...keyHeader() };
  let response = await fetch("search", { method: "POST", headers, body: bodyOf(id) });
  if (response.status === 422 && !textIds && asJson(id) === id) {
    textIds = true;
    const again = await fetch("search", { method: "POST", headers, body: bodyOf(id) });
    if (again.status === 422) textIds = false;
    else response = again;
  }
  return [response.status, parsed(await response.text())];
}

async function search(id) {
  byId("id").value = id;
  say("Searching …");
  try {
    const [status, answer] = await ask(id);
    if (status === 401) byId("key-label").hidden = false;
    if (status !== 200) {
      byId("found").hidden = true;
      const sentences = [answer.error, answer.expected && "Expected " + answer.expected, answer.remedy].filter(Boolean);
      say(sentences.map((one) => (/[.?!]$/.test(one) ? one : one + ".")).join(" "), true);
      return;
    }
    show(answer.results[0]);
    if (byId("hint").hidden) hint();
    say(`Rows nearest to ${id}: differing bits as they count, equal distances by id.`);
  } catch (problem) {
    say("The service does not answer: " + problem.message, true);
  }
}

function show(found) {
  const columns = Object.keys(found.payload || {});
  const head = [["id", ""], ["distance", "number"], ...columns.map((name) => [name, ""])];
  byId("found").tHead.replaceChildren(make("tr", {}, ...head.map(([name, kind]) => make("th", { class: kind, scope: "col" }, name))));
  byId("found").tBodies[0].replaceChildren(...found.ids.map((id, place) => make("tr", {},
    make("td", {}, make("button", { type: "button", onclick: () => search(String(id)) }, String(id))),
    make("td", { class: "number" }, String(found.distances[place])),
    ...columns.map((name) => make("td", {}, make("bdi", {}, String(found.payload[name][place] ?? "")))))));
  byId("found").hidden = false;
}

/** The first ids of the index, to click on, and a filter over its columns; with keys, once one was typed. */
async function hint() {
  const response = await fetch("page.json", { headers: keyHeader() });
  if (response.status === 401) byId("key-label").hidden = false;
  if (!response.ok) return;
  const { ids, where } = parsed(await response.text());
  byId("id").placeholder = ids.length ? String(ids[0]) : "";
  byId("where").placeholder = where ?? JSON.stringify(ids);
  byId("hint").replaceChildren("The first ids: ", ...ids.map((id) =>
    make("button", { type: "button", onclick: () => search(String(id)) }, String(id))));
  byId("hint").hidden = !ids.length;
}

byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  search(byId("id").value.trim());
});

hint();
fetch("readyz").then(async (response) => {
  const state = await response.json();
  byId("about").textContent = `${state.rows.toLocaleString("en")} rows, model ${state.model_id.slice(0, 12)}`
    + (state.reload_refused ? `; newer files were refused: ${state.reload_refused}` : "");
});
