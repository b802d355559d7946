// The parts of the page above and below the single category.

// Words of the trade in plain ones, shown on hover and to screen readers.
const HINTS = {
  variance: "Prior variance: how large weights may become. Small keeps them near zero, large lets the documents decide",
  gap: "How far the fit may be from the best one there is, as a share of what it minimises: proved, not estimated",
};

const facts = (found) => h("dl", { class: "facts" }, found.map(([label, value, hint]) =>
  h("div", null, h("dt", null, hint ? h("abbr", { title: hint }, label) : label), h("dd", null, value))));

function headOf(data) {
  return [
    h("p", { class: "kind" }, data.live?.remote ? "lapwing serve" : "lapwing report"),
    h("h1", null, name(data.title)),
    data.live?.remote?.models.length > 1 ? h("p", { class: "others" }, "Other models: ", data.live.remote.models
      .filter((other) => other !== data.title).flatMap((other, k) => [k ? ", " : "", h("a", { href: `?model=${encodeURIComponent(other)}` }, name(other))])) : null,
    facts(data.facts.map(([label, value]) => [label, name(value), label.endsWith("gap") ? HINTS.gap : label === "prior" ? HINTS.variance : null])),
  ];
}

const FEWEST_POINTS = 6; // categories from which a cloud of them shows anything

function categoriesSection(data, open) {
  const evaluated = Boolean(data.evaluation);
  const rate = (key, label, title) => ({ key, label, title, text: (row) => percent(row[key]) });
  const columns = [
    { key: "name", label: "Category", words: true },
    { key: "positives", label: "Training", first: true, title: "Positive training documents", text: (row) => whole(row.positives) },
    { key: "kept", label: "Features", title: "Features with a weight", text: (row) => whole(row.kept) },
    { key: "variance", label: "Variance", title: HINTS.variance, text: (row) => number(row.variance) },
    { key: "gap", label: "Gap", title: HINTS.gap,
      text: (row) => [number(row.gap), row.converged !== false ? null : h("span", { title: "did not converge" }, " !")] },
  ];
  if (data.thresholds) {
    columns.push({ key: "threshold", label: "Threshold", title: "Probability above which a document is put in the category",
      text: (row) => (row.threshold === null ? "never" : row.threshold.toFixed(3)) });
  }
  if (evaluated) {
    columns.push(
      { key: "test", label: "Test", title: "Documents in the category among those evaluated", text: (row) => whole(row.test) },
      { key: "errors", label: "Errors", title: "False positives and false negatives", text: (row) => whole(row.errors) },
      rate("precision", "Precision", "TP / (TP + FP), %"), rate("recall", "Recall", "TP / (TP + FN), %"), rate("f1", "F1", "2TP / (2TP + FP + FN), %"),
      rate("auc", "AUC", "Share of pairs, a document in the category and one that is not, in which the first has the higher score, %"));
  }
  const found = section("categories", "Categories",
    evaluated ? averages(data.evaluation) : h("p", { class: "note" }, "Nothing was evaluated. ",
      data.live?.remote ? "What `lapwing evaluate --store` keeps beside the model is shown here." : "Give the report labelled documents to see how good the model is."),
    data.unseen ? h("p", { class: "note" }, `In training, ${data.unseen}.`) : null,
    data.evaluation?.ranking ? rankingTable(data.evaluation.ranking) : null,
    data.levels?.length ? levelsTable(data.levels) : null,
    data.calibration ? h("p", null, `${data.calibration.in_words[0].toUpperCase()}${data.calibration.in_words.slice(1)}.`) : null,
    sortableTable(data.categories, telling(columns, data.categories), { caption: "Categories", filter: "Filter categories by name", open }));
  const charts = [];
  if (data.categories.filter((one) => one.positives !== null).length >= FEWEST_POINTS) charts.push(keptFigure(data.categories, open));
  if (data.calibration) charts.push(reliabilityFigure("Reliability", "of all categories' probabilities together.", data.calibration));
  if (data.selective) charts.push(riskFigure(data.selective, data.model.exclusive));
  if (charts.length) found.append(h("div", { class: "charts" }, charts));
  return found;
}

// Columns of which anything is known, and of very many categories those that do not say the same of all.
function telling(all, rows) {
  const columns = all.filter(({ key }) => key === "threshold" || rows.some((row) => row[key] !== null));
  if (rows.length <= FIRST_ROWS) return columns;
  return columns.filter(({ key }) => !["variance", "threshold"].includes(key) || rows.some((row) => row[key] !== rows[0][key]));
}

function averages({ averages: found, averaged, left_out: leftOut, documents, corpus, accuracy, unknown, memorised }) {
  const rows = Object.entries(found).map(([kind, value]) => h("tr", null, h("th", { scope: "row" }, kind),
    ["precision", "recall", "f1"].map((key) => h("td", null, percent(value[key], 2)))));
  return h("div", { class: "averages" },
    memorised ? h("p", { class: "warning", role: "alert" }, `${memorised[0].toUpperCase()}${memorised.slice(1)}.`) : null,
    h("table", null, h("caption", { class: "hidden" }, "Averages over categories"),
      h("thead", null, h("tr", null, ["", "Precision", "Recall", "F1"].map((text) => (text ? h("th", { scope: "col" }, text) : h("td", null))))), h("tbody", null, rows)),
    h("p", { class: "note" }, `On ${whole(documents)} documents of `, name(corpus), `; averages run over the ${whole(averaged)} categories that occur in them`,
      leftOut ? `, ${whole(leftOut)} that do not are left out` : "",
      accuracy === null ? "" : `; accuracy ${percent(accuracy)} %`,
      unknown ? `; ${whole(unknown)} labels of the data are not in the model` : "", "."));
}

// How good the first few categories of every document are, most probable first.
function rankingTable({ at, documents, propensity }) {
  const columns = [["Precision", "precision"], ["Recall", "recall"], ["nDCG", "ndcg"], ["PSP", "psp"], ["Micro F1", "micro_f1"], ["Macro F1", "macro_f1"]];
  const rows = at.map((one) => h("tr", null, h("th", { scope: "row" }, one.k === 1 ? "the first" : `the first ${one.k}`),
    columns.map(([, key]) => h("td", null, percent(one[key], 2)))));
  return h("div", { class: "averages" },
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Rankings" },
      h("table", null, h("caption", { class: "hidden" }, "Rankings of the categories of every document"),
        h("thead", null, h("tr", null, h("td", null), columns.map(([label]) => h("th", { scope: "col" }, label)))), h("tbody", null, rows))),
    h("p", { class: "note" }, `How good the most probable categories are, whatever is decided on them: of each of ${whole(documents)} documents the first so many. PSP counts a find the more, the rarer its category was in training (A ${propensity.A}, B ${propensity.B}).`));
}

// Broader labels, cut from the names of narrower ones.
function levelsTable(levels) {
  const rows = levels.map((one) => h("tr", null, h("th", { scope: "row" }, `level ${one.level}`), h("td", null, whole(one.labels)),
    h("td", null, percent(one.macro_f1)), h("td", null, percent(one.micro_f1))));
  return h("div", { class: "averages" }, h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Broader labels" },
    h("table", null, h("caption", { class: "hidden" }, "Broader labels"),
      h("thead", null, h("tr", null, ["Broader labels", "Labels", "Macro F1", "Micro F1"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", null, rows))));
}

// Documents with the words that spoke underlined.
function documentList(documents, data) {
  return h("ul", { class: "documents" }, documents.map((one) => {
    const category = data.categories[one.row];
    const said = one.missed ? "labelled" : "not labelled";
    const names = (labels) => (labels.length ? labels.flatMap((label, k) => [k ? ", " : "", name(label)]) : "nothing");
    const details = h("details", null, h("summary", null,
      h("span", { class: one.missed ? "missed" : "false" }, one.missed ? "missed" : "wrong"), " ", h("strong", null, name(category.name)),
      h("span", { class: "note" }, ` ${said}, probability ${probability(one.probability)}; put in `, names(one.predicted), one.more ? ` and ${whole(one.more)} more` : "", ", labelled ", names(one.labels), " · ", name(one.id)),
      one.text ? h("span", { class: "start" }, name(Array.from(one.text.trim()).slice(0, 200).join(""))) : null));
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      details.append(
        one.text === null ? h("p", { class: "note" }, "A vector, without text.") : marked(one.text, one.marks),
        one.cut ? h("p", { class: "note" }, "The text goes on.") : "");
    });
    return h("li", null, details);
  }));
}

function documentsSections(data) {
  const found = [];
  if (data.mistakes?.length) {
    const seen = new Set();
    const first = (one) => !data.model.exclusive || (!seen.has(one.document) && seen.add(one.document)); // missed by one class, wrong in another
    const worst = data.mistakes.filter((one) => !one.suspect).sort((a, b) => b.loss - a.loss).filter(first).slice(0, 20);
    if (worst.length) found.push(section("mistakes", "Worst mistakes",
      h("p", { class: "note" }, "Decisions that were furthest from the label, over all categories"
        + (data.suspects?.length ? ", but for those whose label itself looks wrong: they are in the list below" : "") + ". Open one to read it."), legend(), documentList(worst, data)));
  }
  if (data.suspects?.length) {
    found.push(section("suspects", "Labels to look at",
      h("p", { class: "note" }, "Documents that look mislabelled: they are labelled as being in a category though they look less like it than its average "
        + "non-member, or not labelled though they look more like it than its average member (confident learning, Northcutt et al. 2021). "
        + "The model may be wrong; a reader decides."), legend(), documentList(data.suspects, data)));
  }
  return found;
}

// Exclusive classes: what was taken for what, as a matrix where it can be read, and the pairs most often confused.
const MOST_COLUMNS = 30;

function confusionSection(data, open) {
  if (!data.confusion || !data.confusion.pairs.length) return null;
  const { matrix, pairs } = data.confusion;
  const { classes } = data.model;
  const opens = (label) => {
    const category = data.categories.find((one) => one.name === label);
    return category ? h("button", { type: "button", class: "link", onclick: () => open(category) }, name(label)) : name(label);
  };
  const list = h("table", null, h("caption", { class: "hidden" }, "Classes most often confused"),
    h("thead", null, h("tr", null, ["Class", "Taken for", "Documents"].map((text, k) => h("th", { scope: "col", class: k < 2 ? "words" : null }, text)))),
    h("tbody", null, pairs.slice(0, matrix && classes.length <= MOST_COLUMNS ? 10 : 25).map((one) => h("tr", null,
      h("th", { scope: "row" }, opens(String(one.true))), h("td", { class: "words" }, opens(String(one.chosen))), h("td", null, whole(one.documents))))));
  return section("confusion", "Confused classes",
    h("p", { class: "note" }, "Documents of one class that were put in another, most often first."),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Classes most often confused" }, list),
    matrix && classes.length <= MOST_COLUMNS ? confusionMatrix(matrix, classes) : null);
}

function confusionMatrix(matrix, classes) {
  const cell = (value, share, right) => {
    const made = h("td", { class: right ? "right" : null }, value ? whole(value) : "·");
    if (value && !right) made.style.setProperty("--share", `${Math.round(100 * Math.sqrt(share))}%`);
    return made;
  };
  return [h("h3", null, "All of them"), h("p", { class: "note" }, "A row for each class, a column for what its documents were put in; columns are numbered as the rows."),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Confusion matrix" },
      h("table", { class: "confusion" }, h("caption", { class: "hidden" }, "Confusion matrix"),
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Class"), classes.map((label, k) => h("th", { scope: "col", title: plain(label) }, String(k + 1))))),
        h("tbody", null, matrix.map((row, i) => {
          const total = row.reduce((sum, one) => sum + one, 0) || 1;
          return h("tr", null, h("th", { scope: "row" }, `${i + 1} `, name(classes[i])), row.map((value, j) => cell(value, value / total, i === j)));
        }))))];
}

function comparisonSection(data, open) {
  if (!data.comparison) return null;
  const { models, rows, tests } = data.comparison;
  const table = h("table", null, h("caption", { class: "hidden" }, "Models compared"),
    h("thead", null, h("tr", null, ["Model", "Features", "Errors", "Macro F1", "Micro F1"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, models.map((one) => h("tr", null, h("th", { scope: "row" }, name(one.name)), h("td", null, number(one.features)),
      h("td", null, whole(one.errors)), h("td", null, percent(one.macro, 2)), h("td", null, percent(one.micro, 2))))));
  const told = tests.map((one) => h("li", null, name(one.a), " has fewer errors than ", name(one.b),
    ` in ${whole(one.won)} categories, more in ${whole(one.lost)}, as many in ${whole(one.tied)}; Wilcoxon p ${one.p < 0.001 ? "< 0.001" : `= ${one.p.toFixed(3)}`}`));
  return section("models", "Models side by side", h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Models compared" }, table),
    h("ul", null, told), h("div", { class: "charts" }, parallelFigure(models.map((one) => one.name), rows,
      (row) => open(data.categories.find((one) => one.name === row.name)))));
}

function footOf(data) {
  return [h("p", { class: "note" }, data.about), h("p", { class: "note" },
    data.model.exclusive ? "Probabilities of the classes add up to 1. " : "Probabilities are each category's own. ",
    data.calibrated ? "Weights and intercepts, along a path too, are the fitted ones times the slope of the category's calibration, plus its offset for intercepts: they add up to the scores. " : "",
    "A relative gap of g proves that no weights have an objective lower by more than the share g. ",
    data.live?.stemmer ? "Stems by the Snowball project (snowballstem.org), BSD 3-clause licence, © Martin Porter, Richard Boulton, Olly Betts and others." : "")];
}
