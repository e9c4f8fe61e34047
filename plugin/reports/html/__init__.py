"""The report as one HTML page that needs nothing but itself."""

from .page import html_report

__all__ = ["html_report"]
