from __future__ import annotations

import os

import numpy as np
import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips one check an estimator


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run."""
    return np.random.default_rng(0)
