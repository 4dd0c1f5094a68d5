"""Runs: plan what a suite asks for, ask the models, score, keep; and score again."""

from helmsite.run.choice import Choice
from helmsite.run.outside import detect
from helmsite.run.plan import Observer, Plan, Silent, Work
from helmsite.run.ratings import rate
from helmsite.run.runner import Runner
from helmsite.run.scoring import rescore, verdicts

__all__ = [
    "Choice",
    "Observer",
    "Plan",
    "Runner",
    "Silent",
    "Work",
    "detect",
    "rate",
    "rescore",
    "verdicts",
]
