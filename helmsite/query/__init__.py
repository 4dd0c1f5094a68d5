"""Questions to an archive, answered by DuckDB."""
