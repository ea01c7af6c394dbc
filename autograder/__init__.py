"""Judges homework by certificate: safely, fairly, fast, with reasons.

In a notebook: ``from autograder import homework; check = homework("hw2-smo")``.
In a program: ``from autograder import grade; grade("ada.ipynb", "hw2-smo")``.
On the command line: ``autograder check hw2-smo.ipynb``; ``autograder --help`` lists the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.grading import grade as grade
    from autograder.home import homework as homework

__all__ = ["grade", "homework"]


def __getattr__(name: str) -> Any:
    if name == "homework":  # late: a build of the package imports autograder without numpy
        from autograder.home import homework

        return homework
    if name == "grade":
        from autograder.grading import grade

        return grade
    raise AttributeError(f"module 'autograder' has no attribute {name!r}")
