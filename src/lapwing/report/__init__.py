"""The report: one HTML file about a model that opens anywhere, with a box to try texts in."""

from lapwing.report.contents import Contents, Rival, read_documents
from lapwing.report.live import refusal
from lapwing.report.page import page
from lapwing.report.path import category_to_follow, coefficient_path

__all__ = ["Contents", "Rival", "category_to_follow", "coefficient_path", "page", "read_documents", "refusal"]
