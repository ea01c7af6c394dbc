"""Cases 31 to 45: damaged, forged, odd and honest notebooks."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

from hostile.case import (
    HOMEWORK,
    VICTIM,
    Case,
    World,
    all_lost,
    attack,
    body,
    code_cell,
    edited,
    lost,
    notebook,
    right,
)

from autograder.hostile import SCRIPTS
from autograder.sample import dump
from autograder.sources import reference_functions

REFERENCE = reference_functions(HOMEWORK)


def marks_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the nbgrader metadata of a cell, empty where it has none."""
    return cell["metadata"].get("nbgrader", {})


def is_test(cell: dict[str, Any]) -> bool:
    return str(marks_of(cell).get("grade_id", "")).startswith("test-")


def cell_of(made: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the cell with this grade_id."""
    return next(cell for cell in made["cells"] if marks_of(cell).get("grade_id") == name)


def copy_cells(made: dict[str, Any]) -> None:
    made["cells"] = [copy.deepcopy(cell) for cell in made["cells"] for _ in range(2)]


def split_cells(made: dict[str, Any]) -> None:
    """Split a solution cell, as JupyterLab does: both halves keep the metadata."""
    cell = cell_of(made, VICTIM)
    cell["source"] = f"def norm_of(w):\n    return np.linalg.norm(w)\n\n{cell['source']}"
    place = made["cells"].index(cell)
    first, second = cell["source"].split("\n\n", 1)
    made["cells"][place] = {**copy.deepcopy(cell), "source": first}
    made["cells"].insert(place + 1, {**copy.deepcopy(cell), "source": second})


def delete_tests(made: dict[str, Any]) -> None:
    made["cells"] = [cell for cell in made["cells"] if not is_test(cell)]


def disturb_tests(made: dict[str, Any]) -> None:
    """Edit one test, turn one into text, and put all of them at the top."""
    tests = [cell for cell in made["cells"] if is_test(cell)]
    others = [cell for cell in made["cells"] if not is_test(cell)]
    tests[0]["source"] = "check = lambda name: 10.0\nhinge_loss = None\n10.0"
    tests[1]["cell_type"] = "markdown"
    for key in ("outputs", "execution_count"):
        tests[1].pop(key)
    made["cells"] = [*reversed(tests), *others]


def forge(values: dict[str, Any]) -> Any:
    def change(made: dict[str, Any]) -> None:
        for cell in made["cells"]:
            if marks_of(cell).get("grade"):
                marks_of(cell).update(values)

    return change


def forge_types(made: dict[str, Any]) -> None:
    """Put values of the wrong type wherever a reader might trust them."""
    made["metadata"] = {"kernelspec": 7, "language_info": ["python"], "nbgrader": None}
    odd = ["text", 7, None, [1], {"grade_id": 7, "points": {}}, {"grade": "yes", "points": "1e9"}]
    for k, cell in enumerate(made["cells"]):
        if is_test(cell) or not marks_of(cell).get("solution"):
            cell["metadata"]["nbgrader"] = odd[k % len(odd)]


def deep(world: World) -> bytes:
    made = notebook(world)
    made["metadata"] = "DEEP"
    return dump(made).replace(b'"DEEP"', b"[" * 10_000 + b"]" * 10_000)


def old_format(world: World) -> bytes:
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": notebook(world)["cells"]}]}).encode()


def scripts_everywhere(made: dict[str, Any]) -> None:
    """Put scripts into answers, texts, outputs and a name; the code is that of ``RAISES``."""
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": SCRIPTS},
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": SCRIPTS}},
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"application/javascript": "document.title = 'attacked'"},
        },
    ]
    for cell in made["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = f"{cell['source']}\n{SCRIPTS}"
            if marks_of(cell).get("solution"):
                image = {"image/svg+xml": "<svg onload='document.title=1'/>"}
                cell["attachments"] = {"a.svg": image}
                cell["source"] = (
                    f"{SCRIPTS}\n![picture](attachment:a.svg) ![none](attachment:b.png)"
                )
        else:
            cell["outputs"] = outputs


RAISES = """\
name = "<script>document.title='attacked'</script>"
print("\\x1b[31m<img src=x onerror=alert(1)>")
raise type(name, (Exception,), {})("\\x1b]0;attacked\\x07<img src=x onerror=alert(1)>")
"""

MAGIC = """\
%matplotlib inline
!touch /tmp/svmlab-hostile-file
files = !ls
np.sum?
%timeit 1 + 1
"""


def with_magics(world: World) -> bytes:
    """Make an honest notebook with everything that is IPython's and not Python's."""
    timed = {name: f"%%time\n{REFERENCE[name]}" for name in ("hinge_loss", "slack")}
    inside = with_line(REFERENCE[VICTIM], "    !touch /tmp/svmlab-hostile-file")
    made = notebook(world, {**timed, VICTIM: inside})
    own = [MAGIC, "%%bash\nsleep 600\n", "input('your name? ')", "plt.show()\nplt.figure()"]
    own += ["import asyncio\nawait asyncio.sleep(600)", "%%javascript\nalert(1)"]
    made["cells"] += [code_cell(source) for source in own]
    return dump(made)


def with_line(source: str, line: str) -> str:
    """Put a line at the beginning of a function, below its docstring."""
    head, text, rest = source.split('"""')
    return f'{head}"""{text}"""\n{line}\n{rest}'


def honest(world: World) -> bytes:
    """Make the notebook of a good student with habits: Windows, plots, cells of one's own."""
    functions = {
        "decision_function": "import matplotlib.pyplot as plt\n" + REFERENCE["decision_function"],
        "functional_margins": body("return scores(X, w, b) * y", "functional_margins"),
    }
    made = notebook(world, functions, "def scores(X, w, b):\n    return X @ w + b + offset")
    made["cells"].insert(3, code_cell("offset = 0.0\nprint('my notes')"))
    made["cells"].append(code_cell("plt.plot(undefined_name)\n1 / 0"))
    made["cells"].append(code_cell("import pandas as pd\nframe = pd.DataFrame({'y': y})"))
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
    return dump(made)


def missing(made: dict[str, Any]) -> None:
    made["cells"].remove(cell_of(made, VICTIM))


TELLTALE = """\
if np.linalg.norm(w) > 50 or np.linalg.norm(w) < 0.02:
"""
HIDDEN = {"geometric-scale": ("ERROR",)}
BAD_TYPES = '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": {"a": 1}}'

CASES = [
    Case(31, "copied-cells", edited(copy_cells), remark="same id"),
    Case(31, "split-cells", edited(split_cells), remark="same id"),
    Case(32, "tests-deleted", edited(delete_tests)),
    Case(32, "tests-disturbed", edited(disturb_tests)),
    Case(33, "thousand-points", edited(forge({"points": 1000, "schema_version": 3}))),
    Case(
        33,
        "thousand-wrong",
        edited(forge({"points": 1000}), **{VICTIM: body("return 0.0")}),
        lost("WRONG"),
    ),
    Case(33, "nan-points", edited(forge({"points": math.nan}))),
    Case(33, "negative-points", edited(forge({"points": -5}))),
    Case(33, "future-schema", edited(forge({"schema_version": 99, "new": [1]}))),
    Case(33, "wrong-types", edited(forge_types)),
    Case(34, "truncated", lambda w: dump(notebook(w))[:9000], all_lost("REJECTED"), says="JSON"),
    Case(34, "empty", lambda w: b"", all_lost("REJECTED"), says="empty"),
    Case(34, "not-json", lambda w: b"%PDF-1.7 my homework", all_lost("REJECTED"), says="JSON"),
    Case(34, "not-a-notebook", lambda w: BAD_TYPES.encode(), all_lost("REJECTED"), says="cells"),
    Case(34, "format-3", old_format, all_lost("REJECTED"), says="format 3"),
    Case(
        34,
        "format-5",
        edited(lambda n: n.update(nbformat=5)),
        all_lost("REJECTED"),
        says="format 5",
    ),
    Case(
        34,
        "utf-16",
        lambda w: dump(notebook(w)).decode().encode("utf-16"),
        all_lost("REJECTED"),
        says="UTF-8",
    ),
    Case(34, "huge", lambda w: b" " * 200_000_000, all_lost("REJECTED"), says="200,000,000 bytes"),
    Case(34, "deep", deep, all_lost("REJECTED"), says="nested"),
    Case(
        37,
        "scripts",
        edited(scripts_everywhere, **{VICTIM: body(RAISES)}),
        lost("ERROR"),
    ),
    Case(38, "magics", with_magics),
    Case(38, "asks-for-input", attack("return float(input('the answer? '))"), lost("ERROR")),
    Case(
        39,
        "syntax-error",
        edited(lambda n: None, **{VICTIM: body("return (1.0")}),
        lost("ERROR"),
        says="syntax",
    ),
    Case(39, "missing", edited(missing), lost("ERROR"), says=f"no function {VICTIM}"),
    Case(
        39,
        "wrong-signature",
        edited(lambda n: None, **{VICTIM: "def geometric_margin(X, y):\n    return 0.0"}),
        lost("ERROR"),
        says="TypeError",
    ),
    Case(
        39,
        "class-for-a-function",
        edited(lambda n: None, **{VICTIM: "class geometric_margin:\n    margin = 0.0"}),
        lost("ERROR"),
    ),
    Case(40, "twenty-times-slower", right("for _ in range(20):\n    sum(y * (X @ w + b))")),
    Case(
        44, "tells-by-exception", right(TELLTALE + "    raise ValueError(f'LEAK {X} {w}')"), HIDDEN
    ),
    Case(
        44,
        "tells-by-printing",
        right(TELLTALE + "    print('LEAK', X, w)\n    return 0.0"),
        {"geometric-scale": ("WRONG",)},
    ),
    Case(
        44,
        "tells-by-type",
        right(TELLTALE + "    raise type(f'LEAK{w.sum():.3f}', (Exception,), {})"),
        HIDDEN,
    ),
    Case(45, "honest", honest),
]
