// Elements, numbers and texts. Whatever comes from a document or a label goes through `shown` or textContent.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in element && element.tagName !== "DATA") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

// Control characters and marks that turn the direction of writing are named instead of obeyed.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

function shown(text) {
  const parts = [];
  let rest = String(text);
  for (let found = UNSEEN.exec(rest); found; found = UNSEEN.exec(rest)) {
    if (found.index) parts.push(rest.slice(0, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(h("span", { class: "unseen" }, `U+${code}`));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) parts.push(rest);
  return parts;
}

// A label or word, kept apart from the direction of what surrounds it.
const name = (text) => h("bdi", null, shown(text));

const plain = (text) => String(text).replace(new RegExp(UNSEEN, "gu"), "\ufffd");

const whole = (value) => value?.toLocaleString("en") ?? "–";
const percent = (value, digits = 1) => (value === null || value === undefined ? "–" : (100 * value).toFixed(digits));

function number(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace("e+", "e");
  return String(Number(value.toPrecision(3)));
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function probability(value) {
  if (value < 0.0005) return "<\u00a00.1\u00a0%";
  if (value > 0.9995) return ">\u00a099.9\u00a0%";
  return `${(100 * value).toFixed(1)}\u00a0%`;
}

function debounced(call, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), wait);
  };
}

function section(id, title, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}
