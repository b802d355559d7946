"""A model as one JavaScript module without dependencies: the code by which the report classifies, and the tables."""

from __future__ import annotations

from lapwing.errors import InputError
from lapwing.model import LinearModel
from lapwing.reporting.live import refusal, text_tables, weight_tables
from lapwing.reporting.page import embedded, static
from lapwing.reporting.snowball import script

HEAD = """// A classifier of texts, exported by lapwing. No dependencies; for browsers and for Node.
//
//   import { classify, explain, classes } from "./model.mjs";
//   await classify("a text")         // [{ name, probability, chosen }], a class each
//   await explain("a text", name)    // what spoke for and against: { contributions: [{ feature, contribution }] }
"""
TAIL = """
const promised = (found) => found;
const table = weightTable(data.model);
const model = localModel(data, table, snowball);

export const classes = data.model.classes;

export async function classify(text) {
  const found = await model.classify(text);
  return found.map(({ name, probability, chosen }) => ({ name, probability, chosen }));
}

export async function explain(text, name) {
  const one = (await model.classify(text)).find((other) => other.name === name);
  if (one === undefined) throw new RangeError(`expected one of the classes ${classes.join(", ")}, got ${name}`);
  const { score, intercept, contributions } = await model.explain(text, one);
  const parts = contributions.map(({ feature, contribution }) => ({ feature, contribution }));
  return { name, probability: one.probability, score, intercept, contributions: parts };
}
"""


def javascript(model: LinearModel) -> str:
    """The text of the module; an InputError where JavaScript has no counterpart of something in the model."""
    if (reason := refusal(model)) is not None:
        raise InputError(f"this model cannot be exported to JavaScript: {reason.replace('the page', 'JavaScript')}")
    live = text_tables(model)
    stems = script(live["stemmer"]) if live["stemmer"] else "const snowball = null;\n"
    data = embedded({"model": weight_tables(model), "live": live})
    return f"{HEAD}\n{stems}\n{static('text.js')}\n{static('model.js')}\nconst data = {data};\n{TAIL}"
