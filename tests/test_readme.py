"""What the README and the demo promise is true."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_examples_of_the_readme_run():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
    assert result.attempted >= 8
    assert result.failed == 0


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_path_and_verb_that_a_page_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    made = {"demo", "demo/worked-example.svg", ".venv", "_build"}
    folders = [ROOT, ROOT / "svmlab"]
    for name in re.findall(r"[`(]([\w./-]+\.(?:py|md|toml|txt|svg)|[a-z]+/)[`)]", text):
        assert name in made or any((folder / name).exists() for folder in folders), name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for verb in re.findall(r"\bmake ([a-z][a-z-]*)\b(?!s)", text):
        if f"`make {verb}" in text or f"\nmake {verb}" in text:
            assert f"\n{verb}:" in makefile, verb


def test_the_demo_prints_the_exact_values_and_writes_the_figure_of_the_readme(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    output = subprocess.run(
        [sys.executable, "-W", "error", "-m", "svmlab", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=tmp_path,
    ).stdout
    assert "f(z) = 2/3 z² − 16/3 z + 9" in output
    assert re.search(r"exact +0 +5/2 +0 +22/3 +29/6 +9 ", output)
    for solver in ("solve_dual", "decomposition", "QP (Clarabel)", "SVC"):
        line = next(line for line in output.splitlines() if line.startswith(solver))
        assert line.split()[-6:-1] == ["2.50000", "0.00000", "7.33333", "4.83333", "9.000000"]
    drawn = (tmp_path / "worked-example.svg").read_bytes()
    assert drawn == (ROOT / "book" / "images" / "worked-example.svg").read_bytes(), (
        "the figure has changed: copy demo/worked-example.svg to book/images/ and look at it"
    )
