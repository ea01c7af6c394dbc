"""A small class for formgrader: right, wrong, untouched, and one that attacks whoever looks."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formgrader import run

from autograder.release import release
from autograder.sample import ANSWER, dump, fill, with_body
from autograder.sources import reference_functions

HOMEWORK = "hw1-margins"
MARK = "hacked"

# What has power in nbgrader's pages if it gets there as it is; but for 4, 6 and 10, of which
# nbconvert and MathJax take care at present.
IN_TEXT = """\
<script>window.hacked = 1; console.log("hacked")</script>
<img src="hacked-2" onerror="window.hacked = 2">
<svg onload="window.hacked = 3"></svg>
[a link](javascript:window.hacked=4) and [another][r] <a href="javascript:window.hacked=5">x</a>

[r]: javascript:window.hacked=6

<iframe srcdoc="<script>parent.hacked = 7</script>"></iframe>
<b onmouseover="window.hacked = 8">bold</b> <form action="javascript:window.hacked=9"></form>

A formula after all: $\\href{javascript:window.hacked=10}{a}<b$.
"""
POWERFUL = {1, 2, 3, 5, 7, 8, 9}
IN_CODE = """\
# </code></pre></div><script>window.hacked = 11</script>
print("\\x1b[31m<script>window.hacked = 12</script>\\x1b]0;hacked\\x07")
def inner():
    kind = type('<img src="hacked-13" onerror="window.hacked = 13">', (Exception,), {})
    raise kind("\\x1b[31m<script>window.hacked = 14</script> [b](javascript:window.hacked=15)")
inner.__code__ = inner.__code__.replace(co_name="<script>window.hacked = 16</script>")
return inner()
"""
IN_OUTPUT = '<script>window.hacked = 17</script>\x1b[31m<img src="hacked-18" onerror="hacked()">'
IN_NAME = '<img src="hacked" onerror="window.hacked = 19">'

SCORES = {"ada": 10, "ben": 9, "cora": 0, "dora": 10, "mallory": 8, "zed": 10}
ANSWERED = ("ada", "dora", "mallory", "zed")


def hostile(released: bytes) -> dict[str, Any]:
    """Return a notebook that attacks whoever looks at it, wherever it can."""
    functions = reference_functions(HOMEWORK)
    functions["geometric_margin"] = with_body(functions["geometric_margin"], IN_CODE)
    made = fill(released, functions, IN_TEXT)
    page = {"text/html": IN_OUTPUT, "application/javascript": "window.hacked = 20"}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": IN_OUTPUT},
        {"output_type": "display_data", "metadata": {}, "data": page},
    ]
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    own = {"cell_type": "markdown", "id": "own", "metadata": {}, "source": f"# Mine\n{IN_TEXT}"}
    made["cells"] += [own, {**own, "id": "raw", "cell_type": "raw"}]
    made["metadata"]["title"] = made["metadata"]["kernelspec"]["display_name"] = IN_NAME
    return made


def papers(released: bytes) -> dict[str, bytes]:
    """Return what the class hands in."""
    right = reference_functions(HOMEWORK)
    wrong = {"hinge_loss": "def hinge_loss(margins):\n    return 1 - margins"}
    correct = dump(fill(released, right, ANSWER))
    return {
        "ada": correct,
        "ben": dump(fill(released, right | wrong)),
        "cora": released,
        "dora": correct,  # gets a score by hand
        "mallory": dump(hostile(released)),
        "zed": correct,  # gets pages that are not defused
        IN_NAME: correct,
    }


@dataclass(frozen=True)
class Class:
    """A course, and a copy of it that nobody has graded yet."""

    folder: Path  # of both, and of the homes of commands and servers

    @property
    def course(self) -> Path:
        return self.folder / "course"

    @property
    def ungraded(self) -> Path:
        return self.folder / "ungraded"

    def make(self) -> None:
        """Release the homework, hand in, and grade."""
        release(self.course, [HOMEWORK], wheel=False, progress=lambda line: None)
        released = (self.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
        for student, data in papers(released).items():
            place = self.course / "submitted" / student / HOMEWORK
            place.mkdir(parents=True)
            (place / f"{HOMEWORK}.ipynb").write_bytes(data)
            (place / "timestamp.txt").write_text("2025-01-10 12:00:00.123456 UTC\n")
        shutil.copytree(self.course, self.ungraded)
        self.grade()

    def grade(self) -> None:
        """Run the real command."""
        options = ("--course", str(self.course), "--jobs", "2")
        run("autograder", "grade", HOMEWORK, *options, course=self.folder, folder=self.folder)

    def undefuse(self, student: str) -> None:
        """Put raw text into the notebook from which nbgrader draws the pages of a student."""
        path = self.course / "autograded" / student / HOMEWORK / f"{HOMEWORK}.ipynb"
        notebook = json.loads(path.read_bytes())
        for cell in notebook["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "answer-norm":
                cell["source"] = IN_TEXT
        path.chmod(0o644)
        path.write_bytes(dump(notebook))
