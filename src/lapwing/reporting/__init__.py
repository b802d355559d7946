"""The report: one HTML file about a model that opens anywhere, with a box to try texts in."""

from lapwing.reporting.contents import Contents, Rival, read_documents
from lapwing.reporting.live import refusal
from lapwing.reporting.page import page
from lapwing.reporting.report import Report, report

__all__ = ["Contents", "Report", "Rival", "page", "read_documents", "refusal", "report"]
