// The box to type a text into. A backend answers classify(text) and explain(text, class), here or on a server.

const FIRST = 8; // classes shown before "show all"
const MOST_SHOWN = 4000; // and after it

// What can be promised of the answers, as options of a select; the first is to promise nothing.
function promiseOptions(promises, exclusive) {
  const percentage = (rate) => `${Math.round(100 * rate)} %`;
  return [{ kind: null, label: "as decided" },
    ...promises.coverage.map(([rate]) => ({ kind: "coverage", rate, label: `${exclusive ? "a set with the right class" : "a set with all the right categories"}, ${percentage(rate)}` })),
    ...promises.coverage.map(([rate]) => ({ kind: "coverage", rate, abstain: true, label: `only a set of one ${exclusive ? "class" : "category"}, ${percentage(rate)}` })),
    ...promises.precision.map(([rate]) => ({ kind: "precision", rate, label: `only what is right, ${percentage(rate)}` }))];
}

// LinearModel.promised for one text: classes by what is promised; infinite levels are null.
function promised(classes, promise, promises, exclusive) {
  if (!promise.kind) return classes;
  const [, found] = promises[promise.kind].find(([rate]) => rate === promise.rate);
  if (promise.kind === "coverage") {
    const set = classes.map((one) => found === null || 1 - one.probability <= found);
    const kept = !promise.abstain || set.filter((inside) => inside).length === 1;
    return classes.map((one, k) => ({ ...one, chosen: kept && set[k] }));
  }
  const over = (one, threshold) => threshold !== null && one.probability > threshold;
  if (!exclusive) return classes.map((one, k) => ({ ...one, chosen: over(one, found[k]) }));
  const winner = classes.reduce((best, one) => (one.probability > best.probability ? one : best));
  return classes.map((one) => ({ ...one, chosen: one === winner && over(one, found[0]) }));
}

// others: names of models to compare with, which make(name) gives a backend of; promises: what the model can promise.
function tryBox(backend, { example, note, others = [], make, promises = null, exclusive = false }) {
  const options = promises ? promiseOptions(promises, exclusive) : [{ kind: null }];
  let promise = options[0];
  const wish = { text: () => area.value, promise: () => promise, exclusive };
  const told = promises ? `As ${whole(promises.documents)} documents that the fit had not seen would have it, for documents of their kind` : null;
  const asked = h("select", { id: "promise", title: told, onchange: () => {
    promise = options[Number(asked.value)];
    columns.forEach((column) => column.update());
  } }, options.map((one, k) => h("option", { value: String(k) }, one.label ?? "")));
  const area = h("textarea", {
    id: "text", rows: 6, dir: "auto", spellcheck: "false", "aria-describedby": "try-note", oninput: debounced(() => update(), 120), onchange: () => update(),
    placeholder: "Type or paste a text",
  });
  area.value = example ?? "";
  const columns = [resultColumn(backend, wish)];
  const places = h("div", { class: "columns" }, columns[0].element);
  const compare = h("select", { id: "compare", onchange: () => {
    columns.splice(1);
    if (compare.value) columns.push(resultColumn(make(compare.value), wish));
    places.replaceChildren(...columns.map((column) => column.element));
    places.classList.toggle("two", columns.length > 1);
    columns.at(-1).update();
  } }, h("option", { value: "" }, "no other"), others.map((other) => h("option", { value: other }, plain(other))));

  let last = null;

  async function update() {
    if (area.value === last) return; // leaving the box must not take the focus from what it went to
    last = area.value;
    await Promise.all(columns.map((column) => column.update()));
  }

  const clear = h("button", { type: "button", class: "quiet", onclick: () => { area.value = ""; area.focus(); update(); } }, "Clear");
  const element = section("try", "Try a text",
    h("p", { id: "try-note", class: "note" }, note),
    h("label", { class: "hidden", for: "text" }, "Text to classify"), area, h("div", { class: "bar-below" }, clear,
      promises ? h("span", null, h("label", { for: "promise" }, "Answer with "), asked) : null,
      others.length ? h("span", null, h("label", { for: "compare" }, "Compare with "), compare) : null), places);
  update();
  return element;
}

// One model's answer: its classes by probability, and the words behind the one selected.
function resultColumn(backend, { text: current, promise, exclusive }) {
  let selected = null; // a name the reader chose; otherwise the most probable
  let all = false;
  let turn = 0;
  let asked = 0; // explanations: only the last one is shown
  let classes = [];
  const verdict = h("p", { class: "verdict", role: "status" });
  const list = h("ol", { class: "classes" });
  const more = h("button", { type: "button", class: "quiet", onclick: () => { all = !all; draw(); } });
  const why = h("div", { class: "why" });
  const title = backend.title ? h("h3", { class: "model" }, name(backend.title)) : null;
  const element = h("div", { class: "column" }, title, verdict,
    h("div", { class: "answer" }, h("div", null, list, more), why));

  async function update() {
    const mine = ++turn;
    asked++;
    const text = current();
    try {
      const found = await backend.classify(text, promise());
      if (mine !== turn) return; // a later text has come
      classes = found.map((one, k) => ({ ...one, k })).sort((a, b) => b.probability - a.probability || a.k - b.k);
      element.classList.remove("failed");
    } catch (error) {
      if (mine === turn) fail(error);
      return;
    }
    draw();
  }

  function fail(error) {
    element.classList.add("failed");
    verdict.replaceChildren(error.message);
    list.replaceChildren();
    why.replaceChildren();
    more.hidden = true;
  }

  function draw() {
    const chosen = classes.filter((one) => one.chosen);
    const [some, none] = said(promise());
    verdict.replaceChildren(...(chosen.length
      ? [some, chosen.slice(0, 12).flatMap((one, k) => [k ? ", " : "", h("strong", null, name(one.name))]),
         chosen.length > 12 ? ` and ${chosen.length - 12} more` : ""]
      : [none]).flat(2));
    const visible = all ? classes.slice(0, MOST_SHOWN) : classes.slice(0, Math.max(FIRST, Math.min(chosen.length, 40)));
    const now = classes.find((one) => one.name === selected) ?? classes[0];
    list.replaceChildren(...visible.map((one) => row(one, one === now)));
    more.hidden = classes.length <= FIRST;
    more.textContent = all ? "Show fewer" : classes.length > MOST_SHOWN ? `Show ${whole(MOST_SHOWN)} of ${whole(classes.length)}` : `Show all ${whole(classes.length)}`;
    if (now) explain(now);
  }

  function said({ kind, abstain }) {
    if (abstain) return ["Only ", `No set of one ${exclusive ? "class" : "category"}`];
    if (kind === "coverage") return exclusive ? ["One of ", "No class is like enough to its own"] : ["Among ", "In no category"];
    return kind === "precision" ? ["Sure of ", "Sure of none"] : ["Put in ", "Put in no category"];
  }

  function row(one, pressed) {
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${100 * one.probability}%`;
    return h("li", { class: one.chosen ? "chosen" : null },
      h("button", { type: "button", "aria-pressed": String(pressed), onclick: () => { selected = one.name; draw(); focus(one.name); } },
        h("span", { class: "tick" }, one.chosen ? h("span", { role: "img", "aria-label": "chosen" }, "✓") : ""),
        h("span", { class: "word" }, name(one.name)), h("span", { class: "track" }, bar),
        h("data", { class: "value", value: String(one.probability) }, probability(one.probability))));
  }

  function focus(which) {
    const at = classes.findIndex((one) => one.name === which);
    list.children[at]?.querySelector("button")?.focus();
  }

  async function explain(one) {
    const mine = ++asked;
    let found;
    try {
      found = await backend.explain(current(), one);
    } catch (error) {
      if (mine === asked) why.replaceChildren(h("p", { class: "note" }, error.message));
      return;
    }
    if (mine !== asked) return;
    const parts = found.contributions;
    const marks = parts.flatMap(({ contribution, spans }) => spans.map(([a, b]) => [a, b, contribution]));
    const strongest = parts.slice(0, 12).map(({ feature, contribution }) => [feature, contribution]);
    const sides = [["for", 1], ["against", -1]].map(([side, sign]) => {
      const words = strongest.filter(([, value]) => sign * value > 0);
      return words.length ? h("div", null, h("h4", null, side === "for" ? "For" : "Against"), wordBars(words, side)) : null;
    });
    why.replaceChildren(
      h("h3", null, "Why ", name(one.name), "?"),
      parts.length ? legend() : h("p", { class: "note" }, "Nothing in this text has a weight here: the intercept alone decides."),
      found.text.trim() ? marked(found.text, marks) : "",
      h("div", { class: "sides" }, sides),
      h("p", { class: "note" }, `Score ${signed(found.score)} = intercept ${signed(found.intercept)} + the words`
        + `${parts.length > strongest.length ? `, of which the ${strongest.length} strongest of ${parts.length} are shown` : ""}.`));
  }

  return { element, update };
}
