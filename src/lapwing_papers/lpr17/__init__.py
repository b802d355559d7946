"""LPR17: a simulation study of CLG and CLG-lasso against maximum likelihood.

paper        what the paper printed
simulation   data, methods, and all draws of all cells
output       tables, figures, text, page and files
"""

from lapwing_papers.lpr17.output import reproduce
from lapwing_papers.lpr17.simulation import Draw, run_everything

__all__ = ["Draw", "reproduce", "run_everything"]
