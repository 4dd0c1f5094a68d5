"""Clients by name, and their settings."""

from __future__ import annotations

import sys

import pytest

from helmsite.clients import CLIENTS, check, create
from helmsite.clients.fake import Fake
from helmsite.clients.settings import parse
from helmsite.errors import ClientError, ConfigError
from helmsite.schema import Record


class Sample(Record, frozen=True):
    """Settings with every kind of field."""

    path: str
    count: int = 1
    share: float = 0.5
    names: tuple[str, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("'count' is negative")


def test_a_client_is_made_by_its_kind() -> None:
    client = create("fake", "lab/model", {"replies": ["yes"]})
    assert isinstance(client, Fake)
    assert client.identity.name == "lab/model"


def test_every_built_in_client_can_be_loaded() -> None:
    assert {"fake", "llamacpp", "ngram", "openai"} <= set(CLIENTS.table())
    for kind in ("fake", "llamacpp", "ngram"):
        assert callable(CLIENTS.load(kind).from_settings)


def test_an_unknown_kind_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"'llama'.*'llamacpp'"):
        create("llama", "lab/model", {})


def test_all_problems_of_the_settings_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as raised:
        parse(Sample, "lab/m", {"cuont": 3, "share": "half", "names": [1]})
    problems = "\n".join(raised.value.problems)
    assert len(raised.value.problems) == 4
    assert "unknown setting 'cuont'. Did you mean 'count'" in problems
    assert "'path' is missing" in problems
    assert "'share': expected `float`, got `str`" in problems
    assert "'names[0]': expected `str`, got `int`" in problems
    assert all("lab/m" in problem for problem in raised.value.problems)
    assert "path" in raised.value.hint


def test_numbers_and_texts_are_not_mixed_up() -> None:
    with pytest.raises(ConfigError, match="'count': expected `int`, got `str`"):
        parse(Sample, "m", {"path": "x", "count": "3"})
    assert parse(Sample, "m", {"path": "x", "share": 1, "names": ["a"]}) == Sample(
        path="x", share=1.0, names=("a",)
    )


def test_what_a_record_itself_refuses_is_a_problem_too() -> None:
    with pytest.raises(ConfigError, match="'count' is negative"):
        parse(Sample, "m", {"path": "x", "count": -1})


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "helmsite.clients.ngram", None)
    with pytest.raises(ClientError) as raised:
        create("ngram", "m", {})
    assert "helmsite.clients.ngram" in str(raised.value)


def test_a_client_that_reads_its_own_settings_is_not_held_to_its_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Loud(Fake):
        @classmethod
        def from_settings(cls, name, settings):
            return cls(name, reply=lambda request, index: "!" * settings["volume"])

    monkeypatch.setattr(CLIENTS, "load", lambda kind: Loud)
    check("loud", "m", {"volume": 3})
    monkeypatch.setattr(CLIENTS, "load", lambda kind: Fake)
    with pytest.raises(ConfigError, match="unknown setting 'volume'"):
        check("fake", "m", {"volume": 3})
