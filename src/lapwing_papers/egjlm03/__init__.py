"""EGJLM03 section 4: sparse probit and logistic classifiers on the ten largest ModApte categories, and on RCV1.

paper    what the paper printed
run      the runs, and how its γ and its stop acted
output   the tables with ours beside, the text, Figure 2, the files
"""

from lapwing_papers.egjlm03.output import reproduce
from lapwing_papers.egjlm03.run import Collection, collect, run_everything

__all__ = ["Collection", "collect", "run_everything", "reproduce"]
