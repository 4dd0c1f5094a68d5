"""Every Eval Ever: aggregate files (JSON) and samples (JSONL), versions 0.0.1 to 0.3.0."""
