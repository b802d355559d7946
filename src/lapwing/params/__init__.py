"""Every parameter once: name, type, default, what it says in help, where it stands there, and what values it takes.

the table ──→ settings (classes that add what hangs on several parameters, and what follows from them)
          ──→ options of the commands, and their help
          ──→ signatures of the estimators, by scripts/signatures.py
          ──→ the settings in a model file, and the command that makes it again
"""

from lapwing.params.parameter import about, check_choices, checked, described, flat, flat_names, parameter, taken, whole
from lapwing.params.reading import ReadParameters
from lapwing.params.serving import ServeParameters
from lapwing.params.table import (
    CrossValidationParameters,
    NgramParameters,
    TextParameters,
    TrainParameters,
)

__all__ = [
    "CrossValidationParameters",
    "NgramParameters",
    "ReadParameters",
    "ServeParameters",
    "TextParameters",
    "TrainParameters",
    "about",
    "check_choices",
    "checked",
    "described",
    "flat",
    "flat_names",
    "parameter",
    "taken",
    "whole",
]
