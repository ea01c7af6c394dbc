"""The frames of the child and the process in which student code runs."""

from __future__ import annotations

import io
import json
import struct
import time
from typing import NoReturn

import numpy as np
import pytest

from autograder.extract import extract
from autograder.judge import notebook_bytes
from autograder.outcome import Status
from autograder.sandbox import child
from autograder.sandbox.child import Forged, Seeded, Unusable, decode, encode, read_frame
from autograder.student import Fault, StudentFault, StudentProcess

pytestmark = pytest.mark.core


def student_of(*cells: str, names: tuple[str, ...] = ("f",), **options: object) -> StudentProcess:
    extracted = extract(notebook_bytes(*cells), names)
    return StudentProcess(extracted, names, **{"limit": 20.0, **options})  # type: ignore[arg-type]


def fault_of(student: StudentProcess, *args: object) -> Fault:
    with student, pytest.raises(StudentFault) as caught:
        student.call("f", *args)
    return caught.value.fault


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**70,
        0.1,
        "α",
        [1, [2.5, "x"]],
        (1, (2, [])),
        {"a": 1.5},
        Seeded(7),
        float("inf"),
    ],
)
def test_a_plain_value_crosses_unchanged(value: object) -> None:
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6).reshape(2, 3).T,
        np.zeros((0, 4)),
        np.array(3.5),
        np.array([True, False]),
        np.float32([1.5]),
    ],
)
def test_an_array_crosses_with_shape_and_type(array: np.ndarray) -> None:
    back = decode(encode(array))
    assert (back.shape, back.dtype) == (array.shape, array.dtype)
    assert np.array_equal(back, array)
    assert back.flags.writeable


def test_what_is_not_made_of_numbers_is_named_and_not_sent() -> None:
    class Liar:
        def __array__(self) -> object:
            raise RuntimeError

    assert decode(encode(Liar())) == Unusable("Liar")
    assert decode(encode(np.array([object()]))) == Unusable("array of object")
    assert decode(encode(1j)) == Unusable("complex")
    assert decode(encode(x for x in ())) == Unusable("generator")


def test_an_array_subclass_arrives_as_a_plain_array() -> None:
    class Sub(np.ndarray):
        pass

    back = decode(encode(np.arange(3.0).view(Sub)))
    assert type(back) is np.ndarray


def forged(tree: object, *arrays: bytes) -> bytes:
    text = json.dumps(tree).encode()
    parts = [struct.pack(">I", len(text)), text]
    for array in arrays:
        parts += [struct.pack(">Q", len(array)), array]
    return b"".join(parts)


def npy(header: str, data: bytes) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00",
        struct.pack(">I", 2**31) + b"{}",
        struct.pack(">I", 4) + b"nope",
        forged({"array": 0, "shape": [1]}),
        forged({"unknown": 1}),
        forged({"array": 0, "shape": [1]}, b"\x93NUMPY\x09\x00"),
        forged(
            {"array": 0, "shape": [2]},
            npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"x" * 8),
        ),
        forged(
            {"array": 0, "shape": [2**40]},
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", b"x" * 8),
        ),
        forged(
            {"array": 0, "shape": [5]},
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", b"x" * 8),
        ),
        forged({"array": 0}, struct.pack(">Q", 2**40)),
        struct.pack(">I", 20_000) + b"[" * 10_000 + b"]" * 10_000,
    ],
)
def test_forged_bytes_are_refused(frame: bytes) -> None:
    with pytest.raises(Forged):
        decode(frame)


def test_a_frame_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(Forged, match="at most"):
        read_frame(io.BytesIO(struct.pack(">Q", 2**40) + b"x"))


def test_a_call_returns_what_the_function_returns() -> None:
    with student_of(
        "import numpy as np\ndef f(x, rng):\n    return x * 2, rng.random()"
    ) as student:
        doubled, drawn = student.call("f", np.arange(3.0), Seeded(5))
    assert doubled.tolist() == [0, 2, 4]
    assert drawn == np.random.default_rng(5).random()


def test_many_calls_are_one_message_and_do_not_share_arguments() -> None:
    source = "def f(x):\n    x += 1\n    return x"
    x = np.zeros(2)
    with student_of(source) as student:
        assert [v.tolist() for v in student.call_many("f", [(x,), (x,)])] == [[1, 1], [1, 1]]
        _, after = student.call_echo("f", x)
    assert after[0].tolist() == [1, 1]
    assert x.tolist() == [0, 0]


def test_an_exception_is_told_with_cell_and_line() -> None:
    fault = fault_of(student_of("# first cell", "\ndef f():\n    a = 0\n    return 1 / a"))
    assert fault.status is Status.ERROR
    assert fault.reason == "f raised ZeroDivisionError in cell 2, line 4"
    assert fault.private == "division by zero"


def test_a_stub_is_not_written_yet_and_a_stub_that_is_needed_is_named() -> None:
    stub = "def g():\n    raise NotImplementedError()"
    assert fault_of(student_of("def f():\n    raise NotImplementedError")).reason == (
        "not implemented"
    )
    assert fault_of(student_of(stub, "def f():\n    return g()")).reason == (
        "f needs g, which is not implemented"
    )


def test_a_missing_function_and_one_that_does_not_parse_are_told_apart() -> None:
    assert "no function f" in fault_of(student_of("x = 1")).reason
    assert fault_of(student_of("def f(x:\n    pass")).kind == "SyntaxError"


def test_an_endless_loop_ends_with_a_clear_word_and_the_next_call_works() -> None:
    source = "def f(n):\n    while n:\n        pass\n    return 1"
    started = time.monotonic()
    with student_of(source, limit=1.0) as student:
        with pytest.raises(StudentFault) as caught:
            student.call("f", 1)
        assert student.call("f", 0) == 1
    assert caught.value.fault.status is Status.TIMEOUT
    assert "never ends" in caught.value.fault.reason
    assert time.monotonic() - started < 4 * 5.0


@pytest.mark.parametrize("way", ["import os; os._exit(0)", "import sys; sys.exit(3)", "quit()"])
def test_a_child_that_ends_is_replaced(way: str) -> None:
    source = f"def f(end):\n    if end:\n        {way}\n    return 7"
    with student_of(source) as student:
        with pytest.raises(StudentFault) as caught:
            student.call("f", True)
        assert student.call("f", False) == 7
    assert caught.value.fault.status in (Status.KILLED, Status.ERROR)


def test_packages_other_than_numpy_are_placeholders_that_say_so_on_use() -> None:
    source = "import matplotlib.pyplot as plt\ndef f(use):\n    return plt.plot if use else 1"
    with student_of(source) as student:
        assert student.call("f", False) == 1
        with pytest.raises(StudentFault) as caught:
            student.call("f", True)
    assert "package matplotlib is not available when graded" in caught.value.fault.reason


def test_a_forbidden_package_inside_a_function_is_policy() -> None:
    fault = fault_of(student_of("def f():\n    import sklearn.svm\n    return 1"))
    assert fault.status is Status.POLICY
    assert "sklearn" in fault.reason


def test_a_notebook_variable_that_cannot_be_made_points_to_the_argument() -> None:
    cells = ("import pandas as pd", "X = pd.read_csv('x.csv')", "def f(n):\n    return X + n")
    fault = fault_of(student_of(*cells), 1)
    assert "X is a variable of your notebook" in fault.reason
    assert "argument" in fault.reason


def test_a_name_bound_by_a_side_effect_is_found_by_running_all_cells() -> None:
    cells = ("globals()['scale'] = 3", "def f(x):\n    return scale * x")
    with student_of(*cells) as student:
        assert student.call("f", 2) == 6


def test_prints_and_input_do_not_disturb_the_protocol() -> None:
    source = (
        "import os, sys\ndef f():\n    print('x' * 10_000)\n    os.write(1, b'garbage')\n"
        "    sys.stdout.flush()\n    try:\n        input()\n    except EOFError:\n        return 5"
    )
    with student_of(source) as student:
        assert student.call("f") == 5
        assert 0 < len(student.text) <= child.MAX_TEXT


def test_a_function_may_display_as_it_does_in_a_notebook() -> None:
    source = "def f(x):\n    display(x, 'and', x + 1, raw=True)\n    return x"
    with student_of(source) as student:
        assert student.call("f", 3) == 3
        assert student.text == "3 and 4\n"


def test_supplied_and_overriding_functions_are_there() -> None:
    source = "def f(x):\n    return helper(step(x))\ndef step(x):\n    return -x"
    override = "def step(x):\n    return x + 1"
    options = {"supplied": "def helper(x):\n    return 10 * x", "override": override}
    with student_of(source, names=("f", "step"), **options) as student:
        assert student.call("f", 1) == 20


def test_outputs_go_on_after_a_failure() -> None:
    with student_of("def f(x):\n    return 1 / x") as student:
        first, second = student.outputs("f", [(0,), (2,)])
    assert isinstance(first, Fault)
    assert first.kind == "ZeroDivisionError"
    assert second == [0.5, [2]]


def refuse() -> NoReturn:
    pytest.fail("a process was started")


def test_an_open_function_needs_no_process() -> None:
    source = "def f(x, y=2):\n    raise NotImplementedError()"
    fault = fault_of(student_of(source, launch=refuse), 1)
    assert (fault.status, fault.kind) == (Status.ERROR, "NotImplementedError")
    assert fault == fault_of(student_of(source, "def g():\n    exec('pass')"), 1)  # which runs it
    cases = [(1,), (1, np.zeros(3))]
    with student_of(source, launch=refuse) as student:
        assert student.outputs("f", cases) == [fault, fault]
        for ask in (lambda: student.call_many("f", cases), lambda: student.call_echo("f", 1, 2)):
            with pytest.raises(StudentFault, match="not implemented"):
                ask()


def test_an_open_function_is_called_where_ours_stands_in_or_its_arguments_do_not_fit() -> None:
    source = "def f(x):\n    raise NotImplementedError()"
    with student_of(source, override="def f(x):\n    return x + 1") as student:
        assert student.call("f", 1) == 2
    assert fault_of(student_of(source), 1, 2).kind == "TypeError"
