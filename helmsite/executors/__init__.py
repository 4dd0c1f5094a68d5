"""Executors: how requests are spread over workers."""
