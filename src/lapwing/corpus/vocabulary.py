"""The name under which `lapwing_formats.vocabulary` was first documented."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("lapwing_formats.vocabulary")
