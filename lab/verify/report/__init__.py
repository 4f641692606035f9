"""A verification as one HTML page: read from the run's `verdict.json`, written beside it, whole in itself."""

from lab.verify.report.model import Report, parse, read
from lab.verify.report.page import render, write

__all__ = ["Report", "parse", "read", "render", "write"]
