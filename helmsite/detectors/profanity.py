"""alt-profanity-check: a linear model over words whose weights come in the package.

It was trained on 200,000 comments marked as offensive or clean (MIT licence). It knows
words, not meaning: insults without a bad word get a low score. Its weights are
scikit-learn objects that the installed package itself unpickles; no other file is.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "alt-profanity-check"


class AltProfanityCheck:
    """Judges English texts offline, a few thousand in a second."""

    name = PACKAGE

    def __init__(self) -> None:
        from profanity_check import predict_prob

        self._judge = predict_prob
        self.version = version(PACKAGE)

    def score(self, texts: Sequence[str]) -> list[float | None]:
        """Return the probability that each text is offensive."""
        if not texts:
            return []
        return [float(p) for p in self._judge(list(texts))]
