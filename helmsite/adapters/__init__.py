"""From instances to the requests that are sent to a model: HELM's adapters."""

from helmsite.adapters.adapt import adapt
from helmsite.adapters.examples import eval_instances, in_context_examples
from helmsite.adapters.window import Window

__all__ = ["Window", "adapt", "eval_instances", "in_context_examples"]
