"use strict";
// Sample texts are inserted through textContent only, so they never become markup.

const byId = (id) => document.getElementById(id);
const messages = JSON.parse(document.body.dataset.messages);
const tr = (message, values = {}) =>
  (messages[message] ?? message).replace(/\{(\w+)\}/g, (_, name) => values[name]);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function setUpTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : system.matches;
  };
  const show = () => {
    button.textContent = isDark() ? tr("Switch to the light theme") : tr("Switch to the dark theme");
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("ckptbench-theme", theme);
    } catch {
      // Then it lasts until the page is closed.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
  button.hidden = false;
}

function setUpSorting(table) {
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const value = (row) => row.cells[column].dataset.sort;
    header.querySelector("button").addEventListener("click", () => {
      const numeric = column > 0;
      const before = header.getAttribute("aria-sort");
      // Scores are wanted highest first, names in their natural order.
      const order = before ? (before === "ascending" ? "descending" : "ascending")
        : numeric ? "descending" : "ascending";
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...body.rows].sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        if (left === "" || right === "") return (left === "") - (right === "");
        return sign * (numeric ? left - right : left.localeCompare(right, "en", { numeric: true }));
      });
      body.append(...rows);
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", order);
      const name = header.querySelector("button").textContent.trim();
      byId("sorted").textContent = order === "ascending"
        ? tr("Sorted by {name}, ascending", { name }) : tr("Sorted by {name}, descending", { name });
    });
  });
}

const PAGE = 25;

function setUpFlips() {
  const data = JSON.parse(byId("flips-data").textContent);
  const controls = { benchmark: byId("by-benchmark"), checkpoint: byId("by-checkpoint") };
  const fill = (select, names) =>
    select.append(...[...new Set(names)].map((name) => element("option", { value: name, textContent: name })));
  fill(controls.benchmark, data.groups.map((group) => group[2]));
  fill(controls.checkpoint, data.groups.map((group) => group[0]));

  let sampleTexts = null; // lower case, made at the first search
  let found = data.rows;
  let page = 0;

  function matching() {
    const words = byId("search").value.toLowerCase().trim();
    const benchmark = controls.benchmark.value;
    const checkpoint = controls.checkpoint.value;
    const change = byId("by-change").value;
    let inSample = null;
    if (words) {
      sampleTexts ??= data.samples.map(([id, texts]) =>
        [id, ...texts.map((text) => text[1])].join("\n").toLowerCase());
      inSample = sampleTexts.map((text) => text.includes(words));
    }
    return data.rows.filter(([number, won, sample, nodeid, response, reference]) => {
      const group = data.groups[number];
      return (!benchmark || group[2] === benchmark)
        && (!checkpoint || group[0] === checkpoint)
        && (!change || String(won) === change)
        && (!words || inSample[sample] || nodeid.toLowerCase().includes(words)
          || response.toLowerCase().includes(words)
          || (reference !== null && reference.toLowerCase().includes(words)));
    });
  }

  function fact(label, ...content) {
    return element("div", {}, element("dt", { textContent: label }), element("dd", {}, ...content));
  }

  function fieldFact([label, text, marks, cut]) {
    const parts = [];
    let at = 0;
    for (const [number, [start, end, name]] of marks.entries()) {
      parts.push([...text].slice(at, start).join(""));
      const asked = number === marks.length - 1;
      parts.push(element("mark", {
        className: asked ? "asked" : "",
        title: asked ? tr("the place that the model fills") : name,
        textContent: [...text].slice(start, end).join(""),
      }));
      at = end;
    }
    parts.push(marks.length ? [...text].slice(at).join("") : text);
    if (cut) parts.push(element("span", { className: "whole", textContent: ` … ${tr("{n} characters left out", { n: cut.toLocaleString("en") })}` }));
    const name = label === "question" ? tr("question") : label === "expected" ? tr("expected") : label;
    const row = fact(name, ...parts);
    if (text.includes("\n")) row.lastChild.className = "code";
    return row;
  }

  function flip([number, won, sample, nodeid, response, reference]) {
    const [checkpoint, , protocol, metric, , , , , model] = data.groups[number];
    const [id, texts] = data.samples[sample];
    const heading = element("h3", {},
      element("span", { className: "change", textContent: won ? `▲ ${tr("won")}` : `▼ ${tr("lost")}` }),
      element("span", { textContent: checkpoint }),
      element("span", { textContent: `${protocol}, ${metric}` }),
      element("span", { textContent: id }));
    const shown = texts.filter(([label], place) => place === 0 || label === "expected");
    const others = texts.filter((text) => !shown.includes(text));
    const facts = element("dl", {}, ...shown.map(fieldFact),
      fact(tr("{model} said", { model }), reference ?? tr("not available")), fact(tr("{model} says", { model: checkpoint }), response));
    const rest = element("details", { className: "whole" }, element("summary", { textContent: tr("The item and its other fields") }),
      element("dl", {}, fact(tr("item"), element("code", { textContent: nodeid })), ...others.map(fieldFact)));
    return element("li", { className: `flip ${won ? "won" : "lost"}` }, heading, facts, rest);
  }

  function show() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    byId("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map(flip));
    const lost = found.filter((row) => !row[1]).length;
    const number = (value) => value.toLocaleString("en");
    byId("found").textContent = found.length
      ? tr("{n} flips: {lost} lost, {won} won",
        { n: number(found.length), lost: number(lost), won: number(found.length - lost) })
      : tr("No flip matches.");
    byId("page").textContent = tr("Page {n} of {of}", { n: number(page + 1), of: number(pages) });
    byId("previous").disabled = page === 0;
    byId("next").disabled = page === pages - 1;
    byId("pages").hidden = pages === 1;
  }

  function refresh() {
    found = matching();
    page = 0;
    show();
  }

  function turn(by) {
    page += by;
    show();
    byId("flips").scrollIntoView();
  }

  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 150);
  });
  for (const id of ["by-benchmark", "by-checkpoint", "by-change"]) byId(id).addEventListener("change", refresh);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("filters").hidden = false;
  show();
}

// On paper nothing can be opened.
function setUpPrinting() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter((shown) => !shown.closest("#list"));
    opened.forEach((shown) => { shown.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((shown) => { shown.open = false; }));
}

setUpTheme();
setUpPrinting();
document.querySelectorAll("table.scores").forEach(setUpSorting);
if (byId("flips-data")) setUpFlips();
