"""From what a student's function returned to plain numbers, or a clear word why not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from autograder.outcome import Verdict, Wrong, full, none, remark
from autograder.sandbox.child import Unusable
from svmlab.types import Indices, Matrix, Vector

STEP_LIMIT = 1e-4  # of the largest term of the formula: float32 inside is fine


def array(value: Any, what: str) -> Any:
    """Return a float64 array of whatever shape; refuse what is not made of finite numbers.

    >>> array([1, True, 2.5], "w")
    array([1. , 1. , 2.5])
    """
    if value is None:
        raise Wrong(f"{what} is None: is a `return` missing?")
    if _unusable(value) or isinstance(value, str | dict):
        raise Wrong(f"{what} should be made of numbers, it is {_kind(value)}")
    try:
        result = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise Wrong(f"{what} should be an array of numbers; its rows differ in length") from None
    except OverflowError:
        raise Wrong(f"{what} holds a number too large for float64") from None
    if not np.all(np.isfinite(result)):
        bad = result[~np.isfinite(result)].flat[0]
        raise Wrong(f"{what} contains {bad}: look for a division by zero or an overflow")
    return result


def _unusable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_unusable(item) or isinstance(item, str) or item is None for item in value)
    return isinstance(value, Unusable)


def _kind(value: Any) -> str:
    if isinstance(value, Unusable):
        return f"a {value.kind}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} that holds something else"
    return f"a {type(value).__name__}"


def number(value: Any, what: str) -> float:
    """Return one number; int, bool, 0-d arrays and arrays of one entry will do.

    >>> number(np.array([[3]]), "b")
    3.0
    """
    if type(value) is float and math.isfinite(value):  # as nearly all are
        return value
    result = array(value, what)
    if result.size != 1:
        raise Wrong(f"{what} should be one number, it is an array of shape {result.shape}")
    return float(result.reshape(()))


def vector(value: Any, n: int, what: str) -> Vector:
    """Return n numbers; shapes (n, 1) and (1, n) will do.

    >>> vector([[1], [2]], 2, "w")
    array([1., 2.])
    """
    result = array(value, what)
    if result.shape not in ((n,), (n, 1), (1, n)):
        raise Wrong(f"{what} should have shape ({n},), it has {result.shape}")
    if result.shape != (n,):
        shape = "(n, 1)" if result.shape == (n, 1) else "(1, n)"
        remark(f"{what} has shape {shape}; (n,) is meant, and it was taken as that")
    return np.ascontiguousarray(result.reshape(n))


def matrix(value: Any, shape: tuple[int, int], what: str) -> Matrix:
    """Return a matrix of exactly this shape."""
    result = array(value, what)
    if result.shape != shape:
        raise Wrong(f"{what} should have shape {shape}, it has {result.shape}")
    return np.ascontiguousarray(result)


def integers(value: Any, n: int, what: str) -> Indices:
    """Return n whole numbers; floats will do if they are whole."""
    result = vector(value, n, what)
    if np.any(result != np.round(result)):
        bad = result[result != np.round(result)][0]
        raise Wrong(f"{what} should hold whole numbers, it holds {bad:g}")
    return result.astype(np.int64)


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """Return the two parts of a tuple, list or array of two.

    >>> pair([1, 2.0], "bounds")
    (1, 2.0)
    """
    parts = list(value) if isinstance(value, tuple | list) or _has_rows(value) else None
    if parts is None or len(parts) != 2:
        kind = _name(value) if parts is None else f"{len(parts)} values"
        raise Wrong(f"{what} should be two values, `return a, b`; it is {kind}")
    return parts[0], parts[1]


def _has_rows(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _name(value: Any) -> str:
    if value is None:
        return "None: is a `return` missing?"
    return f"one {type(value).__name__}" if not isinstance(value, Unusable) else f"a {value.kind}"


def truth(value: Any, what: str) -> bool:
    """Return True or False; 0 and 1 will do.

    >>> truth(np.bool_(True), "violates_kkt")
    True
    """
    result = number(value, what)
    if result not in (0.0, 1.0):
        raise Wrong(f"{what} should be True or False, it is {result:g}")
    return bool(result)


def compare(
    got: Sequence[Any] | Vector,
    expected: Sequence[Any] | Vector,
    scale: ArrayLike,
    what: str,
    case: Callable[[int], str],
) -> Verdict:
    """Judge the answers of a step function: |difference| ≤ 1e-4 × the largest term of the formula.

    Parameters
    ----------
    got, expected : answers to m cases, numbers or arrays, and what they should be
    scale : the largest term of the formula in each case, (m,) or one number
    what : the function
    case : says in words what the k-th case was

    >>> compare([1.0, 2.5], [1.0, 2.0], 1.0, "eta", lambda k: f"case {k}").reason
    'eta is wrong on 1 of 2 inputs. For case 1 it should be 2, yours is 2.5'
    """
    m = len(got)
    difference = [np.abs(np.subtract(a, b)).max() for a, b in zip(got, expected, strict=True)]
    ratio = difference / np.maximum(np.broadcast_to(scale, (m,)), 1e-12)
    worst = float(ratio.max())
    bad = np.flatnonzero(ratio > STEP_LIMIT)
    if len(bad) == 0:
        return full(f"{what} is right on all {m} inputs", worst, STEP_LIMIT)
    k = int(bad[0])
    reason = (
        f"{what} is wrong on {len(bad)} of {m} inputs. For {case(k)} it should be "
        f"{_show(expected[k])}, yours is {_show(got[k])}"
    )
    return none(reason, worst, STEP_LIMIT)


def _show(value: Any) -> str:
    if np.ndim(value) == 0:
        return f"{float(value):.6g}"
    entries = ", ".join(f"{float(entry):.6g}" for entry in np.ravel(value)[:6])
    return f"({entries}{', …' if np.size(value) > 6 else ''})"
