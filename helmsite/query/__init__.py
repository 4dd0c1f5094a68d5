"""Questions to an archive, answered by DuckDB."""

from helmsite.query.results import Results
from helmsite.query.summarise import summarise

__all__ = ["Results", "summarise"]
