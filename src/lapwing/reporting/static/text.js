// Text to tokens, by the same versioned table as lapwing.text: see text/table.py and text/tokens.py.
// Places in a text count code points, as Python's do.

const [SEPARATOR, LETTER, DIGIT, SINGLE, MARK, IGNORABLE, SPACE] = [0, 1, 2, 3, 4, 5, 6];

function tokenTable({ runs, lower }) {
  const classes = new Uint8Array(0x110000);
  for (let i = 0; i < runs.length; i += 3) classes.fill(runs[i + 2], runs[i], runs[i + 1] + 1);
  const folded = new Map();
  for (let i = 0; i < lower.length; i += 2) folded.set(lower[i], lower[i + 1]);
  return { classes, fold: (code) => folded.get(code) ?? code };
}

const codePoints = (text) => Array.from(text, (letter) => letter.codePointAt(0));

const spell = (codes) => {
  let word = "";
  for (const code of codes) word += String.fromCodePoint(code);
  return word;
};

// Every token with where it starts and ends: call(start, end, token).
function eachToken(codes, settings, table, call) {
  const cut = { word: eachWord, char: eachLetter, ready: eachReady }[settings.tokens];
  cut(codes, settings, table, call);
}

// A run of letters (and digits) with the marks among them, or a `single` with its marks; ignorables are dropped.
function eachWord(codes, settings, { classes, fold }, call) {
  const inside = (kind) => kind === LETTER || (kind === DIGIT && settings.digits);
  const extends_ = (kind) => kind === MARK || kind === IGNORABLE;
  for (let i = 0; i < codes.length; ) {
    const first = classes[codes[i]];
    if (!inside(first) && first !== SINGLE) {
      i += 1;
      continue;
    }
    const start = i;
    const letters = [fold(codes[i++])];
    for (; i < codes.length; i++) {
      const kind = classes[codes[i]];
      if (!extends_(kind) && (first === SINGLE || !inside(kind))) break;
      if (kind !== IGNORABLE) letters.push(fold(codes[i]));
    }
    call(start, i, spell(letters));
  }
}

// Every code point; a run of white space is one blank.
function eachLetter(codes, settings, { classes, fold }, call) {
  for (let i = 0; i < codes.length; ) {
    const kind = classes[codes[i]];
    const start = i++;
    if (kind === SPACE) {
      while (i < codes.length && (classes[codes[i]] === SPACE || classes[codes[i]] === IGNORABLE)) i += 1;
      call(start, i, " ");
    } else if (kind !== IGNORABLE) {
      call(start, i, String.fromCodePoint(fold(codes[start])));
    }
  }
}

// What stands between white space, as it is.
function eachReady(codes, settings, { classes }, call) {
  for (let i = 0; i < codes.length; ) {
    if (classes[codes[i]] === SPACE) {
      i += 1;
      continue;
    }
    const start = i;
    while (i < codes.length && classes[codes[i]] !== SPACE) i += 1;
    call(start, i, spell(codes.slice(start, i)));
  }
}

// Snowball's JavaScript counts UTF-16 units where its C counts code points: what takes two units stands in as one.
function stemmer(snowball, longest) {
  const known = new Map();
  return (word) => {
    if (longest !== null && codePoints(word).length > longest) return word;
    let stem = known.get(word);
    if (stem === undefined) {
      const far = [];
      const near = word.replace(/[\u{10000}-\u{10ffff}]/gu, (letter) => {
        if (!far.includes(letter)) far.push(letter);
        return String.fromCharCode(0xe000 + far.indexOf(letter));
      });
      const stand = far.length > 0 && !/[\ue000-\uf8ff]/.test(word);
      stem = snowball.stemWord(stand ? near : word);
      if (stand) stem = stem.replace(/[\ue000-\uf8ff]/g, (unit) => far[unit.charCodeAt(0) - 0xe000] ?? unit);
      known.set(word, stem);
    }
    return stem;
  };
}

// text/tokens.py strip_html. (?=(…))\1 is a possessive group; white space is ASCII's.
const MARKUP = new RegExp(
  [
    "<!-" + "-[^]*?(?:-->|$)", // in one piece it would open a comment in the page that holds this script
    "<(script|style)(?:[ \\t\\n\\r\\f\\v][^<>]*)?(?<!/)>[^]*?(?:</\\1[^<>]*>|$)",
    "<[a-z/!?](?=((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*))\\2>",
    "<[a-z/!?][^<>]*>",
  ].join("|"),
  "gi",
);

// Python's html.unescape, with its table of names.
function unescapeHtml(text, { names, numbers, dropped }) {
  if (!text.includes("&")) return text;
  return text.replace(/&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)/gu, (whole, reference) => {
    if (reference[0] === "#") {
      const hex = reference[1] === "x" || reference[1] === "X";
      const digits = reference.slice(hex ? 2 : 1).replace(/;$/, "");
      const code = parseInt(digits, hex ? 16 : 10);
      if (code in numbers) return numbers[code];
      if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return "\ufffd";
      return dropped.some(([first, last]) => first <= code && code <= last) ? "" : String.fromCodePoint(code);
    }
    if (Object.hasOwn(names, reference)) return names[reference];
    for (let end = reference.length - 1; end > 1; end--) {
      const start = reference.slice(0, end);
      if (Object.hasOwn(names, start)) return names[start] + reference.slice(end);
    }
    return whole;
  });
}

const stripHtml = (text, entities) => unescapeHtml(text.replace(MARKUP, " "), entities);
