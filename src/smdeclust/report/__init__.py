"""The HTML report of a clustering: one file, complete in itself."""

from smdeclust.report.page import Content, render_report

__all__ = ["Content", "render_report"]
