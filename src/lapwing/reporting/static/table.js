// A table that sorts by any column and filters by name; rows are made as they are asked for.

const FIRST_ROWS = 25;
const MORE_ROWS = 200;
const PRINTED_ROWS = 4000;

// columns: {key, label, title, text(row), words, missing}; open(row) is called for the name in the first column.
function sortableTable(rows, columns, { caption, open, filter }) {
  let sorted = { column: columns.find((column) => column.first) ?? columns[0], down: true };
  let shownRows = [];
  let many = FIRST_ROWS;
  const body = h("tbody");
  const status = h("p", { class: "note", role: "status" });
  const more = h("button", { type: "button", class: "quiet", onclick: () => { many += MORE_ROWS; draw(); } }, "Show more");
  const heads = columns.map((column) => {
    const button = h("button", { type: "button", title: column.title, onclick: () => sort(column) }, column.label);
    return h("th", { scope: "col", class: column.words ? "words" : null, "data-label": column.label }, button);
  });
  const search = h("input", { type: "search", placeholder: "Filter by name", "aria-label": filter, oninput: debounced(() => update(), 80) });

  function compare(a, b) {
    const [x, y] = [a[sorted.column.key], b[sorted.column.key]];
    if (x === y) return 0;
    if (x === null || x === undefined) return 1; // what is not known stands last either way
    if (y === null || y === undefined) return -1;
    const order = sorted.column.words ? byCodePoint(x.toLowerCase(), y.toLowerCase()) || byCodePoint(x, y) : x - y;
    return sorted.down ? -order : order;
  }

  function sort(column) {
    sorted = { column, down: sorted.column === column ? !sorted.down : !column.words };
    update();
  }

  function update() {
    const wanted = search.value.trim().toLowerCase();
    shownRows = rows.filter((row) => !wanted || row[columns[0].key].toLowerCase().includes(wanted)).sort(compare);
    many = FIRST_ROWS;
    columns.forEach((column, k) => {
      const state = column === sorted.column ? (sorted.down ? "descending" : "ascending") : null;
      if (state) heads[k].setAttribute("aria-sort", state);
      else heads[k].removeAttribute("aria-sort");
    });
    draw();
  }

  function draw() {
    const part = shownRows.slice(0, many);
    body.replaceChildren(...part.map((row) => h("tr", null, columns.map((column, k) => {
      if (k) return h("td", { class: column.words ? "words" : null }, column.text(row));
      return h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => open(row) }, name(row[column.key])));
    }))));
    status.textContent = shownRows.length === rows.length
      ? `${whole(rows.length)} in all${part.length < rows.length ? `, ${whole(part.length)} shown` : ""}`
      : `${whole(shownRows.length)} of ${whole(rows.length)}${part.length < shownRows.length ? `, ${whole(part.length)} shown` : ""}`;
    more.hidden = part.length >= shownRows.length;
  }

  update();
  // On paper nobody can ask for more rows.
  const before = { rows: FIRST_ROWS };
  addEventListener("beforeprint", () => { before.rows = many; many = Math.min(shownRows.length, PRINTED_ROWS); draw(); });
  addEventListener("afterprint", () => { many = before.rows; draw(); });
  return h("div", { class: "sortable" },
    h("div", { class: "bar-above" }, search, status),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
      h("table", null, h("caption", { class: "hidden" }, caption), h("thead", null, h("tr", null, heads)), body)),
    more);
}
