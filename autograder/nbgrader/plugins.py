"""What a course's nbgrader_config.py calls, so that stock nbgrader gives our grades.

    from autograder.nbgrader.plugins import configure

    configure(c)

From then on ``nbgrader autograde`` and formgrader's button judge as ``autograder grade`` does and
never run student code in a kernel; feedback holds no hidden test and no reason that is kept back;
an export has late penalties that are up to date. Only names are set here: loading a configuration
costs nothing.
"""

from __future__ import annotations

from typing import Any

LINES = "from autograder.nbgrader.plugins import configure\n\nconfigure(c)\n"

AUTOGRADE = "autograder.nbgrader.autograde.JudgingExporter"
FEEDBACK = [
    "autograder.nbgrader.feedback.ShowReasons",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]
EXPORT = "autograder.nbgrader.feedback.ExportCsv"


def configure(c: Any) -> None:
    """Put our parts into nbgrader's configuration ``c``."""
    c.Autograde.exporter_class = AUTOGRADE
    c.Autograde.sanitize_preprocessors = []  # nothing of nbgrader's touches a submitted file
    c.Autograde.autograde_preprocessors = []  # and nothing runs it
    c.GenerateFeedback.preprocessors = list(FEEDBACK)
    c.ExportApp.plugin_class = EXPORT


def configured(c: Any) -> bool:
    """Tell whether a configuration has our parts."""
    return (
        c.Autograde.get("exporter_class") == AUTOGRADE
        and FEEDBACK[0] in c.GenerateFeedback.get("preprocessors", [])
        and c.ExportApp.get("plugin_class") == EXPORT
    )
