"""Tables of results whose columns a mapping explains: CSV, JSONL, JSON arrays, Parquet."""
