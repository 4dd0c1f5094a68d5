"""Scenarios: where instances come from."""
