"""OpenCompass: predictions, results and summaries of its work folders."""
