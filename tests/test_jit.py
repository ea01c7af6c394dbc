from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from svmlab._jit import Jitted, cache_folder, jit

pytestmark = pytest.mark.core


@jit()
def total(x):
    return x.sum()


@jit()
def mean(x):
    return total(x) / x.size


def test_plain_and_compiled_forms_agree():
    x = np.arange(5.0)
    assert mean.plain(x) == mean(x) == 2.0


def test_the_plain_form_calls_plain_helpers_only(monkeypatch):
    fresh = Jitted(mean._function, {})
    monkeypatch.setattr(
        Jitted, "compiled", property(lambda self: pytest.fail("compiled although plain was asked"))
    )
    assert fresh.plain(np.ones(3)) == 1.0


def test_the_cache_folder_carries_the_hash_of_all_sources():
    folder = cache_folder()
    assert folder is None or (folder.is_dir() and len(folder.name) == 16)


SOLVE = """
from svmlab._jit import cache_folder
from svmlab._smo_jit import minimise
import numpy as np
K = np.eye(2)
alpha, y = np.zeros(2), np.array([1.0, -1.0])
minimise(K, y, np.ones(2), alpha, y.copy(), 1e-3, 10)
print(alpha.tolist(), cache_folder())
"""


def test_where_nothing_is_writable_it_works_without_a_cache(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    environment = os.environ | {
        "XDG_CACHE_HOME": str(blocked),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    output = subprocess.run(
        [sys.executable, "-W", "error", "-c", SOLVE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.strip() == "[1.0, 1.0] None"
