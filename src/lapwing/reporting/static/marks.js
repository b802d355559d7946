// A text with the words that spoke for and against underlined: solid and blue for, dashed and orange against.

const MOST_LETTERS = 6000; // of a text shown; all of it counts

// marks: [start, end, contribution] in code points; where they overlap, contributions add up.
function marked(text, marks) {
  const all = Array.from(text);
  const letters = all.slice(0, MOST_LETTERS);
  const change = new Map([[0, [0, 0]], [letters.length, [0, 0]]]); // place → by how much the sum changes, and the spans open
  const step = (place, value, spans) => {
    const [sum, open] = change.get(place) ?? [0, 0];
    change.set(place, [sum + value, open + spans]);
  };
  for (const [start, end, value] of marks) {
    if (start >= letters.length) continue;
    step(start, value, 1);
    step(Math.min(end, letters.length), -value, -1);
  }
  const places = [...change.keys()].sort((a, b) => a - b);
  const pieces = [];
  let [sum, open] = [0, 0];
  places.forEach((place, k) => {
    sum += change.get(place)[0];
    open += change.get(place)[1];
    if (!open) sum = 0; // rounding leaves nothing behind
    const end = places[k + 1];
    if (end > place) pieces.push([place, end, sum]);
  });
  const most = pieces.reduce((largest, [, , value]) => Math.max(largest, Math.abs(value)), 1e-12);
  const nodes = [];
  for (const [start, end, value] of pieces) {
    const part = shown(letters.slice(start, end).join(""));
    if (!value) nodes.push(...part);
    else {
      const strength = Math.abs(value) / most;
      const side = value > 0 ? "for" : "against";
      const title = `${signed(value)} ${side}`;
      nodes.push(h("mark", { class: `${side} ${strength > 0.5 ? "strong" : strength > 0.15 ? "fair" : "faint"}`, title }, part));
    }
  }
  if (all.length > letters.length) nodes.push(h("span", { class: "note" }, ` … ${whole(all.length - letters.length)} more characters`));
  return h("div", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": "The text with its words underlined" }, nodes); // it may scroll
}

const legend = () => h("p", { class: "note legend" },
  h("mark", { class: "for strong" }, "speaks for"), " ", h("mark", { class: "against strong" }, "speaks against"),
  " — thicker lines for stronger words");
