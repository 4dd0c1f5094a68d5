"""lighteval: details of samples in Parquet, and results in JSON."""
