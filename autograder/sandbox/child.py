"""The program in which a student's code runs: it executes statements, then answers calls.

It needs numpy and the standard library only and imports nothing of this project, because in the
sandbox there is nothing else. The frames that it speaks are used on the judge's side too: a frame
is a length, a JSON text and plain ``.npy`` arrays, checked before anything is allocated. Nothing
is ever pickled.
"""

from __future__ import annotations

import ast
import functools
import io
import itertools
import json
import math
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

MAX_FRAME = 64 * 2**20
MAX_JSON = 4 * 2**20  # of it: a list of n bytes of JSON can take twenty times that in memory
MAX_ARRAYS = 10_000
MAX_BITS = 1_000  # of a whole number
HUGE = "number of more than 300 digits"
MAX_TEXT = 4_000  # characters of output that a reply carries
MAX_DEPTH = 12
PLAIN = (bool, int, float, str)
READY = b"ready"  # the first frame: Python, numpy and the limits are there


class Forged(Exception):
    """Bytes that no honest child sends."""


@dataclass(frozen=True)
class Seeded:
    """Stands for ``numpy.random.default_rng(seed)``, which is built on the other side."""

    seed: int


@dataclass(frozen=True)
class Unusable:
    """Stands for a value that is neither a number, a text, an array nor a list of them."""

    kind: str


def encode(value: Any) -> bytes:
    """Return the frame of a value, without its length.

    >>> decode(encode((1, [2.5, None], np.array([True]))))
    (1, [2.5, None], array([ True]))
    >>> decode(encode({1, 2}))
    Unusable(kind='set')
    """
    arrays: list[bytes] = []
    text = json.dumps(_plain(value, arrays, 0)).encode()
    parts = [struct.pack(">I", len(text)), text]
    for data in arrays:
        parts += [struct.pack(">Q", len(data)), data]
    return b"".join(parts)


def usable(value: Any) -> Any:
    """Return a value as the other side will see it; what is too large is :class:`Unusable`."""
    frame = encode(value)
    try:
        return decode(frame)
    except Forged:
        return Unusable(f"{type(value).__name__} that is too large to send")


def _plain(value: Any, arrays: list[bytes], depth: int) -> Any:
    """Return what stands for a value in the JSON text; arrays are put aside."""
    if value is None or type(value) in PLAIN:
        return {"unusable": HUGE} if _huge(value) else value
    if depth > MAX_DEPTH:
        return {"unusable": "deeply nested value"}
    if isinstance(value, np.ndarray | np.generic):
        return _plain_array(value, arrays)
    if isinstance(value, list | tuple):
        items = [_plain(item, arrays, depth + 1) for item in list.__iter__(list(value))]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {"dict": [[str(key), _plain(value[key], arrays, depth + 1)] for key in value]}
    if isinstance(value, Seeded):
        return {"seeded": value.seed}
    if isinstance(value, Unusable):
        return {"unusable": value.kind}
    return {"unusable": type(value).__name__}


def _huge(value: Any) -> bool:
    return type(value) is int and value.bit_length() > MAX_BITS


def _plain_array(value: Any, arrays: list[bytes]) -> Any:
    array = np.array(value, copy=True, subok=False)
    if array.dtype.kind not in "biuf":
        return {"unusable": f"array of {array.dtype}"}
    arrays.append(_array_head(array.dtype.str, array.shape) + array.tobytes())
    return {"array": len(arrays) - 1, "shape": array.shape}


@functools.lru_cache(1000)
def _array_head(kind: str, shape: tuple[int, ...]) -> bytes:
    """Return what stands before the numbers of an array in the ``.npy`` format."""
    buffer = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, about)
    return buffer.getvalue()


def decode(frame: bytes) -> Any:
    """Return the value of a frame; anything that does not fit is :class:`Forged`."""
    try:
        (length,) = struct.unpack_from(">I", frame)
        if length > MAX_JSON or len(frame) > MAX_FRAME:
            raise ValueError(f"{length} bytes of text in {len(frame)}")
        tree = json.loads(frame[4 : 4 + length])
        arrays = list(itertools.islice(_arrays(frame, 4 + length), MAX_ARRAYS))
        return _value(tree, arrays, 0)
    except Exception as problem:  # whatever such bytes do, they are not an answer
        raise Forged(f"{type(problem).__name__}: {problem}"[:200]) from None


def _arrays(frame: bytes, start: int) -> Iterator[Any]:
    while start < len(frame):
        (size,) = struct.unpack_from(">Q", frame, start)
        start += 8
        if start + size > len(frame):
            raise ValueError("an array is longer than its frame")
        yield _read_array(frame[start : start + size])
        start += size


def _read_array(data: bytes) -> Any:
    (length,) = struct.unpack_from("<H", data, 8)
    shape, dtype = _read_head(data[: 10 + length])
    rest = len(data) - 10 - length
    if math.prod(shape) * dtype.itemsize != rest:
        raise ValueError(f"array header {shape} {dtype} does not fit {rest} bytes")
    return np.frombuffer(data, dtype=dtype, offset=10 + length).reshape(shape).copy()


@functools.lru_cache(1000)
def _read_head(data: bytes) -> tuple[tuple[int, ...], Any]:
    """Return shape and kind of numbers; the same heads come again and again."""
    buffer = io.BytesIO(data)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise ValueError("unexpected version of the array format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.kind not in "biuf" or fortran or buffer.tell() != len(data):
        raise ValueError(f"array header {shape} {dtype} is none of ours")
    return shape, dtype


def _value(tree: Any, arrays: list[Any], depth: int) -> Any:
    if depth > MAX_DEPTH + 2:
        raise ValueError("too deep")
    if tree is None or type(tree) in PLAIN:
        return Unusable(HUGE) if _huge(tree) else tree
    if isinstance(tree, list):
        return [_value(item, arrays, depth + 1) for item in tree]
    if "tuple" in tree:
        return tuple(_value(item, arrays, depth + 1) for item in tree["tuple"])
    if "dict" in tree:
        return {str(key): _value(item, arrays, depth + 1) for key, item in tree["dict"]}
    if "seeded" in tree:
        return Seeded(int(tree["seeded"]))
    if "array" in tree:
        return arrays[int(tree["array"])].reshape([int(n) for n in tree["shape"]])
    return Unusable(str(tree["unusable"])[:80])


def write_frame(stream: BinaryIO, frame: bytes) -> None:
    """Send a frame with its length before it."""
    stream.write(struct.pack(">Q", len(frame)) + frame)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next frame, or None at the end; a longer one than allowed is :class:`Forged`."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack(">Q", head)
    if length > MAX_FRAME:
        raise Forged(f"a frame of {length} bytes; at most {MAX_FRAME} are allowed")
    frame = stream.read(length)
    return frame if len(frame) == length else None


class Unavailable(Exception):
    """Raised where a placeholder is used."""


class Placeholder:
    """Stands for what could not be made; says why as soon as it is used."""

    def __init__(self, reason: str) -> None:
        object.__setattr__(self, "_reason", reason)


def _complain(self: Placeholder, *_: Any, **__: Any) -> Any:
    raise Unavailable(object.__getattribute__(self, "_reason"))


for _name in [
    "getattr",
    "setattr",
    "call",
    "iter",
    "len",
    "getitem",
    "setitem",
    "bool",
    "float",
    "int",
    "index",
    "array",
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "pow",
    "rpow",
    "matmul",
    "rmatmul",
    "neg",
    "abs",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "enter",
    "contains",
]:
    setattr(Placeholder, f"__{_name}__", _complain)


class OnlyNumpy:
    """An import hook that lets the standard library and numpy pass and nothing else."""

    allowed = frozenset(sys.stdlib_module_names) | {"numpy"}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse a package that is not there when graded."""
        package = name.partition(".")[0]
        if package not in self.allowed:
            text = f"package {package} is not available when graded"
            raise ModuleNotFoundError(text, name=package)


class Sink(io.TextIOBase):
    """Takes what the student prints: keeps the beginning, passes all on where it is counted."""

    def __init__(self, counted: int | None = None) -> None:
        self.kept, self._counted = "", counted

    def write(self, text: str) -> int:
        """Keep as much as a reply may carry."""
        self.kept += text[: MAX_TEXT - len(self.kept)]
        data = text.encode("utf-8", "replace") if self._counted is not None else b""
        while data and self._counted is not None:
            data = data[os.write(self._counted, data) :]
        return len(text)

    def take(self) -> str:
        """Return what was kept, and forget it."""
        text, self.kept = self.kept, ""
        return text


def display(*objects: Any, **_: Any) -> None:
    """Stand in for IPython's function, which every notebook has: what it shows is printed."""
    print(*objects)


def execute(statements: list[list[Any]], namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Run statements one by one; what fails binds its names to placeholders that say why."""
    faults = []
    for source, cell, line in statements:
        try:
            tree = ast.increment_lineno(ast.parse(source), line - 1)
            exec(compile(tree, f"<cell {cell}>", "exec"), namespace)
        except Exception as problem:
            fault = describe(problem)
            faults.append(fault)
            for name in bound_names(source):
                namespace[name] = Placeholder(_reason(name, source, fault))
    return faults


def bound_names(source: str) -> list[str]:
    """Return the names that a top-level statement binds.

    >>> bound_names("import os.path, numpy as np"), bound_names("a, (b, c) = f(x)")
    (['os', 'np'], ['a', 'b', 'c'])
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
    return names


def _reason(name: str, source: str, fault: dict[str, Any]) -> str:
    if fault["type"] in ("ModuleNotFoundError", "Unavailable") and source.lstrip().startswith(
        ("import", "from", "@", "def", "class")
    ):
        return str(fault["message"])
    return (
        f"{name} is a variable of your notebook that cannot be made when graded; "
        "use the argument of the function"
    )


def describe(problem: BaseException) -> dict[str, Any]:
    """Return type, text and place (cell, line, function of the student's own) of an exception."""
    cell, line, function = 0, 0, ""
    trace = problem.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith("<cell "):
            cell, line, function = int(code.co_filename[6:-1]), trace.tb_lineno, code.co_name
        trace = trace.tb_next
    try:
        text = str(problem)[:500]
    except Exception:
        text = ""
    place = {"cell": cell, "line": line, "function": function}
    return {"type": type(problem).__name__, "message": text, **place}


def answer(request: dict[str, Any], namespace: dict[str, Any]) -> dict[str, Any]:
    """Call the named function on each case; stop at the first that fails unless told to go on."""
    values: list[Any] = []
    echoes: list[Any] = []
    faults: list[Any] = []
    for case in request["cases"]:
        arguments = [_argument(value) for value in case]
        fault = None
        try:
            value = namespace[request["call"]](*arguments)
            values.append(usable(value))  # now: later calls may change it
        except Exception as problem:
            fault = describe(problem)
            values.append(None)
        faults.append(fault)
        if request["echo"]:
            echoes.append([None if _is_generator(a) else usable(a) for a in arguments])
        if fault is not None and not request["go_on"]:
            break
    return {"values": values, "faults": faults, "echoes": echoes}


def _argument(value: Any) -> Any:
    if isinstance(value, Seeded):
        return np.random.default_rng(value.seed)
    return value.copy() if isinstance(value, np.ndarray) else value


def _is_generator(value: Any) -> bool:
    loaded = sys.modules.get("numpy.random")  # numpy loads it when first used, which takes time
    return loaded is not None and isinstance(value, loaded.Generator)


def main() -> None:
    """Speak frames on what was stdin and stdout; what the student's code prints goes to stderr."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    sink = Sink(2)
    sys.stdout = sys.stderr = sink
    sys.stdin = io.StringIO()
    sys.meta_path.insert(0, OnlyNumpy())
    namespace: dict[str, Any] = {"__name__": "notebook", "__builtins__": __builtins__}
    namespace["display"] = display
    myself = os.getpid()
    write_frame(replies, READY)
    while (frame := read_frame(requests)) is not None:
        request = decode(frame)
        if "statements" in request:
            reply: dict[str, Any] = {"faults": execute(request["statements"], namespace)}
            reply["names"] = [name for name in request["names"] if callable(namespace.get(name))]
        else:
            reply = answer(request, namespace)
        if os.getpid() != myself:  # a copy that a function made by forking: it has no say
            os._exit(0)
        write_frame(replies, encode({**reply, "id": request["id"], "text": sink.take()}))


if __name__ == "__main__":
    main()
