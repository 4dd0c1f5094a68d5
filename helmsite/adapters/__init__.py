"""Adapters: how instances become requests."""
