"""The HTML report of a clustering: one file, complete in itself."""

from smdeclust.report.content import Content
from smdeclust.report.page import render_report

__all__ = ["Content", "render_report"]
