"""The report: one HTML file about a model that opens anywhere, with a box to try texts in."""

from lapwing.report.contents import Contents, Rival, read_documents
from lapwing.report.live import refusal
from lapwing.report.page import page

__all__ = ["Contents", "Rival", "page", "read_documents", "refusal"]
