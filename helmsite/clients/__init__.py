"""Clients: models that answer requests."""
