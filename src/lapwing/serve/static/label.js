"use strict";
// One document at a time. A key answers; nothing is shown next before the server has the answer on its disk.
(() => {
  const KEYS = "1234567890qwertyiopadfghjklzxcvbnm"; // s skips, u takes back
  const at = (id) => document.getElementById(id);
  let state = null, chosen = new Set(), busy = false;

  const make = (tag, text, attributes = {}) => {
    const node = document.createElement(tag);
    if (text !== null) node.textContent = text;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };

  async function ask(path, body) {
    if (busy) return;
    busy = true;
    at("problem").textContent = "";
    try {
      const options = body === undefined ? {} : {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      const response = await fetch(path, options);
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error || response.statusText);
      state = answer;
      chosen = new Set();
      show();
    } catch (error) {
      at("problem").textContent = `Not saved: ${error.message}. Is the server still running? Try again.`;
    } finally {
      busy = false;
    }
  }

  function answer(name) {
    if (!state || !state.document) return;
    if (state.exclusive) {
      ask("answer", { id: state.document.id, labels: [name] });
      return;
    }
    if (!chosen.delete(name)) chosen.add(name);
    for (const button of at("answers").children)
      button.setAttribute("aria-pressed", String(chosen.has(button.dataset.name)));
  }

  const confirm = () => state && state.document && !state.exclusive &&
    ask("answer", { id: state.document.id, labels: [...chosen] });
  const skip = () => state && state.document && ask("skip", { id: state.document.id });
  const undo = () => state && state.undo && ask("undo", {});

  function marked(text, marks) {
    const parts = [];
    const strongest = Math.max(1e-9, ...marks.map(([, , weight]) => Math.abs(weight)));
    let end = 0;
    const letters = [...text]; // the server counts characters, not halves of them
    for (const [start, stop, weight] of marks) {
      if (start < end) continue;
      parts.push(document.createTextNode(letters.slice(end, start).join("")));
      const share = Math.abs(weight) / strongest;
      const strength = share > 0.66 ? "strong" : share > 0.33 ? "fair" : "faint";
      const side = weight > 0 ? "for" : "against";
      parts.push(make("mark", letters.slice(start, stop).join(""), { class: `${side} ${strength}` }));
      end = stop;
    }
    parts.push(document.createTextNode(letters.slice(end).join("")));
    return parts;
  }

  function category({ name }, k) {
    const button = make("button", null, { type: "button", "aria-pressed": "false" });
    button.dataset.name = name;
    if (KEYS[k]) {
      button.append(make("kbd", KEYS[k]), " ");
      button.setAttribute("aria-keyshortcuts", KEYS[k]);
    }
    button.append(make("span", name));
    const { probabilities } = state.document;
    const p = Object.hasOwn(probabilities, name) ? probabilities[name] : null; // a category may be named constructor
    if (p !== null) button.append(make("span", `${(100 * p).toFixed(0)} %`, { class: "share" }));
    button.addEventListener("click", () => answer(name));
    return button;
  }

  function row(one) {
    const node = make("tr", null), range = one.unfound_range;
    node.append(make("th", one.name, { scope: "row" }), make("td", String(one.labelled)),
      make("td", one.unfound === null ? "not known yet" : one.unfound.toFixed(1)),
      make("td", range ? `${range[0].toFixed(0)} to ${range[1].toFixed(0)}` : ""));
    return node;
  }

  function show() {
    const { document: shown, categories } = state;
    at("progress").textContent = `${state.answered} of ${state.pool} labelled, ${state.skipped} skipped` +
      (state.learning ? "; learning in the background" : "");
    at("what").textContent = !shown ? "Nothing is left to label" : state.exclusive ? "Which category is this?" :
      "Which categories is it in?";
    at("about").textContent = shown && shown.about ?
      `Underlined: words for ${shown.about} (solid) and against it (dashed).` : "";
    at("document").replaceChildren(...(shown ? marked(shown.text, shown.marks) : []));
    at("document").scrollTop = 0;
    at("answers").replaceChildren(...(shown ? categories.map(category) : []));
    at("confirm").hidden = !shown || state.exclusive;
    at("skip").disabled = !shown;
    at("undo").disabled = !state.undo;
    at("table").tBodies[0].replaceChildren(...categories.map(row));
    curve();
    document.documentElement.dataset.answered = String(state.answered);
    document.documentElement.dataset.ready = "yes";
  }

  function curve() {
    const points = state.curve.map((one) => [one.labels, one.macro_f1 ?? one.guessed, one.macro_f1 !== null])
      .filter(([, y]) => y !== null && y !== undefined);
    if (points.length < 2) { at("curve").replaceChildren(); return; }
    const most = Math.max(...points.map(([x]) => x));
    const x = (n) => 40 + 500 * n / most, y = (v) => 150 - 140 * v;
    const inside = points[points.length - 1][2];
    const what = inside ? "macro F1 on answers left out of the fit" : "share of the last 50 answers guessed";
    const caption = `Learning curve: ${what}, in percent, by labels`;
    const draw = (tag, attributes, text) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      if (text) node.textContent = text;
      return node;
    };
    const svg = draw("svg", { viewBox: "0 0 560 175", width: 560, height: 175, role: "img", "aria-label": caption });
    for (const v of [0, 0.5, 1])
      svg.append(draw("line", { class: "zero", x1: 40, x2: 540, y1: y(v), y2: y(v) }),
        draw("text", { x: 34, y: y(v) + 4, "text-anchor": "end" }, `${100 * v}`));
    const path = points.map(([n, v]) => `${x(n)},${y(v)}`).join(" ");
    svg.append(draw("polyline", { class: "line", fill: "none", points: path }),
      draw("text", { x: 540, y: 168, "text-anchor": "end" }, `${most} labels`));
    at("curve").replaceChildren(make("figcaption", caption), svg);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase();
    if (key === "s") skip();
    else if (key === "u") undo();
    else if (event.key === "Enter" && event.target.tagName !== "BUTTON") confirm();
    else if (key.length === 1 && KEYS.includes(key) && state && KEYS.indexOf(key) < state.categories.length)
      answer(state.categories[KEYS.indexOf(key)].name);
    else return;
    event.preventDefault();
  });
  at("confirm").addEventListener("click", confirm);
  at("skip").addEventListener("click", skip);
  at("undo").addEventListener("click", undo);
  ask("state");
})();
