"""Questions to an archive, answered by DuckDB."""

from helmsite.query.results import Results

__all__ = ["Results"]
