"""Minimum sum-of-squares clustering under strict must-link and cannot-link constraints."""

__version__ = "0.1.0"
