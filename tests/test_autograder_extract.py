"""What of a notebook counts: the rule of extraction, claim by claim."""

from __future__ import annotations

import ast
import contextlib
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder import extract as extraction
from autograder import notebook, statements
from autograder.extract import FORBIDDEN, Extracted, Rejected, extract
from autograder.sandbox import child

Cell = dict[str, Any]


def cell(source: Any, kind: str = "code", **nbgrader: Any) -> Cell:
    metadata = {"nbgrader": nbgrader} if nbgrader else {}
    return {"cell_type": kind, "source": source, "metadata": metadata}


def locked(source: str, name: str = "setup", kind: str = "code", *, grade: bool = False) -> Cell:
    return cell(source, kind, grade_id=name, locked=True, grade=grade, solution=False)


def solution(source: str, name: str = "f") -> Cell:
    return cell(source, grade_id=name, locked=False, grade=False, solution=True)


def check_cell(source: str) -> Cell:
    return locked(source, "test-f", grade=True)


def as_bytes(*cells: str | Cell) -> bytes:
    full = [cell(item) if isinstance(item, str) else item for item in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "cells": full}).encode()


def found(*cells: str | Cell, graded: tuple[str, ...] = ("f",), **options: Any) -> Extracted:
    return extract(as_bytes(*cells), graded, **options)


def sources(*cells: str | Cell, **options: Any) -> list[str]:
    return [statement.source for statement in found(*cells, **options).statements]


def call(*cells: str | Cell, name: str = "f", args: tuple[Any, ...] = ()) -> Any:
    """Run what was extracted, as the child does, and call a function."""
    namespace: dict[str, Any] = {}
    kept = found(*cells, graded=(name,)).statements
    faults = child.execute([[s.source, s.cell, s.line] for s in kept], namespace)
    assert faults == []
    return namespace[name](*args)


def remarks(*cells: str | Cell, **options: Any) -> str:
    return "\n".join(found(*cells, **options).remarks)


def policy(*cells: str | Cell, graded: tuple[str, ...] = ("f",)) -> dict[str, str]:
    return dict(found(*cells, graded=graded).policy)


def test_the_last_definition_of_a_graded_name_counts() -> None:
    cells = ("def f():\n    return 1", "def f():\n    return 2", "def f():\n    return 3")
    assert sources(*cells) == ["def f():\n    return 3"]
    assert "f is defined 3 times (cells 1, 2, 3); the last counts" in remarks(*cells)


def test_helpers_constants_and_classes_are_followed_wherever_they_stand() -> None:
    cells = (
        "unused = open('nowhere')",
        "def f(x):\n    return Box(helper(x)).value",
        "class Box:\n    def __init__(self, value):\n        self.value = value + offset",
        "offset: float = 1",
        "helper = lambda x: scale * x\nscale = 10",
        "raise RuntimeError('a broken experiment')",
    )
    assert call(*cells, args=(2,)) == 21
    assert len(sources(*cells)) == 5


def test_statements_keep_the_order_of_the_notebook() -> None:
    cells = ("scale = 1", "def f():\n    return scale", "scale = scale + 1", "scale += 1")
    assert call(*cells) == 3


def test_what_changes_a_needed_value_belongs_too() -> None:
    cells = (
        "table = {}\nlast = []",
        "for k in range(3):\n    table[k] = k * k",
        "last.append(5)",
        "class Box:\n    pass",
        "Box.size = 7",
        "def f():\n    return table[2] + last[0] + Box.size + f.bonus",
        "f.bonus = 100",
    )
    assert call(*cells) == 116


def test_a_module_is_no_value_that_calls_change() -> None:
    cells = ("import numpy as np", "np.random.seed(0)", "def f():\n    return np.pi")
    assert sources(*cells) == ["import numpy as np", "def f():\n    return np.pi"]


def test_defaults_decorators_annotated_and_unpacked_names_are_followed() -> None:
    cells = (
        "import functools\n(a, [b, *c]) = 1, [2, 3]\nd: int = 4",
        "def twice(g):\n    @functools.wraps(g)\n    def new(*x):\n        return 2 * g(*x)\n"
        "    return new",
        "@twice\ndef f(x=d):\n    return a + b + c[0] + x",
    )
    assert call(*cells) == 20
    assert found(*cells).statements[-1].line == 1


def test_a_name_that_is_local_pulls_in_nothing() -> None:
    cells = ("x = slow()", "def f(x):\n    y = [x for x in range(3)]\n    return y", "y = slow()")
    assert sources(*cells) == [cells[1]]


def test_star_imports_and_future_imports_always_belong() -> None:
    cells = ("from __future__ import annotations\nfrom math import *\nimport json", "def f(): sin")
    assert sources(*cells) == [
        "from __future__ import annotations",
        "from math import *",
        "def f(): sin",
    ]


def test_packages_of_one_import_line_are_apart_so_that_one_may_be_missing() -> None:
    cells = ("import json, matplotlib.pyplot as plt, os.path", "def f():\n    return json.dumps(1)")
    assert sources(*cells)[0] == "import json"
    assert "import matplotlib.pyplot as plt" in [s.source for s in found(*cells).everything]
    assert call(*cells) == "1"


def test_a_wrapped_function_brings_what_it_wraps() -> None:
    cells = (
        "def jit(g):\n    return lambda: g() + 1",
        "def f():\n    return 1",
        "def f():\n    return 2",
        "f = jit(f)",
        "f = jit(f)",
    )
    assert call(*cells) == 4
    assert cells[1] not in sources(*cells)


def test_a_definition_that_may_not_happen_leaves_the_earlier_one() -> None:
    fast = "try:\n    import nothing_like_this\n    f = nothing_like_this.f\nexcept ImportError:\n"
    cells = (
        "def f():\n    return 1",
        f"{fast}    pass",
        "if False:\n    def f():\n        return 2",
    )
    assert call(*cells) == 1
    assert len(sources(*cells)) == 3


@pytest.mark.parametrize(
    "use",
    [
        "f = f(1, X)",
        "f = 0.1",
        "f = np.mean(X != 1)",
        "f = [f(1, x) for x in X]",
        "for f in X:\n    print(f)",
        "f, g = 1, 2",
        "f += 1",
        "f: float = 3.0",
        "with open(X) as f:\n    pass",
    ],
)
def test_a_scratch_variable_with_the_name_of_the_function_takes_nothing_away(use: str) -> None:
    cells = ("import numpy as np\nX = []", "def f(i, x):\n    return 7", use)
    assert call(*cells, args=(1, 2)) == 7
    assert "cell 3 uses the name f for something else; the function counts" in remarks(*cells)


@pytest.mark.parametrize("make", ["f = make(3)", "f = make", "f, g = make(3), 1", "f = table[0]"])
def test_without_a_definition_any_value_may_be_the_function(make: str) -> None:
    before = "def make(n=3):\n    return lambda *x: 3\ntable = [make()]"
    assert found(before, make).missing == ()
    assert before.splitlines()[0] in "\n".join(sources(before, make))


def test_an_alias_of_a_function_is_a_definition() -> None:
    assert call("def f():\n    return 1", "def mine():\n    return 2", "f = mine") == 2
    assert call("def f():\n    return 1", "f = lambda: 2") == 2
    assert call("def f(x):\n    return 1", "import math", "f = math.floor", args=(2.5,)) == 2


def test_everything_is_kept_for_a_second_try() -> None:
    cells = (locked("import os\nX = 1"), "a = 1; b = 2", "def f(): pass", check_cell('check("f")'))
    everything = [statement.source for statement in found(*cells).everything]
    assert everything == ["import os", "a = 1", "b = 2", "def f(): pass"]


def test_a_name_that_nobody_defines_is_missing_and_the_rest_is_there() -> None:
    extracted = found("def f(): pass", graded=("f", "g"))
    assert extracted.missing == ("g",)
    assert extracted.broken == {}
    assert len(extracted.statements) == 1


def test_places_are_counted_as_the_student_counts_them() -> None:
    cells = (cell("# Title", "markdown"), "\n\nx = 1; y = 2\n", "a = '''\nα'''; f = lambda: y")
    places = {s.source: (s.cell, s.line) for s in found(*cells).everything}
    assert places["y = 2"] == (2, 3)
    assert places["f = lambda: y"] == (3, 2)


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install x",
        "?f",
        "f?",
        "np.dot??",
        "x = !ls",
        "t = %timeit -o f()",
    ],
)
def test_line_magics_are_dropped_and_lines_keep_their_numbers(magic: str) -> None:
    statement = found(f"{magic}\ndef f():\n    return 1\n{magic}").statements[0]
    assert (statement.source, statement.line) == ("def f():\n    return 1", 2)


def test_a_magic_inside_a_block_leaves_a_block() -> None:
    assert call(
        "def f(n):\n    if n:\n        %time n = 2\n    !ls \\\n    -l\n    return n", args=(1,)
    )


def test_a_percent_sign_that_is_no_magic_stays() -> None:
    text = "s = '''\n%d'''\ndef f(n):\n    return (s\n        % n,\n        5 \\\n% 3)\n"
    assert call(f"%time\n{text}", args=(1,)) == ("\n1", 2)


@pytest.mark.parametrize(
    "magic", ["%%time", "%%timeit -n 1", "%%capture out", "\n%%time\n%%capture"]
)
def test_magics_that_run_the_cell_keep_its_code(magic: str) -> None:
    statement = found(f"{magic}\ndef f(): pass").statements[0]
    assert statement.line == magic.count("\n") + 2


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile f.py", "%%html", "%%time\n%%javascript"])
def test_cells_of_other_languages_are_dropped_with_the_reason(magic: str) -> None:
    extracted = found("x = 1", f"{magic}\ndef f(): pass")
    assert extracted.missing == ("f",)
    assert "is not Python" in extracted.broken["f"]
    assert extracted.broken["f"] in extracted.remarks


def test_a_cell_that_does_not_parse_costs_the_other_cells_nothing() -> None:
    extracted = found("def g(x:\n    pass", "def f(): pass", graded=("f", "g"))
    assert [s.source for s in extracted.statements] == ["def f(): pass"]
    assert extracted.broken == {"g": "cell 1 has a syntax error in line 1: '(' was never closed"}


def test_the_syntax_error_is_told_though_the_name_is_a_variable_elsewhere() -> None:
    extracted = found("def f(x:\n    pass", "f = 3")
    assert "syntax error" in extracted.broken["f"]


def test_a_cell_that_is_indented_as_a_whole_is_read() -> None:
    assert call("\n    # pasted\n    def f():\n        return 4\n    x = 1\n") == 4


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("return 1", "'return' stands outside a function"),
        ("yield 1", "'yield' stands outside"),
        ("await g()", "await"),
        ("def g(a, a): pass", "duplicate argument"),
        ("nonlocal x", "nonlocal"),
    ],
)
def test_a_statement_that_cannot_run_is_left_out_alone(line: str, word: str) -> None:
    extracted = found(f"x = 1\n{line}\ndef f(): pass")
    assert [s.source for s in extracted.everything] == ["x = 1", "def f(): pass"]
    assert "cell 1, line 2 was left out" in "\n".join(extracted.remarks)
    assert word in "\n".join(extracted.remarks)


def test_windows_line_ends_and_a_byte_order_mark_are_nobody_s_fault() -> None:
    text = "\ufeff%time\r\ndef f():\r\n    return '''a\r\nb'''\r\n"
    assert call(text) == "a\nb"
    data = as_bytes(cell(text.splitlines(keepends=True)))
    assert extract(b"\xef\xbb\xbf" + data, ["f"]).missing == ()
    assert call("x = 1\rdef f():\r    return x\r") == 1


@pytest.mark.parametrize("character", ["\0", "\ud800", "\x1a", "\u2028", "\x0c"])
def test_odd_characters_cost_their_own_cell_at_most(character: str) -> None:
    extracted = found(f"x = '{character}'", "def f(): pass", f"def g(): {character}pass")
    assert extracted.missing == ()
    text = json.dumps(extracted.remarks)
    assert not extracted.remarks or "cell" in text


def test_an_encoding_comment_has_no_effect() -> None:
    assert call("# -*- coding: utf-7 -*-\ndef f():\n    return '+AGE-'") == "+AGE-"


def test_definitions_in_locked_cells_do_not_count_but_imports_do() -> None:
    cells = (
        locked("import math\nfrom os import path\nX = 1\ndef helper(): return 'forged'"),
        "def f():\n    return math.pi, X, helper",
    )
    extracted = found(*cells, supplied=("helper",))
    assert [s.source for s in extracted.statements] == ["import math", cells[1]]
    assert [s.source for s in extracted.everything][1] == "from os import path"


def test_variables_of_a_locked_cell_that_a_function_uses_are_remarked() -> None:
    text = remarks(locked("X = 1\ny = 2"), "def f(w):\n    return X, y, w")
    assert "X, y will be missing when graded: cell 1 belongs to the homework; use argu" in text
    assert "missing" not in remarks(locked("X = 1"), solution("def f(X):\n    return X"))


def test_an_import_in_a_locked_cell_cannot_stand_in_for_our_names() -> None:
    cells = (locked("import json as f, json as select_j, json"), "def g(): json")
    extracted = found(*cells, graded=("f", "g"), supplied=("select_j",))
    assert extracted.missing == ("f",)
    assert [s.source for s in extracted.everything] == ["import json", "def g(): json"]


def test_a_solution_in_a_locked_or_a_text_cell_is_told() -> None:
    assert "belongs to the homework" in found(locked("def f(): pass")).broken["f"]
    assert "text cell" in found(cell("    def f(): pass", "markdown")).broken["f"]


@pytest.mark.parametrize(
    ("edited", "is_edited"),
    [
        (check_cell('check("f")'), False),
        (check_cell("# my note\ncheck('f')\n\n"), False),
        (check_cell('check("f"); f = 1'), True),
        (check_cell("def f(): return 'mine'"), True),
        (check_cell(""), True),
        (cell("def f(): return 'mine'", grade_id="test-f", grade=True, solution=False), True),
        (locked('check("f")', "test-f", "markdown", grade=True), True),
    ],
)
def test_an_edited_test_cell_is_a_remark_and_has_no_effect(edited: Cell, is_edited: bool) -> None:
    cells = (solution("def f():\n    return 1"), edited)
    assert call(*cells) == 1
    assert ("cell 2 is an edited test cell; it has no effect" in remarks(*cells)) is is_edited


def test_duplicated_split_and_copied_cells_are_all_read_with_a_remark() -> None:
    cells = (solution("def f():\n    return g()"), solution("def g():\n    return 5"))
    assert call(*cells, *cells) == 5
    assert "cells 1, 2, 3, 4 have the same id 'f'; all of them were read" in remarks(*cells, *cells)


def test_missing_cells_and_ids_are_remarks() -> None:
    assert "carry no ids" in remarks("def f(): pass")
    text = remarks(solution("def f(): pass", "other"))
    assert "the homework's cell 'f' is not in the notebook" in text
    assert "the test cells are not in the notebook; grading does not need them" in text


@pytest.mark.parametrize(
    "marks",
    [
        {"grade_id": ["f"], "locked": "yes", "points": 1000},
        {"grade_id": {"a": 1}, "grade": 1, "points": float("nan")},
        {"grade_id": "f", "locked": True, "solution": True, "points": -1},
        {"grade_id": "x" * 10_000, "schema_version": 99},
        {"locked": None, "solution": 0},
    ],
)
def test_forged_metadata_of_a_solution_changes_nothing(marks: dict[str, Any]) -> None:
    assert call(cell("def f():\n    return 1", **marks)) == 1


@pytest.mark.parametrize("metadata", [None, 3, "x", [], {"nbgrader": 1}, {"nbgrader": [[]]}])
def test_metadata_of_any_type_is_read(metadata: Any) -> None:
    assert call({**cell("def f():\n    return 1"), "metadata": metadata}) == 1


@pytest.mark.parametrize("damaged", [3, None, [], "x", {"cell_type": "code", "source": [1]}, {}])
def test_a_damaged_cell_is_left_out_and_the_others_are_read(damaged: Any) -> None:
    data = {"nbformat": 4, "cells": [damaged, cell("def f(): pass")]}
    extracted = extract(json.dumps(data).encode(), ["f"])
    assert extracted.missing == ()
    assert ("cell 1 is damaged" in "\n".join(extracted.remarks)) is (damaged != {})


def test_remarks_are_cut() -> None:
    extracted = found(*["def g(:"] * 100)
    assert len(extracted.remarks) == extraction.MAX_REMARKS + 1
    assert extracted.remarks[-1].endswith("more remarks")


@pytest.mark.parametrize(
    "cells",
    [
        ("import svmlab", "def f():\n    return svmlab.SVC"),
        ("import numpy as np, sklearn.svm as s", "def f():\n    return s.SVC()"),
        ("from scipy.optimize import minimize as m", "def f(): return m(0)"),
        ("def f():\n    import cvxopt.solvers\n    return 1",),
        ("def f():\n    from sklearn import svm\n    return svm",),
        ("import importlib", "def f():\n    return importlib.import_module('svmlab.smo')"),
        ("from importlib import import_module as get", "def f():\n    return __import__('svmlab')"),
        ("import svmlab", "def helper():\n    return svmlab.SVC", "def f():\n    return helper()"),
        ("import svmlab", "class Model(svmlab.SVC): pass", "def f():\n    return Model()"),
        ("from svmlab import SVC", "Machine = SVC", "def f():\n    return Machine()"),
        ("import sklearn", "fit = sklearn.svm.SVC.fit", "def f():\n    return fit()"),
        ("import sklearn", "def f(model=sklearn.svm.SVC()):\n    return model"),
        ("from sklearn.utils import wrap", "@wrap\ndef f(): pass"),
        ("from svmlab.losses import hinge_loss as f",),
        ("import svmlab.losses", "f = svmlab.losses.hinge_loss"),
        ("from scipy import wrap", "def g(): pass", "f = wrap(g)"),
        ("import svmlab", "f = lambda: svmlab.SVC"),
        ("try:\n    import scipy.linalg as la\nexcept ImportError:\n    la = None", "def f(): la"),
        ("def f():\n    return [g() for _ in range(3)]\ndef g():\n    import torch",),
    ],
)
def test_a_forbidden_package_reached_from_the_graded_function_is_policy(
    cells: tuple[str, ...],
) -> None:
    assert set(policy(*cells)) == {"f"}
    assert set(policy(*cells).values()) <= FORBIDDEN


@pytest.mark.parametrize(
    "cells",
    [
        ("import svmlab, sklearn", "def f(): pass"),
        ("from svmlab.plotting import plot_margin", "def show(): plot_margin(f)", "def f(): pass"),
        ("import numpy as np, svmlab", "def f():\n    return np.pi"),
        ("from sklearn.datasets import load", "X = load()", "def f():\n    return X"),
        ("import svmlab", "def f():\n    svmlab = 3\n    return svmlab"),
        ("import svmlab", "def f():\n    return 'svmlab.SVC'  # svmlab"),
        ("import svmlab", "def f(x: svmlab.Vector) -> svmlab.Vector:\n    return x"),
        ("from .svmlab import helper", "def f(): helper()"),
        ("import matplotlib.pyplot as plt", "def f():\n    plt.plot()"),
        ("def g():\n    import sklearn", "def f(): pass"),
        (locked("from svmlab.datasets import blobs\nX = blobs(3)"), "def f(): pass"),
    ],
)
def test_a_forbidden_package_that_the_function_does_not_reach_is_nobody_s_fault(
    cells: tuple[str | Cell, ...],
) -> None:
    assert policy(*cells) == {}


def test_policy_is_told_for_the_graded_function_that_reaches_it_and_for_no_other() -> None:
    cells = ("import svmlab", "def g(): svmlab", "def helper(): g()", "def f(): helper()")
    assert policy(*cells, graded=("f", "g")) == {"g": "svmlab"}
    assert policy(*cells, graded=("f",)) == {"f": "svmlab"}


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b'{"nbformat": 4, "cells": [', "cut off"),
        (b"not json", "not valid JSON"),
        (b"%PDF-1.7 \xff\xfe", "not UTF-8"),
        ('{"nbformat": 4, "cells": []}'.encode("utf-16"), "not UTF-8"),
        (b"[]", "not a notebook"),
        (b"3", "not a notebook"),
        (b'{"cells": []}', "not a notebook"),
        (b'{"nbformat": 3, "worksheets": [{"cells": []}]}', "format 3"),
        (b'{"nbformat": 5, "cells": []}', "format 5"),
        (b'{"nbformat": "4", "cells": []}', "format '4'"),
        (b'{"nbformat": 4}', "no list of cells"),
        (b'{"nbformat": 4, "cells": {"a": 1}}', "no list of cells"),
        (b'{"nbformat": 4, "cells": [' + b"9" * 5_000 + b"]}", "not valid JSON"),
        (b"[" * 10_000 + b"]" * 10_000, "nested"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested"),
        (b"[" + b"[]," * 600_000 + b"[]]", "brackets"),
        (b" " * (notebook.MAX_BYTES + 1), "bytes"),
        (as_bytes(*[""] * (notebook.MAX_CELLS + 1)), "cells"),
    ],
)
def test_what_is_no_notebook_is_rejected_in_one_line_with_the_reason(
    data: bytes, word: str
) -> None:
    with pytest.raises(Rejected, match=word) as caught:
        extract(data, ["f"])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_brackets_inside_text_do_not_count_as_nesting() -> None:
    assert found(cell("[{" * 1_000, "markdown"), "def f(): pass").missing == ()


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "(" * 250 + ")" * 250,
        "a = " + "-" * 100_000 + "1",
        "a = " + "1+" * 100_000 + "1",
        "a = " + "lambda: " * 10_000 + "1",
        "a" + ".b" * 100_000,
        "\n".join(" " * k + "if a:" for k in range(150)),
        "a = f'" + "{a}" * 10_000 + "'",
        "a = 1\n" * (statements.MAX_STATEMENTS + 1),
        "import " + "a," * statements.MAX_STATEMENTS + "a",
        "a = " + "9" * 5_000,
        "x" * (extraction.MAX_CODE + 1),
    ],
)
def test_a_cell_that_is_too_deep_or_too_large_is_left_out_and_the_others_are_read(
    text: str,
) -> None:
    extracted = found(text, "def f(): pass")
    assert [s.source for s in extracted.statements] == ["def f(): pass"]
    assert "cell 1" in "\n".join(extracted.remarks)


def test_the_limit_of_code_holds_for_all_cells_together() -> None:
    half = "#" * (extraction.MAX_CODE // 2 + 1)
    extracted = found(half, half, "def f(): pass", locked(half))
    assert extracted.missing == ()
    assert [r for r in extracted.remarks if "characters of code" in r] == [
        "cell 2 was left out: the notebook has more than 500,000 characters of code"
    ]


def finally_blocks(depth: int) -> str:
    lines = [" " * k + "try:" for k in range(depth)] + [" " * depth + "pass"]
    for k in reversed(range(depth)):
        lines += [" " * k + "finally:", " " * k + " f()"]
    return "\n".join(lines)


BROKEN = "%x\n)\n"  # sends the rest through the search for magics
OPEN = 'def floor(x, digits=0):\n    """Round down."""\n    raise NotImplementedError()'


@pytest.mark.parametrize(
    "cells",
    [
        (OPEN,),
        ("def floor(x, digits=0):\n    raise NotImplementedError",),
        ("def floor(x, digits=0):\n    # soon\n    raise NotImplementedError('soon')",),
        (
            OPEN,
            "import numpy as np\nhalf = -0.5",
            "def g(x: np.ndarray) -> float:\n    return half",
        ),
        (OPEN, "experiment = [floor(x) for x in range(10**9)]"),  # which nobody needs
    ],
)
def test_a_function_that_nobody_has_begun_is_open(cells: tuple[str, ...]) -> None:
    assert found(*cells, graded=("floor", "g")).open == {"floor": range(1, 3)}
    with pytest.raises(NotImplementedError):
        call(*cells, name="floor", args=(1.5,))


@pytest.mark.parametrize(
    "cells",
    [
        ("def floor(x):\n    return 1\n    raise NotImplementedError()",),
        (OPEN, "def floor(x):\n    return 1"),
        (OPEN, "floor = lambda x: 1"),
        (OPEN, "if True:\n    def floor(x):\n        return 1"),
        (OPEN, "from math import *"),
        (OPEN, "from math import floor"),
        (OPEN, "def h(x):\n    return 1\nfloor.__code__ = h.__code__"),
        ("def anew(f):\n    return lambda x: 1", f"@anew\n{OPEN}"),
        ("def floor(x):\n    raise NotImplementedError() if x == 2.5 else StopIteration(1)",),
        (OPEN, "def g():\n    global floor\n    floor = lambda x: 1"),
        (OPEN, "def g():\n    globals()['floor'] = lambda x: 1"),
        (OPEN, "def anew():\n    global floor\n    floor = lambda x: 1", "def g(x=anew()):\n    x"),
        (OPEN, "NotImplementedError = StopIteration"),
    ],
)
def test_a_function_that_works_is_never_taken_for_an_open_one(cells: tuple[str, ...]) -> None:
    kept = found(*cells, graded=("floor", "g"))
    namespace: dict[str, Any] = {"g": lambda: None}
    assert child.execute([[s.source, s.cell, s.line] for s in kept.statements], namespace) == []
    namespace["g"]()  # as a check of another question may do first
    with contextlib.suppress(StopIteration):  # which does not say that it is open
        assert namespace["floor"](1.5) == 1
    assert kept.open == {}


def test_code_that_may_not_end_leaves_no_function_open() -> None:
    assert found(OPEN, graded=("floor", "g")).open
    for code in ("g = max(range(10_000_000_000))", "k = 9**9**9\ndef g():\n    return k"):
        assert found(OPEN, code, graded=("floor", "g")).open == {}


ADVERSARIES: dict[str, Callable[[int], bytes]] = {
    "quotes": lambda n: as_bytes(BROKEN + '"' * n),
    "triple quotes": lambda n: as_bytes(BROKEN + '"""\\' * (n // 4)),
    "backslashes": lambda n: as_bytes(BROKEN + "\\" * n),
    "continued lines": lambda n: as_bytes(BROKEN + "\\\n" * (n // 2)),
    "words": lambda n: as_bytes(BROKEN + "a " * (n // 2) + "="),
    "question marks": lambda n: as_bytes(BROKEN + "a?" * (n // 2)),
    "cell magics": lambda n: as_bytes("%%time\n" * (n // 7)),
    "blank lines": lambda n: as_bytes(" \n" * (n // 2) + "  )"),
    "one long line": lambda n: as_bytes("a=1;" * (n // 50) + "b='" + "x" * n + "'"),
    "a chain of names": lambda n: as_bytes(
        "def f(): a0\n" + "\n".join(f"a{i} = a{i + 1}" for i in range(n // 60))
    ),
    "many definitions": lambda n: as_bytes("def f(): f\n" * (n // 60)),
    "many wrappers": lambda n: as_bytes("def f(): 1\n" + "f = g(f)\n" * (n // 60)),
    "unknown names": lambda n: as_bytes(
        "def f(): (" + ",".join(f"a{i}" for i in range(n // 10)) + ")", cell("a1 " * n, "raw")
    ),
    "data": lambda n: as_bytes("a = [" + "1," * (n // 4) + "]"),
    "finally blocks, which compiling would copy": lambda n: as_bytes(finally_blocks(n // 20_000)),
    "quotes in JSON": lambda n: b'"\\' * n,
    "open JSON": lambda n: b'{"nbformat": 4, "cells": [' + b" " * n,
}


@pytest.mark.parametrize("name", ADVERSARIES)
def test_reading_takes_linear_time(name: str) -> None:
    def seconds(size: int) -> float:
        data, times = ADVERSARIES[name](size), []
        for _ in range(3):
            start = time.process_time()
            with contextlib.suppress(Rejected):
                extract(data, ["f", "g"])
            times.append(time.process_time() - start)
        return min(times)

    # Sixteen times the text: a quadratic step would take 256 times as long.
    assert seconds(320_000) < 80 * max(seconds(20_000), 1e-4)


STATEMENTS = r"""
def f(x): return g(x)|class f: pass|import numpy as np|from a import *|import svmlab, os|f = g(f)
f = lambda: g|f = 1|f, g = 1, 2|%time f|!ls|f?|x = !ls|@g\ndef f(): pass|if x: import scipy as f
try: f = svmlab\nexcept: pass|for f in x: f[0] = 1|f: int|f.a = 1|f[0] += 1|f.append(1)|global f
with a as f: pass|match f:\n  case f: pass|return f|await f|[f for f in g]|(f := 1)|nonlocal f
async def f(): await g|from __future__ import annotations|def f(a, a): pass|check("f")|del f
def g(): import sklearn|x = __import__("svmlab")|f'{f}'|lambda f: g|while x: break|x: f = f; g(x)
"""
FRAGMENTS = r"""
def f(x):|    return x|f = |%%time|%%bash|if x:|    def f(): g|try:|except:|    pass|else:|match f:
'''|"|'|(|)|[|]|{|}|\|#|;|:|,|=|0x|1e999|%|!|?|\0|\r|\t|\f|\ud800|\ufeff
"""


def choices(text: str) -> st.SearchStrategy[str]:
    words = text.strip("\n").replace("\n", "|").split("|")
    odd = {"\\n": "\n", "\\0": "\0", "\\r": "\r", "\\t": "\t", "\\f": "\f", "\\ud800": "\ud800"}
    for escape, character in odd.items():
        words = [word.replace(escape, character) for word in words]
    return st.sampled_from(words)


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
STATEMENT, FRAGMENT = choices(STATEMENTS), choices(FRAGMENTS)
CODE = st.one_of(
    st.lists(STATEMENT, min_size=1, max_size=8).map("\n".join),
    st.lists(STATEMENT | FRAGMENT, min_size=1, max_size=8).map("\n".join),
    st.lists(STATEMENT | FRAGMENT | ANY_TEXT, min_size=1, max_size=8).map("".join),
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
FLAG = st.booleans() | ANY_JSON
MARKS = st.fixed_dictionaries(
    {"grade_id": st.sampled_from(["f", "test-f", "setup"]) | ANY_JSON},
    optional={"locked": FLAG, "grade": FLAG, "solution": FLAG},
)
CODE_CELL = st.fixed_dictionaries(
    {"cell_type": st.just("code"), "source": CODE},
    optional={"metadata": st.fixed_dictionaries({"nbgrader": MARKS | ANY_JSON}) | ANY_JSON},
)
ODD_CELL = ANY_JSON | st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", "raw"]) | ANY_JSON},
    optional={"source": CODE | st.lists(CODE, max_size=3) | ANY_JSON, "metadata": ANY_JSON},
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CODE_CELL | ODD_CELL, min_size=1, max_size=6))
def test_any_notebook_is_read_or_rejected(cells: list[Any]) -> None:
    extracted = extract(json.dumps({"nbformat": 4, "cells": cells}).encode(), ["f"], ["g"])
    kept = set(extracted.statements)
    assert kept <= set(extracted.everything)
    assert all(1 <= s.cell <= len(cells) and s.line >= 1 for s in kept)
    assert ("f" in extracted.missing) or kept
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of backslashes in strings
        for statement in extracted.everything:
            assert len(ast.parse(statement.source).body) == 1


@settings(max_examples=200, deadline=None)
@given(st.binary() | ANY_JSON.map(json.dumps).map(str.encode))
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    with contextlib.suppress(Rejected):
        extract(data, ["f"])
