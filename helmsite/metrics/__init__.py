"""Metrics: verdicts on replies."""
