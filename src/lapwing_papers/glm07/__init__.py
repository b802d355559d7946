"""GLM07 sections 5 and 6: lasso, ridge and a linear SVM over every category of a corpus.

collection   the corpus as matrices: training and test part, categories
settings     which runs there are
run          the runs
paper        what the paper printed
tables, figures, output   what is made of them
"""

from lapwing_papers.glm07.collection import Collection, collect
from lapwing_papers.glm07.output import reproduce
from lapwing_papers.glm07.run import RunResult, run_everything

__all__ = ["Collection", "collect", "RunResult", "run_everything", "reproduce"]
