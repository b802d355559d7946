"""How much words named in advance help when few documents have labels (what GLM07 section 7 and EGJLM03 asked for).

words    what is known of the categories: their names and descriptions
run      draws of few positive documents, fitted with and without that knowledge
output   tables and picture
"""

from lapwing_papers.fewlabel.output import reproduction, table_of
from lapwing_papers.fewlabel.run import SIZES, Curves, learning_curves
from lapwing_papers.fewlabel.words import descriptions

__all__ = ["SIZES", "Curves", "descriptions", "learning_curves", "reproduction", "table_of"]
