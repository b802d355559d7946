"""The figures that LPR17 printed."""

from __future__ import annotations

OBSERVATIONS = (200, 1000)
COVARIATES = (200, 400, 600, 800, 1000)

# Table 1: true values and estimates; how many observations there were is not said.
TRUE = (1.0, 0.3, 0.4, 0.0, 0.0)
LOW = {
    "ml": (0.9993, 0.2857, 0.4134, -0.0010, -0.0052),
    "ridge": (0.9640751, 0.2813006, 0.3988829, 0.0060046, -0.0038828),
    "lasso": (0.977402, 0.2852631, 0.4044002, 0.0060124, -0.0039610),
}

# Table 2: mean squared errors by (observations, covariates); None where the paper has NA.
_TABLE = """
200   200  0.155 0.151 260.7212
200   400  0.182 0.172 -
200   600  0.178 0.172 -
200   800  0.184 0.180 -
200  1000  0.190 0.186 -
1000  200  0.085 0.197 269.313
1000  400  0.113 0.091 14.788
1000  600  0.141 0.115 4.470
1000  800  0.151 0.125 3.569
1000 1000  0.165 0.146 213.925
"""
MSE: dict[tuple[int, int], dict[str, float | None]] = {}
for _n, _d, *_values in map(str.split, _TABLE.strip().splitlines()):
    _printed = (None if value == "-" else float(value) for value in _values)
    MSE[int(_n), int(_d)] = dict(zip(("ridge", "lasso", "ml"), _printed, strict=True))
