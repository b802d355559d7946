// One category: its words, its curves, its mistakes.

const SHOWN_WORDS = 15;
const MOST_OPTIONS = 500; // of a list to choose a category from
const SUGGESTED = 30;
const STEPS = 100; // thresholds 0.01, 0.02, … 0.99

function categorySection(data, table) {
  const choice = (data.categories.length > MOST_OPTIONS ? finder : selector)(data.categories, (one) => open(one));
  const content = h("div", { class: "one" });
  const element = section("category", "One category",
    h("p", null, h("label", { for: "category-choice" }, "Category "), choice.element), content);

  function open(one, scroll = false) {
    choice.show(one);
    content.replaceChildren(...categoryParts(data, table, one));
    if (scroll) {
      element.scrollIntoView({ block: "start" });
      choice.focus({ preventScroll: true });
    }
  }

  return { element, open };
}

function selector(categories, open) {
  const element = h("select", { id: "category-choice", onchange: () => open(categories[Number(element.value)]) },
    categories.map((one, k) => h("option", { value: String(k) }, plain(one.name))));
  return { element, show: (one) => { element.value = String(categories.indexOf(one)); }, focus: (how) => element.focus(how) };
}

// Of very many one is found by typing a part of its name.
function finder(categories, open) {
  const byName = new Map(categories.map((one) => [plain(one.name), one]));
  const lower = categories.map((one) => plain(one.name).toLowerCase());
  const suggestions = h("datalist", { id: "category-names" });
  const input = h("input", { id: "category-choice", type: "search", list: "category-names", autocomplete: "off", oninput: () => {
    const one = byName.get(input.value);
    if (one) { open(one); return; }
    suggestions.replaceChildren(...matching(input.value).map((found) => h("option", { value: plain(found.name) })));
  }, onchange: () => {
    const [first] = byName.has(input.value) ? [] : matching(input.value);
    if (first) open(first);
  } });

  // Those that begin with what was typed, then those that have it anywhere.
  function matching(typed) {
    const wanted = typed.trim().toLowerCase();
    if (!wanted) return [];
    const places = { first: [], later: [] };
    lower.forEach((label, k) => {
      const at = label.indexOf(wanted);
      if (at >= 0) places[at ? "later" : "first"].push(categories[k]);
    });
    const shortest = (a, b) => a.name.length - b.name.length;
    return [...places.first.sort(shortest), ...places.later.sort(shortest)].slice(0, SUGGESTED);
  }

  return { element: h("span", null, input, suggestions), show: (one) => { input.value = plain(one.name); }, focus: (how) => input.focus(how) };
}

function categoryParts(data, table, one) {
  const words = table.words(one.row);
  const [plus, minus] = [words.filter(([, w]) => w > 0), words.filter(([, w]) => w < 0)];
  const found = [
    ["training documents", one.positives, whole], ["features kept", one.kept, whole], ["prior variance", one.variance, number, HINTS.variance],
    ["relative gap", one.gap, number, HINTS.gap],
  ].filter(([, value]) => value !== null).map(([label, value, text, hint]) => [label, text(value), hint]);
  if (data.thresholds) found.push(["threshold", one.threshold === null ? "never assigned" : number(one.threshold)]);
  if (one.f1 !== undefined) {
    found.push(["precision", percent(one.precision)], ["recall", percent(one.recall)], ["F1", percent(one.f1)], ["AUC", percent(one.auc)], ["errors", whole(one.errors)]);
  }
  const list = (side, found) => h("div", null,
    h("h4", null, side === "for" ? `For (${whole(found.length)})` : `Against (${whole(found.length)})`),
    found.length ? wordBars(found.slice(0, SHOWN_WORDS), side, one.certainty) : h("p", { class: "note" }, "None."),
    found.length > SHOWN_WORDS ? allWords(found, side, one.certainty) : null);
  const charts = [];
  const seen = one.assessment;
  if (seen && seen.positives > 0) charts.push(thresholdParts(one, seen, data.thresholds));
  if (one.calibration) charts.push(reliabilityFigure("Reliability", "of the probabilities for this category.", one.calibration));
  if (one.cv) charts.push(varianceFigure(one.cv));
  if (one.path) charts.push(pathFigure(one.path));
  const mistakes = (data.mistakes ?? []).filter((mistake) => mistake.row === one.row);
  return [
    h("h3", { class: "big" }, name(one.name)),
    facts(found),
    h("h3", null, "Its words"),
    one.certainty ? h("p", { class: "note" }, one.certainty.halves
      ? `After each weight: in how many of ${one.certainty.halves} random halves of the training documents the word stays.`
      : `After each weight: its ${percent(one.certainty.level, 0)} % interval.`) : null,
    h("div", { class: "sides" }, list("for", plus), list("against", minus)),
    charts.length ? h("div", { class: "charts" }, charts) : null,
    mistakes.length ? [h("h3", null, "Worst mistakes"), documentList(mistakes, data)] : null,
  ].flat().filter(Boolean);
}

function allWords(found, side, certainty) {
  const rest = h("details", null, h("summary", null, `All ${whole(found.length)}`));
  rest.addEventListener("toggle", () => {
    if (rest.open && rest.children.length === 1) rest.append(wordBars(found.slice(SHOWN_WORDS), side, certainty));
  });
  return rest;
}

// The curve, and where thresholds decide a slider that its ring follows.
function thresholdParts(one, seen, slides) {
  const steps = STEPS;
  let now = { precision: one.precision, recall: one.recall };
  const curve = curveFigure(seen.cuts, seen.positives, () => now, slides);
  if (!slides) return curve;
  const said = h("output", { for: "threshold", class: "readout" });
  const rate = (tp, fp) => {
    const precision = tp + fp ? tp / (tp + fp) : null;
    const recall = tp / seen.positives;
    return { precision, recall, f1: (2 * tp) / (2 * tp + fp + seen.positives - tp) };
  };
  const tell = (text, { precision, recall, f1 }, tp, fp) => said.replaceChildren(
    h("strong", null, text), ` precision ${percent(precision)}, recall ${percent(recall)}, F1 ${percent(f1)}`,
    tp === undefined ? "" : ` — ${whole(tp)} right, ${whole(fp)} wrong, ${whole(seen.positives - tp)} missed`);
  const slider = h("input", { id: "threshold", type: "range", min: 1, max: steps - 1, step: 1, "aria-label": "Threshold in percent",
    oninput: () => {
      const k = Number(slider.value);
      const [tp, fp] = seen.grid[k - 1] ?? [0, 0]; // nothing is over the thresholds left out
      now = rate(tp, fp);
      slider.setAttribute("aria-valuetext", `${k} %`);
      tell(`p > ${(k / steps).toFixed(2)}:`, now, tp, fp);
      curve.redraw();
    } });
  slider.value = String(Math.min(steps - 1, Math.max(1, Math.round(steps * (one.threshold ?? 1)))));
  tell("As decided:", one);
  return h("div", { class: "stack" }, curve,
    h("div", { class: "slider" }, h("label", { for: "threshold" }, "Another threshold"), slider, said));
}
