"""Which instances are asked and which are shown: HELM's two draws."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from helmsite.schema import TEST, TRAIN, VALID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.schema import AdapterSpec, Instance

EVAL_SPLITS = (VALID, TEST)


def eval_instances(instances: Sequence[Instance], spec: AdapterSpec) -> list[Instance]:
    """Return the instances to ask, in the order in which HELM asks them.

    These are the valid and test instances (or those of `spec.eval_splits`) in the order
    of the data; where there are more than `max_eval_instances`, numpy draws that many
    with seed 0, and the order is that of the draw.
    """
    splits = EVAL_SPLITS if spec.eval_splits is None else spec.eval_splits
    pool = [instance for instance in instances if instance.split in splits]
    wanted = spec.max_eval_instances
    if wanted is None or len(pool) <= wanted:
        return pool
    draw = np.random.RandomState(0).choice(len(pool), wanted, replace=False)
    return [pool[i] for i in draw]


def in_context_examples(
    pool: Sequence[Instance], spec: AdapterSpec, trial: int
) -> list[Instance]:
    """Return the examples that all prompts of a trial share, as HELM draws them.

    Only training instances of the pool count. The trial is the seed. Labels (texts of
    the first correct references) take turns, the most frequent first, until there are
    `max_train_instances`; unlabelled instances fill what is then still missing.
    `sample_train` False takes consecutive slices instead.
    """
    train = [instance for instance in pool if instance.split == TRAIN]
    wanted = min(len(train), spec.max_train_instances)
    if not spec.sample_train:
        return train[wanted * trial : wanted * (trial + 1)]
    draw = random.Random(trial)
    classes: dict[str, list[Instance]] = defaultdict(list)
    unlabelled: list[Instance] = []
    for instance in train:
        members = classes[instance.gold[0]] if instance.gold else unlabelled
        members.append(instance)
    turns = _in_turn([classes[label] for label in _ordered(classes, draw)], draw)
    labelled = list(itertools.islice(turns, wanted))
    return labelled + draw.sample(unlabelled, wanted - len(labelled))


def _ordered(classes: dict[str, list[Instance]], draw: random.Random) -> list[str]:
    """Return the labels, the most frequent first, ties in an order that is drawn."""
    by_size: dict[int, list[str]] = defaultdict(list)
    for label in sorted(classes):
        by_size[len(classes[label])].append(label)
    ordered: list[str] = []
    for size in sorted(by_size, reverse=True):
        draw.shuffle(by_size[size])
        ordered += by_size[size]
    return ordered


def _in_turn(groups: list[list[Instance]], draw: random.Random) -> Iterator[Instance]:
    """Yield a random member of each group in turn until all groups are empty."""
    while any(groups):
        for members in groups:
            if members:
                yield members.pop(draw.randrange(len(members)))
