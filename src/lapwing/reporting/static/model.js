// A model from its tables: text to vector, vector to scores, scores to probabilities and decisions.
// Sums run in the order of lapwing.text.weighting and lapwing.model.linear: terms by code point.

function numbers(kind, base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return new kind(bytes.buffer);
}

// Strings by code point, as Python sorts them; by UTF-16 unit the letters from U+E000 on would come too late.
function byCodePoint(a, b) {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      const far = (unit) => unit >= 0xd800 && unit <= 0xdfff;
      return far(x) === far(y) ? x - y : far(x) ? 1 : -1;
    }
  }
  return a.length - b.length;
}

// erfc by W. J. Cody's rational approximations (Math. Comp. 23, 1969), to rounding over the whole line.
function erfc(x) {
  const rational = (z, p, q) => {
    let top = p[0] * z;
    let bottom = z;
    for (let i = 1; i < q.length; i++) {
      top = (top + p[i]) * z;
      bottom = (bottom + q[i - 1]) * z;
    }
    return (top + p[q.length]) / (bottom + q[q.length - 1]);
  };
  const y = Math.abs(x);
  if (y <= 0.46875) {
    const p = [
      1.85777706184603153e-1, 3.1611237438705656, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3,
    ];
    const q = [2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3];
    return 1 - x * rational(y * y, p, q);
  }
  // exp(-y²) with y² split, as its rounding would be magnified
  const decay = () => {
    const whole = Math.trunc(y * 16) / 16;
    return Math.exp(-whole * whole) * Math.exp(-(y - whole) * (y + whole));
  };
  let value;
  if (y <= 4) {
    const p = [
      2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1, 2.98635138197400131e2,
      8.8195222124176909e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
    ];
    const q = [
      1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
      4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ];
    value = decay() * rational(y, p, q);
  } else {
    const p = [
      1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
      1.60837851487422766e-2, 6.58749161529837803e-4,
    ];
    const q = [
      2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3,
    ];
    const z = 1 / (y * y);
    value = (decay() / y) * (0.56418958354775628695 - z * rational(z, p, q));
  }
  return x < 0 ? 2 - value : value;
}

// Student's distribution function: its tail is I_x(ν/2, ½)/2 at x = ν/(ν + s²), by the continued fraction.
function student(score, degrees) {
  const a = degrees / 2;
  const far = a + 100; // Γ(z + ½)/Γ(z) by its expansion for large z, and from there down to z = a
  const ratio = [-399 / 262144, -21 / 32768, 5 / 1024, 1 / 128, -1 / 8, 1].reduce((sum, term) => sum / far + term, 0);
  let beta = Math.sqrt(far) * ratio;
  for (let k = 99; k >= 0; k--) beta *= (a + k) / (a + k + 0.5);
  const x = degrees / (degrees + score * score);
  const rest = (score * score) / (degrees + score * score);
  const front = (beta / Math.sqrt(Math.PI)) * x ** a * Math.sqrt(rest);
  const below = x < (a + 1) / (a + 2.5);
  const tail = below ? (front * fraction(a, 0.5, x)) / a : 1 - 2 * front * fraction(0.5, a, rest);
  return score < 0 ? tail / 2 : 1 - tail / 2;
}

// The continued fraction of the incomplete beta function, by Lentz's method.
function fraction(a, b, x) {
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1; m < 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let step = 1;
    for (const term of [even, odd]) {
      d = 1 / (1 + term * d);
      c = 1 + term / c;
      value *= c * d;
      step = c * d;
    }
    if (Math.abs(step - 1) < 1e-16) break;
  }
  return value;
}

// Scores of all rows to probabilities. A new link is a line here and in PAGE_LINKS (reporting/live.py); what stands after
// a colon in its name is a number that it takes.
const LINKS = {
  logit: (scores) =>
    scores.map((score) => {
      const decay = Math.exp(-Math.abs(score));
      return (score >= 0 ? 1 : decay) / (1 + decay);
    }),
  probit: (scores) => scores.map((score) => erfc(-score / Math.SQRT2) / 2),
  cloglog: (scores) => scores.map((score) => -Math.expm1(-Math.exp(score))),
  robit: (scores, degrees) => scores.map((score) => student(score, degrees)),
  softmax: (scores) => {
    const top = scores.reduce((most, score) => Math.max(most, score), -Infinity);
    const powers = scores.map((score) => Math.exp(score - top));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => power / sum);
  },
};

// The terms of a text in their order, [start, end, term] each; where n-grams are searched for, null for a stop word
// (text/spans.py). And the text the places refer to.
function reader({ settings, table, stop, entities }, snowball) {
  const tokens = tokenTable(table);
  const stopped = new Set(stop);
  const stem = settings.stems ? stemmer(snowball, table.longest_stemmed) : (word) => word;
  return (given) => {
    const text = settings.strip_html && settings.tokens !== "ready" ? stripHtml(given, entities) : given;
    const terms = [];
    const codes = codePoints(text);
    eachToken(codes, settings, tokens, (start, end, token) => {
      terms.push([start, end, (!stopped.has(token) && stem(token)) || null]);
    });
    return { text, terms: settings.ngrams ? terms : bag(terms, settings, codes, tokens) };
  };
}

// What is counted in a text, [start, end, name] each (text/spans.py bag_spans): its terms, or n-grams of them or of
// the letters of each.
function bag(terms, settings, codes, { classes }) {
  const [shortest, longest] = settings.lengths;
  if (longest === 1 && !settings.inside_words) return terms.filter(([, , name]) => name !== null);
  const found = [];
  const ngrams = (run, least) => {
    run.forEach(([start], first) => {
      let name = "";
      for (let k = first; k < Math.min(first + longest, run.length); k++) {
        name += (k > first ? settings.joint : "") + run[k][2];
        if (k - first + 1 >= least) found.push([start, run[k][1], name]);
      }
    });
  };
  if (settings.inside_words) {
    for (const [start, end, token] of terms) {
      const letters = Array.from(token);
      let places = Array.from({ length: end - start }, (_, k) => start + k);
      if (letters.length < places.length) places = places.filter((place) => classes[codes[place]] !== IGNORABLE);
      const run = letters.map((letter, k) => [places[k], places[k] + 1, letter]);
      run.unshift([start, start, " "]);
      run.push([end, end, " "]);
      ngrams(run, Math.min(shortest, run.length));
    }
    return found;
  }
  let run = [];
  for (const term of terms) {
    if (term[2] !== null) run.push(term);
    else {
      ngrams(run, shortest);
      run = [];
    }
  }
  ngrams(run, shortest);
  return found;
}

// Terms to features by name: each kind gives [{name, value, spans}], sorted.
// A new kind is a function here and its tables in reporting/live.py.
const KINDS = {
  // text/weighting.py
  terms({ settings, documents, terms: known, document_frequency: counts }) {
    const count = numbers(Int32Array, counts);
    const frequency = new Map(known.map((term, i) => [term, count[i]]));
    const idf = (name) => (settings.idf ? Math.log((documents + 1) / ((frequency.get(name) ?? 0) + 1)) : 1);
    const tf = { log: (n) => 1 + Math.log(n), raw: (n) => n, binary: () => 1 }[settings.tf];
    return (terms) => {
      const found = new Map();
      for (const [start, end, name] of terms) {
        if (!found.has(name)) found.set(name, []);
        found.get(name).push([start, end]);
      }
      const features = [...found.keys()].sort(byCodePoint).map((name) => {
        const spans = found.get(name);
        return { name, spans, value: tf(spans.length) * idf(name) };
      });
      if (settings.cosine) {
        const norm = Math.sqrt(features.reduce((sum, { value }) => sum + value * value, 0)) || 1;
        for (const feature of features) feature.value /= norm;
      }
      return features;
    };
  },
  // text/matching.py: 1 where the text has the n-gram. From every place the tree of the model's n-grams is followed as
  // far as it goes, which finds what the automaton there finds.
  ngrams({ settings }, names) {
    const root = { next: new Map(), name: null };
    for (const name of names) {
      let node = root;
      for (const term of settings.tokens === "char" ? Array.from(name) : name.split(" ")) {
        if (!node.next.has(term)) node.next.set(term, { next: new Map(), name: null });
        node = node.next.get(term);
      }
      node.name = name;
    }
    return (terms) => {
      const found = new Map();
      terms.forEach(([start], first) => {
        let node = root;
        for (let i = first; i < terms.length; i++) {
          node = node.next.get(terms[i][2]);
          if (node === undefined) break;
          if (node.name === null) continue;
          if (!found.has(node.name)) found.set(node.name, []);
          found.get(node.name).push([start, terms[i][1]]);
        }
      });
      return [...found.keys()].sort(byCodePoint).map((name) => ({ name, value: 1, spans: found.get(name) }));
    };
  },
};

// The model's weights by row, always there. Of two exclusive classes that share a row, it is that of the second, and the
// first has it with the other sign.
function weightTable(data) {
  const ends = numbers(Int32Array, data.ptr);
  const index = numbers(Int32Array, data.index);
  const weights = numbers(data.single ? Float32Array : Float64Array, data.weights);
  const shared = data.classes.length - (ends.length - 1);
  const sided = (k) => [Math.max(k - shared, 0), k < shared ? -1 : 1]; // of a class: its row, and the sign
  return {
    names: data.names,
    rows: ends.length - 1,
    sided,
    ends,
    index,
    weights,
    intercepts: numbers(Float64Array, data.intercepts),
    thresholds: numbers(Float64Array, data.thresholds),
    // [name, weight] of a class, heaviest first
    words(one) {
      const words = [];
      const [row, sign] = sided(one);
      for (let k = ends[row]; k < ends[row + 1]; k++) words.push([data.names[index[k]], sign * weights[k]]);
      return words.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]) || byCodePoint(a[0], b[0]));
    },
  };
}

// The same weights by feature: those of feature j are at begin[j] to begin[j + 1], with their rows in order.
function byFeature({ names, rows: count, ends, index, weights: given }) {
  const begin = new Int32Array(names.length + 1);
  for (const j of index) begin[j + 1]++;
  for (let j = 0; j < names.length; j++) begin[j + 1] += begin[j];
  const next = begin.slice();
  const [rows, weights] = [new Int32Array(index.length), new Float64Array(index.length)];
  for (let row = 0; row < count; row++) {
    for (let k = ends[row]; k < ends[row + 1]; k++) {
      const at = next[index[k]]++;
      rows[at] = row;
      weights[at] = given[k];
    }
  }
  return { begin, rows, weights };
}

// A classifier in this page: classify(text) gives every class, explain(text, class) the words behind it.
function localModel(data, table, snowball) {
  const read = reader(data.live, snowball);
  const featuresOf = KINDS[data.live.kind](data.live, table.names);
  const column = new Map(table.names.map((name, j) => [name, j]));
  const { begin, rows, weights } = byFeature(table);
  let last = { given: null };

  function scored(given) {
    if (last.given === given) return last;
    const { text, terms } = read(given);
    const features = featuresOf(terms);
    const scores = new Array(table.rows).fill(0);
    for (const { name, value } of features) {
      const j = column.get(name);
      if (j !== undefined) for (let k = begin[j]; k < begin[j + 1]; k++) scores[rows[k]] += value * weights[k];
    }
    for (let row = 0; row < table.rows; row++) scores[row] += table.intercepts[row];
    const [link, number] = data.model.link.split(":");
    last = { given, text, features, scores, proba: LINKS[link](scores, Number(number)) };
    return last;
  }

  async function classify(given, promise = { kind: null }) {
    const { scores, proba } = scored(given);
    return promised(classesOf(data.model, table.thresholds, scores, proba), promise, data.promises, data.model.exclusive);
  }

  async function explain(given, one) {
    const { text, features, scores } = scored(given);
    const weight = new Map(table.words(one.row));
    const [row, sign] = table.sided(one.row);
    const contributions = features
      .filter(({ name, value }) => weight.has(name) && value)
      .map(({ name, value, spans }) => ({ feature: name, contribution: value * weight.get(name), spans }));
    contributions.sort(
      (a, b) => Math.abs(b.contribution) - Math.abs(a.contribution) || byCodePoint(a.feature, b.feature),
    );
    return { text, score: sign * scores[row], intercept: sign * table.intercepts[row], contributions };
  }

  return { classify, explain };
}

// LinearModel.decide for one text: [{name, row, probability, chosen}], a class each.
function classesOf({ classes, exclusive, decision, link, coupling }, thresholds, scores, proba) {
  const member = (row) => {
    if (decision === "threshold") return scores[row] > thresholds[row];
    // The best expected F1 of one text: p for yes, 1 - p for no.
    return proba[row] > 0 && proba[row] >= Math.max(proba[row], 1 - proba[row]) * (1 - 1e-12) && thresholds[row] < Infinity;
  };
  if (exclusive && scores.length === 1) {
    const yes = member(0);
    return classes.map((name, k) => ({ name, row: k, probability: k ? proba[0] : 1 - proba[0], chosen: yes === (k === 1) }));
  }
  let best = 0;
  const open = (row) => (thresholds[row] < Infinity ? scores[row] : -Infinity);
  for (let row = 1; row < scores.length; row++) if (open(row) > open(best)) best = row;
  const own = exclusive && link !== "softmax" ? coupled(coupling, link, scores, proba) : proba;
  return classes.map((name, row) => ({
    name, row, probability: own[row], chosen: exclusive ? row === best : member(row),
  }));
}

// Coupling.logits: p_k ∝ e^(u s_k) F(s_k)^v.
function coupled([u, v], link, scores, proba) {
  const lnF = (s, p) => {
    if (link === "logit") return Math.min(s, 0) - Math.log1p(Math.exp(-Math.abs(s)));
    return link === "cloglog" && s < -18 ? s : Math.log(p);
  };
  const logits = Array.from(scores, (s, row) => u * s + v * lnF(s, proba[row]));
  const top = logits.reduce((most, one) => Math.max(most, one), -Infinity);
  if (top === -Infinity) return logits.map(() => 1 / logits.length);
  const powers = logits.map((one) => Math.exp(one - top));
  const total = powers.reduce((sum, one) => sum + one, 0);
  return powers.map((one) => one / total);
}
