"use strict";
// Views, theme, search box; then everything starts.

function startViews() {
  const tabs = VIEWS.map((view) => byId("tab-" + view));
  byId("tab-good").hidden = !facts.bitFigures;
  byId("tab-doubts").hidden = !facts.kind;
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => chooseView(VIEWS[place]));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const open = tabs.filter((one) => !one.hidden), next = open[(open.indexOf(tab) + step + open.length) % open.length];
      next.focus();
      next.click();
    });
  });
  const drawn = new Set();
  listen("view", () => {
    VIEWS.forEach((view, place) => {
      byId("view-" + view).hidden = view !== state.view;
      tabs[place].setAttribute("aria-selected", String(view === state.view));
      tabs[place].tabIndex = view === state.view ? 0 : -1;
    });
    if (drawn.has(state.view)) return;
    drawn.add(state.view);
    if (state.view === "good") showFigures();
    if (state.view === "doubts") showDoubts();
  });
}

function startTheme() {
  const button = byId("theme"), root = document.documentElement, prefers = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  function show() {
    const dark = chosen === null ? prefers.matches : chosen;
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colors" : "Use dark colors");
    tell("theme");
  }
  button.addEventListener("click", () => { chosen = root.dataset.theme !== "dark"; show(); });
  prefers.addEventListener("change", show);
  show();
}

const MOST_FOUND = 30;

/** Rows whose id is what was typed, then those whose id, label or text contains it. */
function findRows(typed) {
  const wanted = typed.trim().toLowerCase(), found = [];
  if (!wanted) return found;
  const exact = rowOf(typed.trim());
  if (exact >= 0) found.push(exact);
  for (let row = 0; row < rows.n && found.length < MOST_FOUND; row++) {
    if (row === exact) continue;
    if (String(idOf(row)).toLowerCase().includes(wanted) || labelText(row).toLowerCase().includes(wanted) ||
        textOf(row).toLowerCase().includes(wanted)) found.push(row);
  }
  return found;
}

function startSearch() {
  const input = byId("find"), list = byId("found");
  input.placeholder = facts.texts ? "id, label or text" : facts.kind ? "id or label" : "id";
  const close = () => { list.hidden = true; };
  const choose = (row) => { close(); input.value = ""; chooseView("map"); chooseRow(row); byId("panel").focus({ preventScroll: innerWidth > 820 }); };
  input.addEventListener("input", () => {
    const found = findRows(input.value);
    const items = found.map((row) => make("li", {}, make("button", { type: "button", onclick: () => choose(row) },
      "Row ", words(String(idOf(row))), facts.kind ? " · " : "", words(labelText(row)),
      textOf(row) ? make("span", { class: "soft" }, " ", words(textOf(row).slice(0, 80))) : null)));
    if (!found.length) items.push(make("li", { class: "soft" }, "Nothing found."));
    if (found.length === MOST_FOUND) items.push(make("li", { class: "soft" }, `The first ${MOST_FOUND}; type more to narrow it down.`));
    list.replaceChildren(...items);
    list.hidden = !input.value.trim();
    announce(list.hidden ? "" : count(found.length, "result"));
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const found = findRows(input.value);
    if (found.length) choose(found[0]);
  });
  byId("search").addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    if (event.key === "Escape") { close(); input.focus(); }
    else if (event.key === "ArrowDown" && buttons.length) buttons[Math.min(at + 1, buttons.length - 1)].focus();
    else if (event.key === "ArrowUp" && at >= 0) (buttons[at - 1] || input).focus();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => { if (!byId("search").contains(event.target)) close(); });
}

byId("about").textContent = facts.about;
startTheme();
startViews();
buildLegend();
buildColors();
startPanel();
startVector();
startMap();
startSearch();
readAddress();
window.addEventListener("hashchange", readAddress);
window.addEventListener("popstate", readAddress);
