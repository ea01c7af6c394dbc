from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from chromium import Chromium

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips one check an estimator


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run."""
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    """A real Chromium, for the tests of one module."""
    from chromium import chromium  # not there where numpy is all there is

    with chromium() as running:
        yield running
