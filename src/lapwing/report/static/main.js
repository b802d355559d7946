// Everything is drawn from the data embedded in the page.

const data = JSON.parse(document.getElementById("data").textContent);
const table = weightTable(data.model);
const one = categorySection(data, table);
const open = (category) => one.open(category, true);

function box() {
  const { live } = data;
  if (live?.refusal) return section("try", "Try a text", h("p", { class: "note" }, `Not in this page: ${live.refusal}.`));
  const note = "Classified as you type, in this page: nothing leaves it. Select a category to see the words that spoke for and against it.";
  return tryBox([localModel(data, table, snowball)], { example: data.example, note });
}

document.getElementById("head").append(...headOf(data));
document.getElementById("main").replaceChildren(...[
  box(), categoriesSection(data, open), one.element, comparisonSection(data, open), ...documentsSections(data),
].filter(Boolean));
document.getElementById("foot").append(...footOf(data));
one.open(data.categories[data.first ?? 0]);
document.documentElement.dataset.ready = "yes";
