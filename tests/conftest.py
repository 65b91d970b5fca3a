"""Environment of every test: the portable profile, its own cache, real corpora only for tests that ask for them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from gluon_attn import runtime

if TYPE_CHECKING:
    import numpy as np

runtime.configure("portable")  # Before any test imports NumPy or MXNet.

# Derandomized: a property test tries the same examples every time. No deadline: no test is timed.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("repeatable")

DATA = os.environ.get("GLUON_ATTN_DATA", "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests whose corpus is missing: ``@pytest.mark.corpus("nsmc", ...)`` names folders below the root."""
    for item in items:
        for marker in item.iter_markers("corpus"):
            reason = ""
            if not DATA:
                reason = "GLUON_ATTN_DATA is not set: no real corpora"
            elif not Path(DATA).is_dir():
                reason = f"GLUON_ATTN_DATA={DATA} is not a folder"
            elif missing := [name for name in marker.args if not (Path(DATA) / name).is_dir()]:
                reason = f"GLUON_ATTN_DATA={DATA} has no {', '.join(missing)}"
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all corpus tests of this process, so that a corpus is tokenised once; never the user's own.

    Downloads are refused: a test of downloading unsets GLUON_ATTN_OFFLINE and serves the file itself.
    """
    path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path))
        patch.setenv("GLUON_ATTN_CACHE", str(path / "results"))
        patch.setenv("GLUON_ATTN_OFFLINE", "1")
        yield path


@pytest.fixture(autouse=True)
def own_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other test has its own cache and no real corpora: its result does not depend on them."""
    if request.node.get_closest_marker("corpus") is None:
        cache = request.getfixturevalue("tmp_path_factory").mktemp("own-cache")
        monkeypatch.setenv("GLUON_ATTN_CACHE", str(cache))
        monkeypatch.delenv("GLUON_ATTN_DATA", raising=False)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers with a fixed seed."""
    import numpy as np

    return np.random.default_rng(20170925)


@pytest.fixture
def fresh_seed() -> int:
    """A new seed at each run, for tests of learning; printed, and set by GLUON_ATTN_TEST_SEED to repeat a failure."""
    seed = int(os.environ.get("GLUON_ATTN_TEST_SEED") or secrets.randbits(31))
    print(f"GLUON_ATTN_TEST_SEED={seed}")
    return seed
