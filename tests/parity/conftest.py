"""`helm`: the reference tool beside the tests of a module.

tests/parity/test_<part>.py asks tests/parity/helm_<part>.py, which HELM's own Python runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.parity.reference import Reference, start

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def helm(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reference]:
    """HELM's answers to this module's cases; the module is skipped without HELM."""
    part = Path(request.path).stem.removeprefix("test_")
    reference = start(part, tmp_path_factory.mktemp(part))
    yield reference
    reference.close()
