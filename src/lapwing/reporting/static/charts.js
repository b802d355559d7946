// Charts as inline SVG, drawn to the width there is and again when it changes.

const PAPER = 600; // pixels that a chart has on a page

// draw(width) gives an SVG element; it is first called when the figure comes near the window.
function figure(title, note, draw, kind = null) {
  const place = h("div", { class: "plot" });
  const element = h("figure", { class: kind }, h("figcaption", null, h("strong", null, title), note ? [" ", note] : null), place);
  let seen = 0;
  const redraw = () => {
    const width = Math.floor(place.clientWidth);
    if (width < 50 || width === seen) return;
    seen = width;
    place.replaceChildren(draw(width));
  };
  const watch = new ResizeObserver(debounced(redraw, 60));
  new IntersectionObserver(
    (entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      redraw();
      watch.observe(place);
    },
    { rootMargin: "400px" },
  ).observe(element);
  element.redraw = () => {
    seen = 0;
    if (place.firstChild) redraw();
  };
  // On paper nobody scrolls to it: drawn as wide as a page is.
  addEventListener("beforeprint", () => {
    if (element.isConnected) place.replaceChildren(draw(Math.min(Math.floor(place.clientWidth) || PAPER, PAPER)));
  });
  addEventListener("afterprint", () => element.isConnected && element.redraw());
  return element;
}

const linear = (from, to) => ({
  at: (value) => (value - from) / (to - from || 1),
  ticks(most) {
    const step = [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10((to - from || 1) / most)));
    const size = step.find((one) => (to - from) / one <= most) ?? step[3];
    const found = [];
    for (let k = Math.ceil(from / size - 1e-9); k * size <= to + 1e-9 * size; k++) found.push(Number((k * size).toPrecision(12)));
    return found;
  },
});

const UNIT = linear(-0.04, 1.04); // 0 to 1, with room for the marks at both ends

const logarithmic = (from, to) => ({
  at: (value) => Math.log(value / from) / Math.log(to / from || Math.E),
  ticks(most) {
    const [low, high] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
    const every = Math.max(1, Math.ceil((high - low + 1) / most));
    const found = [];
    for (let k = low; k <= high; k += every) found.push(10 ** k);
    if (found.length >= 2) return found;
    return [1, 2, 5].flatMap((k) => [low - 1, low, high].map((e) => k * 10 ** e)).filter((v) => v >= from && v <= to)
      .sort((a, b) => a - b).filter((v, i, all) => v !== all[i - 1]);
  },
});

function tickText(value) {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) {
    const power = Math.round(Math.log10(Math.abs(value)));
    if (Number(`1e${power}`) === Number(value.toPrecision(6))) {
      return ["10", s("tspan", { dy: "-0.5em", "font-size": "75%" }, String(power).replace("-", "−"))];
    }
    return [value.toExponential(0).replace("e+", "e")];
  }
  return [whole(Number(value.toPrecision(6))).replace("-", "−")];
}

const DIGIT_WIDTH = 7; // pixels, about
const wide = (parts) => DIGIT_WIDTH * parts.reduce((sum, part) => sum + (part.textContent ?? part).length, 0);

const shortened = (text, room) => (wide([text]) > room ? `${text.slice(0, Math.floor(room / DIGIT_WIDTH) - 1)}…` : text);

// An empty plot with labelled axes: {svg, x, y, layer}; x and y turn values into places. Of given ticks as many as fit.
function plot(width, { height = 280, x, y, label }) {
  const margin = { left: 58, right: 14, top: 10, bottom: 44 };
  const upright = (y.ticks ?? y.scale.ticks(Math.max(2, Math.floor((height - margin.top - margin.bottom) / 45))))
    .map((value) => [value, (y.text ?? tickText)(value)]);
  margin.left = Math.max(margin.left, 27 + Math.max(...upright.map(([, text]) => wide(text))));
  const [inner, tall] = [width - margin.left - margin.right, height - margin.top - margin.bottom];
  const px = (value) => margin.left + inner * x.scale.at(value);
  const py = (value) => margin.top + tall * (1 - y.scale.at(value));
  const axes = s("g", { class: "axes", "aria-hidden": "true" });
  const every = x.ticks ? Math.ceil((x.ticks.length * 56) / inner) : 1;
  for (const value of x.ticks?.filter((_, k) => k % every === 0) ?? x.scale.ticks(Math.max(2, Math.floor(inner / 70)))) {
    const text = (x.text ?? tickText)(value);
    axes.append(
      s("line", { x1: px(value), x2: px(value), y1: margin.top, y2: margin.top + tall }),
      s("text", { x: Math.min(px(value), width - wide(text) / 2), y: height - 26, "text-anchor": "middle" }, text),
    );
  }
  for (const [value, text] of upright) {
    axes.append(
      s("line", { x1: margin.left, x2: width - margin.right, y1: py(value), y2: py(value) }),
      s("text", { x: margin.left - 7, y: py(value) + 4, "text-anchor": "end" }, text),
    );
  }
  axes.append(
    s("text", { class: "axis", x: margin.left + inner / 2, y: height - 6, "text-anchor": "middle" }, x.label),
    s("text", { class: "axis", transform: `translate(13 ${margin.top + tall / 2}) rotate(-90)`, "text-anchor": "middle" }, y.label),
  );
  const layer = s("g", null);
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, axes, layer);
  return { svg, x: px, y: py, layer, margin, inner, tall };
}

const polyline = (points, properties) =>
  s("polyline", { fill: "none", ...properties, points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ") });

// Where a pointer is nearest: a label follows it; a click calls `open`.
function pointing(frame, points, text, open) {
  const mark = s("circle", { r: 6, class: "pointed", visibility: "hidden" });
  const tag = s("text", { class: "tag", visibility: "hidden" });
  frame.svg.append(mark, tag);
  const nearest = (event) => {
    const box = frame.svg.getBoundingClientRect();
    const [a, b] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let least = 30 ** 2;
    for (const point of points) {
      const distance = (point.x - a) ** 2 + (point.y - b) ** 2;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  };
  const show = (event) => {
    const point = nearest(event);
    for (const one of [mark, tag]) one.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    mark.setAttribute("cx", point.x);
    mark.setAttribute("cy", point.y);
    tag.textContent = plain(text(point));
    const right = point.x > frame.margin.left + frame.inner / 2;
    tag.setAttribute("x", point.x + (right ? -10 : 10));
    tag.setAttribute("text-anchor", right ? "end" : "start");
    tag.setAttribute("y", point.y < 30 ? point.y + 20 : point.y - 8);
  };
  frame.svg.addEventListener("pointermove", show);
  frame.svg.addEventListener("pointerleave", () => [mark, tag].forEach((one) => one.setAttribute("visibility", "hidden")));
  if (open) {
    frame.svg.classList.add("clickable");
    frame.svg.addEventListener("click", (event) => {
      const point = nearest(event);
      if (point) open(point);
    });
  }
}

// GLM07 Figure 8: positive training documents against features kept, both logarithmic.
function keptFigure(categories, open) {
  const there = categories.filter((one) => one.positives > 0 && one.kept > 0);
  return figure("Features kept", "against the documents each category had to learn from.", (width) => {
    const most = (key) => there.reduce((least, one) => Math.max(least, one[key]), 10) * 1.3;
    const frame = plot(width, {
      x: { scale: logarithmic(0.8, most("positives")), label: "positive training documents" },
      y: { scale: logarithmic(0.8, most("kept")), label: "features kept" },
      label: `${there.length} categories by positive training documents and features kept`,
    });
    const same = new Map(); // a dot for all at one place
    for (const one of there) {
      const key = `${one.positives} ${one.kept}`;
      if (same.has(key)) same.get(key).more++;
      else same.set(key, { one, more: 0, x: frame.x(one.positives), y: frame.y(one.kept) });
    }
    const points = [...same.values()];
    for (const { x, y } of points) frame.layer.append(s("circle", { class: "dot", cx: x, cy: y, r: 4 }));
    pointing(frame, points, ({ one, more }) => `${one.name}${more ? ` and ${whole(more)} more` : ""}: ${whole(one.positives)} → ${whole(one.kept)}`, ({ one }) => open(one));
    return frame.svg;
  });
}

const ENDS = [0.0003, 0.9997]; // of the axis of probabilities, on which 1 in 1,000 and 1 in 10 are as far apart as 9 and 999 in 1,000
const logit = (value) => Math.log(value / (1 - value));
const ODDS = {
  at: (value) => (logit(Math.min(ENDS[1], Math.max(ENDS[0], value))) - logit(ENDS[0])) / (logit(ENDS[1]) - logit(ENDS[0])),
};
const ODDS_AXIS = { scale: ODDS, ticks: [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999], text: (value) => [`${100 * value} %`] };

// Probabilities against what came true: bins of [documents, mean probability, share that came true, its band].
function reliabilityFigure(title, note, found) {
  const { bins, relative_log_loss: loss, relative_brier: brier, expected_calibration_error: error, by_chance: chance } = found;
  const told = [note, " Bars are 95 % bands, numbers how many there were.", loss === null ? "" : ` Log loss ${loss.toFixed(3)} and Brier score `
    + `${brier.toFixed(3)} of those of always saying how frequent a category is; expected calibration error ${percent(error, 2)} %, `
    + `of which ${percent(chance.mean, 2)} % would be there by chance.`];
  return figure(title, told, (width) => {
    const frame = plot(width, {
      x: { ...ODDS_AXIS, label: "probability the model gave" },
      y: { ...ODDS_AXIS, label: "share in the category" },
      label: `Reliability diagram: ${bins.map(([n, p, share]) => `${percent(p)} % said, ${percent(share)} % true of ${whole(n)}`).join("; ")}`,
    });
    frame.layer.append(s("line", { class: "ideal", x1: frame.x(0), y1: frame.y(0), x2: frame.x(1), y2: frame.y(1) }));
    const points = bins.map(([n, p, share, low, high]) => ({ n, p, share, low, high, x: frame.x(p), y: frame.y(share) }));
    for (const { x, low, high } of points) {
      frame.layer.append(s("line", { class: "error", x1: x, x2: x, y1: frame.y(low), y2: frame.y(high) }));
    }
    frame.layer.append(polyline(points.map(({ x, y }) => [x, y]), { class: "line" }));
    for (const { x, y, n } of points) frame.layer.append(s("circle", { class: "dot solid", cx: x, cy: y, r: Math.min(8, 2.5 + Math.log10(n)) }));
    const taken = [];
    points.forEach(({ x, n, low, high }, k) => { // numbers above and below by turns, off the ends of the bands, where there is room
      const half = wide([whole(n)]) / 2;
      const middle = Math.min(Math.max(x, frame.margin.left + half + 2), width - half);
      const [below, above] = [frame.y(low) + 18, frame.y(high) - 10];
      const place = (k % 2 ? [below, above, above - 13] : [above, below, above - 13]).find((at) => at > frame.margin.top
        && at < frame.margin.top + frame.tall && !taken.some(([other, size, level]) => Math.abs(other - middle) < size + half && Math.abs(level - at) < 12));
      if (place === undefined) return;
      taken.push([middle, half, place]);
      frame.layer.append(s("text", { class: "count", x: middle, y: place, "text-anchor": "middle", "aria-hidden": "true" }, whole(n)));
    });
    pointing(frame, points, ({ n, p, share, low, high }) =>
      `${percent(p)} % said, ${percent(share)} % true (${percent(low)} to ${percent(high)}), ${whole(n)} times`);
    return frame.svg;
  });
}

// How many documents are wrong if only the surest are answered, and which promised coverages were kept.
function riskFigure({ risk_coverage: curve, promises, promised_on: own }, exclusive) {
  const all = (text) => promises.map(text).join(", ");
  const kept = promises.length ? ` Sets promised to hold ${exclusive ? "the right class" : "all categories"} ${all((one) => percent(one.promised, 0))} % of the time `
    + `did so ${all((one) => percent(one.kept))} % of the time, with ${all((one) => one.mean_size.toFixed(2))} labels on average.`
    : own > 0.5 ? " The promised sets come from these documents, so that whether they are kept must be tried on others." : "";
  const note = [exclusive ? "if only the surest documents are answered." : "if only the surest documents are answered; a document counts as wrong unless all its categories are right.", kept];
  return figure("Wrong answers", note, (width) => {
    const most = Math.max(0.01, ...curve.map(([, risk]) => risk));
    const frame = plot(width, {
      x: { scale: linear(-0.02, 1.02), label: "documents answered" , text: (value) => [`${Math.round(100 * value)} %`] },
      y: { scale: linear(-0.02 * most, 1.04 * most), label: "of these wrong", text: (value) => [`${Number((100 * value).toPrecision(3))} %`] },
      label: `Share of wrong answers, from ${percent(curve[0][1])} % of the surest to ${percent(curve.at(-1)[1])} % of all`,
    });
    const points = curve.map(([coverage, risk]) => ({ coverage, risk, x: frame.x(coverage), y: frame.y(risk) }));
    frame.layer.append(polyline(points.map(({ x, y }) => [x, y]), { class: "line" }));
    pointing(frame, points, ({ coverage, risk }) => `${percent(coverage)} % answered, ${percent(risk)} % of them wrong`);
    return frame.svg;
  });
}

// Precision against recall over all thresholds; `marked` is {precision, recall} of the decisions.
function curveFigure(cuts, positives, marked, slides) {
  const points = cuts.map(([p, tp, fp]) => ({ p, recall: tp / positives, precision: tp / (tp + fp) }));
  const element = figure("Precision and recall", slides ? "over all thresholds; the ring is the one in use."
    : "over all thresholds; the ring is where the most probable class was taken.", (width) => {
    const frame = plot(width, {
      x: { scale: UNIT, label: "recall" },
      y: { scale: UNIT, label: "precision" },
      label: `Precision–recall curve of ${points.length} points`,
    });
    const placed = points.map((one) => ({ ...one, x: frame.x(one.recall), y: frame.y(one.precision) }));
    frame.layer.append(polyline(placed.map(({ x, y }) => [x, y]), { class: "line" }));
    if (placed.length < 40) for (const { x, y } of placed) frame.layer.append(s("circle", { class: "dot solid", cx: x, cy: y, r: 3 }));
    const now = marked();
    if (now.recall !== null && now.precision !== null) {
      frame.layer.append(s("circle", { class: "ring", cx: frame.x(now.recall), cy: frame.y(now.precision), r: 7 }));
    }
    pointing(frame, placed, ({ p, recall, precision }) => `p ≥ ${number(p)}: precision ${percent(precision)}, recall ${percent(recall)}`);
    return frame.svg;
  });
  return element;
}

// Held-out log-likelihood against the prior variance.
function varianceFigure({ variances, log_likelihood: values, chosen }) {
  return figure("Choice of the variance", "by cross-validation; the ring is the one chosen.", (width) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = 0.06 * (high - low || 1);
    const frame = plot(width, {
      x: { scale: logarithmic(variances[0] / 1.3, variances.at(-1) * 1.3), label: "prior variance" },
      y: { scale: linear(low - room, high + room), label: "held-out log-likelihood" },
      label: `Held-out log-likelihood for ${variances.length} variances; ${number(chosen)} was chosen`,
    });
    const points = variances.map((v, i) => ({ v, value: values[i], x: frame.x(v), y: frame.y(values[i]) }));
    frame.layer.append(polyline(points.map(({ x, y }) => [x, y]), { class: "line" }));
    for (const { v, x, y } of points) {
      frame.layer.append(s("circle", { class: "dot solid", cx: x, cy: y, r: 3 }));
      if (v === chosen) frame.layer.append(s("circle", { class: "ring", cx: x, cy: y, r: 7 }));
    }
    pointing(frame, points, ({ v, value }) => `variance ${number(v)}: ${value.toFixed(1)}`);
    return frame.svg;
  });
}

// Coefficients against the prior variance, a line per feature, named at its end.
function pathFigure({ variances, features, coefficients, chosen }) {
  return figure("Coefficient path", "weights as the prior weakens; the dashed line is the variance in use.", (width) => {
    const all = coefficients.flat();
    const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
    const room = 0.05 * (high - low || 1);
    const names = width > 420 ? 96 : 0;
    const frame = plot(width - names, {
      height: 320,
      x: { scale: logarithmic(variances[0], variances.at(-1)), label: "prior variance" },
      y: { scale: linear(low - room, high + room), label: "weight" },
      label: `Weights of ${features.length} features for ${variances.length} prior variances`,
    });
    frame.svg.setAttribute("width", width);
    frame.svg.setAttribute("viewBox", `0 0 ${width} 320`);
    frame.layer.append(
      s("line", { class: "zero", x1: frame.x(variances[0]), x2: frame.x(variances.at(-1)), y1: frame.y(0), y2: frame.y(0) }),
      s("line", { class: "chosen", x1: frame.x(chosen), x2: frame.x(chosen), y1: 10, y2: 276 }),
    );
    const points = [];
    const ends = features.map((feature, j) => {
      const line = variances.map((v, i) => ({ j, v, value: coefficients[i][j], x: frame.x(v), y: frame.y(coefficients[i][j]) }));
      points.push(...line);
      frame.layer.append(polyline(line.map(({ x, y }) => [x, y]), { class: `line series${j % 8}` }));
      return { feature, j, y: line.at(-1).y };
    });
    if (names) {
      let above = -Infinity;
      const least = 13;
      ends.sort((a, b) => a.y - b.y);
      const overflow = Math.max(0, ends.length * least - 276);
      for (const end of ends) {
        end.y = Math.max(end.y, above + least, 14);
        above = end.y;
      }
      let below = 276 + overflow;
      for (const end of [...ends].reverse()) {
        end.y = Math.min(end.y, below);
        below = end.y - least;
        const text = s("text", { class: `end series${end.j % 8}`, x: width - names - 8, y: end.y + 4 });
        text.textContent = plain(end.feature).slice(0, 14);
        frame.svg.append(text);
      }
    }
    pointing(frame, points, ({ j, v, value }) => `${features[j]}: ${signed(value)} at ${number(v)}`);
    if (names) return frame.svg;
    return h("div", null, frame.svg, h("p", { class: "key" }, features.map((feature, j) => h("span", { class: `key${j % 8}` }, name(feature), " "))));
  }, "spanning");
}

// GLM07 Figure 6: a line per category through its errors with each model, ln(1 + errors).
function parallelFigure(models, rows, open) {
  return figure("Errors of every category", "with each model; axes count errors on a logarithmic scale.", (width) => {
    const most = rows.reduce((least, { errors }) => Math.max(least, ...errors), 1);
    const height = 360;
    const ticks = [0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000].filter((tick) => tick <= most * 1.2);
    const scale = { at: (value) => Math.log1p(value) / Math.log1p(most * 1.05) };
    const frame = plot(width, {
      height,
      x: { scale: linear(-0.12, models.length - 0.88), label: "", ticks: [] },
      y: { scale, ticks, label: "errors (FP + FN)" },
      label: `Errors of ${rows.length} categories with ${models.length} models`,
    });
    models.forEach((model, k) => {
      const text = s("text", { class: "axis", x: frame.x(k), y: height - 20, "text-anchor": k === 0 ? "start" : k === models.length - 1 ? "end" : "middle" });
      text.textContent = shortened(plain(model), (width - 16) / models.length);
      frame.svg.append(text, s("line", { class: "upright", x1: frame.x(k), x2: frame.x(k), y1: 10, y2: height - 44 }));
    });
    // A fixed small shift per category keeps equal lines apart.
    const points = [];
    rows.forEach((row, i) => {
      const shift = (((i * 0.6180339887) % 1) - 0.5) * 7;
      const line = row.errors.map((value, k) => ({ row, x: frame.x(k), y: frame.y(value) + shift }));
      points.push(...line);
      frame.layer.append(polyline(line.map(({ x, y }) => [x, y]), { class: "thread" }));
    });
    // Names for the categories that the last model changes most, where there is room.
    const change = ({ errors }) => Math.abs(Math.log1p(errors.at(-1)) - Math.log1p(errors[0]));
    const taken = [];
    for (const row of [...rows].sort((a, b) => change(b) - change(a)).slice(0, 12)) {
      const y = frame.y(row.errors.at(-1)) + 4;
      if (!change(row) || taken.some((other) => Math.abs(other - y) < 13)) continue;
      taken.push(y);
      const [named, last] = [plain(row.name), frame.x(models.length - 1)];
      const beside = last + 8 + wide([named]) < width; // else before the axis, over the lines
      const text = s("text", { class: "axis over", x: last + (beside ? 8 : -8), y, "text-anchor": beside ? "start" : "end" });
      text.textContent = named;
      frame.svg.append(text);
    }
    pointing(frame, points, ({ row }) => `${row.name}: ${row.errors.join(", ")}`, ({ row }) => open(row));
    return frame.svg;
  }, "spanning");
}

// The share of halves that a word stays in, or the interval of its weight.
function howSure(certainty, word) {
  const known = certainty?.words[word];
  if (known === undefined) return null;
  return h("span", { class: "value sure" }, Array.isArray(known) ? `${signed(known[0])} … ${signed(known[1])}` : `${percent(known, 0)} %`);
}

// Words with bars to the right; for blue, against orange and hatched. An n-gram of characters may begin or end with a blank.
function wordBars(words, kind, certainty) {
  const most = Math.max(...words.map(([, weight]) => Math.abs(weight)), 1e-12);
  return h("ol", { class: `bars ${kind}` }, words.map(([word, weight]) => {
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * Math.abs(weight)) / most}%`;
    const seen = word.replace(/^ | $/g, "␣");
    return h("li", null, h("span", { class: "word", title: plain(seen) }, name(seen)), h("span", { class: "track" }, bar), h("span", { class: "value" }, signed(weight)), howSure(certainty, word));
  }));
}
