"""The scikit-learn face: estimators that drop into pipelines and grid searches."""

from lapwing.estimators.map_classifier import MAPClassifier
from lapwing.estimators.ngram_classifier import NgramClassifier
from lapwing.estimators.selected_ridge import SelectedRidgeClassifier
from lapwing.estimators.text_classifier import TextClassifier
from lapwing.estimators.vectorizer import LogTfidfVectorizer

__all__ = ["LogTfidfVectorizer", "MAPClassifier", "NgramClassifier", "SelectedRidgeClassifier", "TextClassifier"]
