"""Evaluate language models, keep every raw output, publish results anyone can browse."""

__version__ = "0.1.0"
