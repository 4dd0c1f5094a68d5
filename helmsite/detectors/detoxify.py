"""Detoxify: a transformer trained on the toxicity of comments (Hanu and Unitary, 2020).

Its weights are not in the package: Detoxify downloads them, or reads a checkpoint that
HELMSITE_DETOXIFY names (a .ckpt file of its releases, with the tokenizer and the
configuration of the base model in the same folder), which needs no network.
"""

from __future__ import annotations

import hashlib
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmsite.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "HELMSITE_DETOXIFY"
MODEL = "original"
BATCH = 32


class Detoxify:
    """Judges English texts by the `toxicity` of Detoxify's original model."""

    name = "detoxify"

    def __init__(self) -> None:
        import detoxify

        checkpoint = os.environ.get(VARIABLE, "")
        options: dict[str, Any] = {"model_type": MODEL}
        what = MODEL
        if checkpoint:
            place = Path(checkpoint)
            if not place.is_file():
                raise MetricError(
                    f"{VARIABLE} names {checkpoint}, which is no file.",
                    "Set it to a checkpoint of Detoxify's releases, such as toxic_original-c1212f89.ckpt.",
                )
            options |= {
                "checkpoint": str(place),
                "huggingface_config_path": str(place.parent),
            }
            what = hashlib.sha256(place.read_bytes()).hexdigest()[:12]
        self.version = f"{version('detoxify')}:{what}"
        try:
            self._model = detoxify.Detoxify(**options)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise MetricError(
                f"Detoxify's weights cannot be loaded: {error}",
                f"Download a checkpoint of its releases and name it in {VARIABLE}.",
            ) from error

    def score(self, texts: Sequence[str]) -> list[float | None]:
        """Return the toxicity of each text, batch by batch."""
        found: list[float | None] = []
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            found += [float(p) for p in self._model.predict(batch)["toxicity"]]
        return found
