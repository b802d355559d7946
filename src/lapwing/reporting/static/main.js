// Everything is drawn from the data embedded in the page.

// Categories come as columns: what is the same of all once, the rest by category; `row` is the number of the class.
function categoriesOf({ names, same, each }) {
  const columns = Object.entries(each);
  return names.map((label, k) => {
    const one = { name: label, row: k, ...same };
    for (const [key, values] of columns) one[key] = values[k];
    return one;
  });
}

const data = JSON.parse(document.getElementById("data").textContent);
data.categories = categoriesOf(data.categories);
const table = weightTable(data.model);
const one = categorySection(data, table);
const open = (category) => one.open(category, true);

function box() {
  const { live, promises } = data;
  const promising = { promises, exclusive: data.model.exclusive };
  if (live?.refusal) return section("try", "Try a text", h("p", { class: "note" }, `Not in this page: ${live.refusal}.`));
  if (live?.remote) {
    const { model, models } = live.remote;
    const told = "Classified as you type, by the server this page came from. Select a category to see the words that spoke for and against it.";
    return tryBox(remoteModel(model), { ...promising, note: told, others: models.filter((other) => other !== model), make: remoteModel });
  }
  const note = "Classified as you type, in this page: nothing leaves it. Select a category to see the words that spoke for and against it.";
  return tryBox(localModel(data, table, snowball), { ...promising, example: data.example, note });
}

document.getElementById("head").append(...headOf(data).filter(Boolean));
document.getElementById("main").replaceChildren(...[
  box(), categoriesSection(data, open), one.element, confusionSection(data, open), comparisonSection(data, open), ...documentsSections(data),
].filter(Boolean));
document.getElementById("foot").append(...footOf(data));
one.open(data.categories[data.first ?? 0]);
document.documentElement.dataset.ready = "yes";
