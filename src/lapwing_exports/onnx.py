"""A model as an ONNX graph, from counts of terms on.

Inputs of a model of words, of n documents:

    counts    (n, t) double: how often each term of the model stands in each document; the terms are the metadata
              `terms`
    unknown   (n, u) double: how often each of the other terms does, in any order; 0 where there are fewer. They count
              in the norm of a document and nowhere else

of a model of n-grams of any length `present` (n, d), 0 or 1, and of a model of vectors `features` (n, d).
Outputs: scores (n, rows), probabilities (n, classes), chosen (n, classes) bool.

No operator of ONNX or of onnxruntime-extensions folds, cuts and stems words by lapwing's table, so that part stays
outside: `lapwing.exporting.onnx_inputs` does it in Python, and the exports to JavaScript and Python in theirs.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from lapwing.errors import InputError, MissingExtraError
from lapwing.model import LinearModel
from lapwing.text.matching import NgramWeighting
from lapwing.text.weighting import idf

OPSET, IR = 17, 8
MOST = 2**27  # numbers: a graph is one message of at most 2 GB


class Graph:
    """Nodes, one after the other; every method adds one and gives the name of what comes out."""

    def __init__(self, helper: Any) -> None:
        self.helper, self.nodes, self.constants = helper, [], []  # type: ignore[var-annotated]

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def __call__(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"n{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output


def onnx_bytes(model: LinearModel) -> bytes:
    """The graph as a file."""
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise MissingExtraError(
            "ONNX needs onnx, which is not installed; get it with: pip install 'lapwing[onnx]'"
        ) from error
    _check(model)
    graph = Graph(helper)
    inputs, features, terms = _features(model, graph)
    used, column = np.unique(model.weights.indices, return_inverse=True)
    weights = np.zeros((len(used), len(model.intercepts)))
    row = np.repeat(np.arange(len(model.intercepts)), np.diff(model.weights.indptr))
    weights[column, row] = model.weights.data
    chosen = graph("Gather", features, graph.constant(used, np.int64), axis=1)
    sums = graph("MatMul", chosen, graph.constant(weights))
    scores = graph("Add", sums, graph.constant(model.intercepts), output="scores")
    _decide(model, graph, scores, _probabilities(model, graph, scores))
    double, width = TensorProto.DOUBLE, len(model.classes)
    outputs = [
        helper.make_tensor_value_info("scores", double, ["n", len(model.intercepts)]),
        helper.make_tensor_value_info("probabilities", double, ["n", width]),
        helper.make_tensor_value_info("chosen", TensorProto.BOOL, ["n", width]),
    ]
    given = [helper.make_tensor_value_info(name, double, ["n", size]) for name, size in inputs.items()]
    network = helper.make_graph(graph.nodes, "lapwing", given, outputs, graph.constants)
    whole = helper.make_model(
        network, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="lapwing", ir_version=IR
    )
    for key, value in (("classes", [str(label) for label in model.classes]), ("terms", terms)):
        entry = whole.metadata_props.add()
        entry.key, entry.value = key, json.dumps(value, ensure_ascii=False)
    return bytes(whole.SerializeToString())


def _check(model: LinearModel) -> None:
    width = len(np.unique(model.weights.indices)) * len(model.intercepts)
    if width > MOST:
        raise InputError(f"ONNX has no sparse matrices, and {width:,} weights, zeros included, do not fit into a graph")
    if model.link == "probit" and model.exclusive and len(model.intercepts) > 1:
        raise InputError("ONNX has no tail of the normal distribution, by which these classes share their probability")
    if model.link.startswith("robit:"):
        raise InputError("ONNX has no Student's distribution, which the link robit is; export to python or js")
    if model.decision != "threshold":
        raise InputError("this model decides on all documents of a batch together, which a graph cannot")


def _features(model: LinearModel, graph: Graph) -> tuple[dict[str, Any], str, list[str]]:
    """(inputs and their widths, the model's columns, the names of what is counted)."""
    weighting, names = model.weighting, [str(name) for name in model.feature_names]
    if weighting is None or isinstance(weighting, NgramWeighting):
        name = "features" if weighting is None else "present"
        return {name: len(names)}, name, names
    settings = weighting.settings
    rarest = idf(np.zeros(1, dtype=np.int64), weighting.n_documents, settings)[0]
    inverse = idf(weighting.document_frequency, weighting.n_documents, settings)
    known = graph("Mul", _tf(graph, "counts", settings.tf), graph.constant(inverse))
    if settings.cosine:
        unknown = graph("Mul", _tf(graph, "unknown", settings.tf), graph.constant(rarest))
        axis = graph.constant([1], np.int64)
        squares = [graph("ReduceSum", graph("Mul", one, one), axis, keepdims=1) for one in (known, unknown)]
        norm = graph("Sqrt", graph("Add", *squares))
        nothing = graph("Equal", norm, graph.constant(0.0))
        known = graph("Div", known, graph("Where", nothing, graph.constant(1.0), norm))
    columns = graph("Gather", known, graph.constant(weighting.columns, np.int64), axis=1)
    widths = {"counts": len(weighting.terms)} | ({"unknown": "u"} if settings.cosine else {})
    return widths, columns, list(weighting.terms)


def _tf(graph: Graph, counts: str, kind: str) -> str:
    if kind == "raw":
        return counts
    one, zero = graph.constant(1.0), graph.constant(0.0)
    there = graph("Greater", counts, zero)
    if kind == "binary":
        return graph("Where", there, one, zero)
    logarithm = graph("Log", graph("Where", there, counts, one))
    return graph("Where", there, graph("Add", logarithm, one), zero)


def _probabilities(model: LinearModel, graph: Graph, scores: str) -> str:
    """(n, rows) probabilities of rows by themselves, and those of the classes under their name."""
    from onnx import TensorProto

    if model.link == "softmax":
        return graph("Softmax", scores, axis=1, output="probabilities")
    several = model.exclusive and len(model.intercepts) > 1
    if model.link == "probit":
        scaled = graph("Cast", graph("Mul", scores, graph.constant(np.sqrt(0.5))), to=TensorProto.FLOAT)
        erf = graph("Cast", graph("Erf", scaled), to=TensorProto.DOUBLE)  # which runtimes have in single precision only
        own = graph("Mul", graph("Add", erf, graph.constant(1.0)), graph.constant(0.5))
    elif model.link == "cloglog":
        own = graph("Sub", graph.constant(1.0), graph("Exp", graph("Neg", graph("Exp", scores))))
    else:
        own = graph("Sigmoid", scores, **({} if model.exclusive else {"output": "probabilities"}))
    if not model.exclusive:
        return own if model.link == "logit" else graph("Identity", own, output="probabilities")
    if several:
        u, v = model.coupling
        log_f = _log_extreme(graph, scores) if model.link == "cloglog" else _log_sigmoid(graph, scores)
        parts = graph("Mul", scores, graph.constant(u)), graph("Mul", log_f, graph.constant(v))
        return graph("Softmax", graph("Add", *parts), axis=1, output="probabilities")
    return graph("Concat", graph("Sub", graph.constant(1.0), own), own, axis=1, output="probabilities")


def _log_sigmoid(graph: Graph, scores: str) -> str:
    """ln F(s) = min(s, 0) - ln(1 + e^-|s|)"""
    tail = graph("Log", graph("Add", graph("Exp", graph("Neg", graph("Abs", scores))), graph.constant(1.0)))
    return graph("Sub", graph("Min", scores, graph.constant(0.0)), tail)


def _log_extreme(graph: Graph, scores: str) -> str:
    """ln(1 - e^-u), u = e^s; where u is small s - u/2."""
    u, small = graph("Exp", scores), graph.constant(1e-6)
    powers = graph("Exp", graph("Neg", graph("Max", u, small)))
    large = graph("Log", graph("Sub", graph.constant(1.0), powers))
    return graph("Where", graph("Less", u, small), graph("Sub", scores, graph("Mul", u, graph.constant(0.5))), large)


def _decide(model: LinearModel, graph: Graph, scores: str, own: str) -> None:
    if not (model.exclusive and len(model.intercepts) > 1):
        over = graph("Greater", scores, graph.constant(model.thresholds))
        if model.exclusive:
            graph("Concat", graph("Not", over), over, axis=1, output="chosen")
        else:
            graph("Identity", over, output="chosen")
        return
    closed = np.where(model.thresholds < np.inf, 0.0, -np.inf)
    best = graph("ArgMax", graph("Add", scores, graph.constant(closed)), axis=1, keepdims=1)
    graph("Equal", best, graph.constant(np.arange(len(model.classes))[None, :], np.int64), output="chosen")
