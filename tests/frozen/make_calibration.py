"""Calibration figures by the library that HELM uses, frozen in calibration.json.

Inputs are drawn here: sizes from 1 to 400, probabilities with and without ties, on bin
edges, at 0 and 1, all right and all wrong. They are evaluated by the functions that
crfm-helm calls (package crfm-helm's dependency `uncertainty-calibration`), in an
environment of its own:

    helm-env/bin/python tests/frozen/make_calibration.py

numpy's default argsort, which the library uses to rank by confidence, leaves the order of
equal probabilities open. We keep the order of the instances; figures of a case with ties
are therefore frozen for both: `selective` as the library gave it on the machine where
this ran, `selective_stable` with the library's sort made stable.

`platt` is slope, intercept and the two errors after Platt scaling, with the rule that
crfm-helm puts before it: none of the first two, and errors of 0, where all are right or
all are wrong.
"""

import json
import random
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import calibration as cal  # type: ignore[import-not-found]
import numpy as np


def cases() -> list[tuple[str, list[float], list[int]]]:
    draw = random.Random("calibration")
    found: list[tuple[str, list[float], list[int]]] = [
        ("one right", [0.7], [1]),
        ("one wrong", [0.7], [0]),
        ("certain", [1.0] * 12, [1, 0] * 6),
        ("hopeless", [0.0] * 12, [1, 0] * 6),
        ("all equal", [0.25] * 23, [int(i % 3 == 0) for i in range(23)]),
        ("all right", [i / 40 for i in range(1, 40)], [1] * 39),
        ("all wrong", [i / 40 for i in range(1, 40)], [0] * 39),
        ("two values", [0.25, 0.75] * 15, [0, 1, 1] * 10),
        # the middle of neighbouring parts is itself a value
        ("on an edge", [0.25, 0.5, 0.5, 0.75] * 5, [1, 0, 1, 1] * 5),
    ]
    for n in (2, 3, 5, 8, 9, 10, 11, 19, 20, 21, 57, 100, 101, 400):
        p = [draw.random() for _ in range(n)]
        found.append((f"uniform {n}", p, [int(draw.random() < x) for x in p]))
        p = [draw.choice((0.1, 0.2, 0.5, 0.9, 1.0)) for _ in range(n)]
        found.append((f"ties {n}", p, [int(draw.random() < 0.6) for _ in p]))
        p = [round(draw.betavariate(5, 1), 2) for _ in range(n)]
        found.append((f"confident {n}", p, [int(draw.random() < x**3) for x in p]))
    return found


def selective(p: list[float], y: list[int]) -> list[float]:
    return [float(value) for value in cal.get_selective_stats(p, y)]


def platt(p: list[float], y: list[int]) -> list[float | None]:
    if len(set(y)) == 1:
        return [None, None, 0.0, 0.0]
    scale, fitted = cal.get_platt_scaler(np.array(p), np.array(y), get_clf=True)
    scaled = scale(np.array(p))
    return [
        float(fitted.coef_[0][0]),
        float(fitted.intercept_[0]),
        float(cal.get_ece_em(scaled, y, num_bins=10)),
        float(cal.get_ece(scaled, y, num_bins=1)),
    ]


def main() -> None:
    argsort = np.argsort
    rows = []
    for name, p, y in cases():
        with mock.patch.object(
            np, "argsort", lambda a, **options: argsort(a, kind="stable")
        ):
            stable = selective(p, y)
        rows.append(
            {
                "name": name,
                "max_prob": p,
                "exact_match": y,
                "ece_10_bin": float(cal.get_ece_em(p, y, num_bins=10)),
                "ece_1_bin": float(cal.get_ece(p, y, num_bins=1)),
                "selective": selective(p, y),
                "selective_stable": stable,
                "platt": platt(p, y),
            }
        )
    lines = ",\n".join(json.dumps(row) for row in rows)
    place = Path(__file__).with_name("calibration.json")
    packages = ("uncertainty-calibration", "scikit-learn")
    source = ", ".join(f"{name} {version(name)}" for name in packages)
    place.write_text(
        f'{{"source": "{source}",\n"cases": [\n{lines}\n]}}\n', encoding="utf-8"
    )


if __name__ == "__main__":
    main()
