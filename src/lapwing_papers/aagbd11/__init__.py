"""AAGBD11 section 4: lasso, ridge and Selected Ridge on the paper's collections.

paper       what it printed
collection  a corpus as its two parts, the way the paper made them
run         parameters by cross-validation, the fits, the sweep over α
output      tables, picture and page
"""

from lapwing_papers.aagbd11.output import reproduce

__all__ = ["reproduce"]
