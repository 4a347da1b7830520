// Pieces of the page. Text only ever becomes text nodes: nothing that comes from the data is read as HTML.
"use strict";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== ""));
  return made;
}

const short = (text, most = 160) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const note = (text) => (text ? element("p", {class: "soft"}, text) : null);
const count = (value) => new Intl.NumberFormat("en").format(value);
const digits = (value, most = 3) => (value === null || value === undefined ? "" : new Intl.NumberFormat("en", {maximumSignificantDigits: most}).format(value));
const money = (value) => (value === null || value === undefined ? "" : new Intl.NumberFormat("en", {minimumFractionDigits: 2, maximumFractionDigits: 2}).format(value));
const percent = (value) => (value === null || value === undefined ? "" : `${(100 * value).toFixed(1)}\u00a0%`);
function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value === 0) return "0 s";
  if (value >= 2 * 86400) return `${digits(value / 86400)} d`;
  if (value >= 2 * 3600) return `${digits(value / 3600)} h`;
  return value >= 1 ? `${digits(value)} s` : value >= 1e-3 ? `${digits(value * 1e3)} ms` : `${digits(value * 1e6)} µs`;
}
const microseconds = (value) => seconds(value / 1e6);
const rate = (value) => `${digits(value / 1e9)} GB/s`;

function card(title, size, ...children) {
  return element("section", {class: `card ${size}`}, element("h3", {}, title), ...children);
}

function legend(colours) {
  return element("div", {class: "legend"}, Object.entries(colours).map(([name, colour]) => {
    const swatch = element("i");
    swatch.style.background = colour;
    return element("span", {}, swatch, element("em", {title: short(name, 400)}, short(name, 120)));
  }));
}

/// all: columns {title, words?, of(row) -> text or node}, shown where any row has something; rows may carry `reason` in place of what follows the first two cells.
function table(all, rows, rowClass = () => "") {
  const columns = all.filter((c, i) => i < 2 || rows.some((row) => !row.reason && c.of(row) !== ""));
  const head = element("tr", {}, columns.map((c) => element("th", {class: c.words ? "words" : ""}, c.title)));
  const cell = (column, row) => {
    const content = column.of(row);
    const classes = [column.words ? "words" : "", content === "" ? "empty" : ""].filter(Boolean).join(" ");
    return element("td", {class: classes, "data-title": column.title}, element("span", {}, content));
  };
  const line = (row) => {
    const cells = row.reason ? columns.slice(0, 2).map((c) => cell(c, row)).concat(element("td", {class: "reason", colspan: Math.max(columns.length - 2, 1)}, element("span", {class: "clamp"}, row.reason))) : columns.map((c) => cell(c, row));
    return element("tr", {class: rowClass(row)}, cells);
  };
  return element("table", {class: "cards"}, element("thead", {}, head), element("tbody", {}, rows.map(line)));
}

/// Text with a button that copies it.
function toCopy(title, text) {
  const button = element("button", {type: "button", class: "copy", onclick: () => {
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => select());
    else select();
  }}, "copy");
  const block = element("pre", {tabindex: "0"}, text);
  const select = () => getSelection().selectAllChildren(block);
  return element("div", {}, element("div", {class: "tools"}, element("b", {}, title), button), block);
}

/// Closed until someone opens it or prints; what it holds is made then.
function details(summary, make, open = false) {
  const box = element("details", {}, element("summary", {}, summary));
  let made = false;
  const fill = () => {
    if (made) return;
    made = true;
    const content = element("div");
    box.append(content);
    content.append(...make().flat().filter(Boolean));
    drawAll(content);
  };
  box.addEventListener("toggle", () => { if (box.open) fill(); });
  window.addEventListener("beforeprint", () => { box.open = true; fill(); });
  if (open) box.open = true;
  return box;
}

const tooltip = {
  show(event, value) {
    const box = document.getElementById("tooltip");
    if (value === null || value === undefined || value === "") { box.hidden = true; return; }
    box.replaceChildren(...Object.entries(value).filter(([, v]) => v !== "" && v !== null).map(([k, v]) => element("div", {}, k ? `${k}: ` : "", k ? String(v) : element("b", {}, short(String(v), 200)))));
    box.hidden = false;
    box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 4))}px`;
    box.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 4))}px`;
  },
};

/// Makes `box.draw()`; the chart is drawn once the box has a width, and again when that changes.
function drawn(box, specification, listen = () => {}) {
  let view = null, width = 0;
  box.draw = () => {
    width = box.clientWidth;
    if (width < 40) return;
    if (view) view.finalize();
    view = new vega.View(vega.parse(specification(width), config, {ast: true}), {expr: vega.interpreter, renderer: "svg", container: box, hover: true});
    view.tooltip((handler, event, item, value) => tooltip.show(event, value));
    listen(view);
    view.run();
  };
  new ResizeObserver(() => { if (Math.abs(box.clientWidth - width) > 1) requestAnimationFrame(box.draw); }).observe(box);
  return box;
}

const drawAll = (root) => root.querySelectorAll(".chart").forEach((box) => box.draw && box.draw());
const chartOf = (name, specification) => drawn(element("div", {class: `chart ${name}`}), specification);
