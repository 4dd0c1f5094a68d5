"""Runs as Every Eval Ever keeps them, version 0.3.0 of its schema."""

from helmsite.exporters.every_eval_ever.aggregate import Publisher
from helmsite.exporters.every_eval_ever.exporter import Exported, export

__all__ = ["Exported", "Publisher", "export"]
