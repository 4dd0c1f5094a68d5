"""Executors: how requests are spread over workers."""

from helmsite.executors.local import LocalExecutor, RetryPolicy

__all__ = ["LocalExecutor", "RetryPolicy"]
