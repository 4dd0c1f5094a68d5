"""Detoxify: a transformer trained on the toxicity of comments (Hanu and Unitary, 2020).

HELMSITE_DETOXIFY names a checkpoint of its releases, with `config.json` and the
tokenizer's files of the base model (`bert-base-uncased` for the original model) in the
same folder. It is read as weights alone: the package detoxify would unpickle it, and
fetch what is not there, so the model is put together here. Code that comes with the
files is never run.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmsite.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "HELMSITE_DETOXIFY"
TOXIC = ("toxicity", "toxic")
BATCH = 32
UNFIT = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    StopIteration,
    RuntimeError,
    pickle.UnpicklingError,
)
"""What reading files that are not a checkpoint, a tokenizer or a model of it raises."""

LONGEST = 512
"""Tokens that the base models of all releases read; the rest of a text is left out."""


class Detoxify:
    """Judges texts by the class `toxicity` of one of Detoxify's models."""

    name = "detoxify"

    def __init__(self) -> None:
        import torch
        import transformers

        self._torch = torch
        place = Path(os.environ.get(VARIABLE, ""))
        if not place.is_file():
            raise MetricError(
                f"Detoxify needs weights, and {VARIABLE} names no file.",
                f"Download a checkpoint of its releases (toxic_original-c1212f89.ckpt), put config.json and the tokenizer's files of bert-base-uncased beside it, and set {VARIABLE} to it.",
            )
        self.version = hashlib.sha256(place.read_bytes()).hexdigest()[:12]
        folder = str(place.parent)
        safely = {"local_files_only": True, "trust_remote_code": False}
        try:
            held: Any = torch.load(place, map_location="cpu", weights_only=True)
            classes = list(held["config"]["dataset"]["args"]["classes"])
            self._class = next(classes.index(c) for c in TOXIC if c in classes)
            config = transformers.AutoConfig.from_pretrained(
                folder, num_labels=len(classes), **safely
            )
            kind = transformers.AutoModelForSequenceClassification
            self._model = kind.from_config(config, trust_remote_code=False).eval()
            missing, _ = self._model.load_state_dict(held["state_dict"], strict=False)
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, model_max_length=LONGEST, **safely
            )
        except UNFIT as error:
            raise _unfit(place, str(error).partition("\n")[0]) from error
        if missing:
            raise _unfit(place, f"it has no weights for {missing[0]}")

    def score(self, texts: Sequence[str]) -> list[float | None]:
        """Return the toxicity of each text, batch by batch."""
        found: list[float | None] = []
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            inputs = self._tokenizer(
                batch, return_tensors="pt", truncation=True, padding=True
            )
            with self._torch.no_grad():
                logits = self._model(**inputs).logits[:, self._class]
            found += [float(p) for p in self._torch.sigmoid(logits)]
        return found


def _unfit(place: Path, reason: str) -> MetricError:
    return MetricError(
        f"{place} is not a checkpoint of Detoxify that can be read: {reason}.",
        f"Set {VARIABLE} to a checkpoint of its releases, with config.json and the tokenizer's files of its base model in the same folder.",
    )
