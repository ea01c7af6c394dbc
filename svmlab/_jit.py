"""One decorator for compiled loops, which are plain Python where numba is missing.

A function under :func:`jit` is compiled by numba at its first call, not at import, so that small
problems never wait for a compiler. ``f.plain`` is the same function uncompiled, all the way down.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

KEEP_CACHE_DAYS = 30


class Jitted:
    """A function in two forms: ``plain`` Python and ``compiled`` by numba."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options

    def __call__(self, *args: Any) -> Any:
        """Call the compiled form."""
        return self.compiled(*args)

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The function uncompiled, calling the uncompiled forms of its helpers."""
        return self._with_helpers("plain")

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function compiled by numba, or plain where numba is missing."""
        try:
            import numba
        except ImportError:
            return self.plain
        function = self._with_helpers("compiled")
        folder = cache_folder()
        if folder is None:
            return numba.njit(**self._options)(function)  # type: ignore[no-any-return]
        previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(cache=True, **self._options)(function)  # type: ignore[no-any-return]
        finally:
            numba.config.CACHE_DIR = previous

    def _with_helpers(self, form: str) -> Callable[..., Any]:
        """Bind the other jitted functions that this one calls in the same form."""
        names = dict(self._function.__globals__)
        for name in self._function.__code__.co_names:
            if isinstance(names.get(name), Jitted):
                names[name] = getattr(names[name], form)
        bound = FunctionType(
            self._function.__code__,
            names,
            self._function.__name__,
            self._function.__defaults__,
            self._function.__closure__,
        )
        return functools.update_wrapper(bound, self._function)


def jit(**options: Any) -> Callable[[Callable[..., Any]], Jitted]:
    """Mark a loop to be compiled at its first call; options are numba's.

    >>> @jit()
    ... def twice(x):
    ...     return 2 * x
    >>> twice.plain(21)
    42
    """

    def decorate(function: Callable[..., Any]) -> Jitted:
        assert isinstance(function, FunctionType)
        return Jitted(function, options)

    return decorate


@functools.cache
def cache_folder() -> Path | None:
    """Return a writable folder for machine code named by the hash of svmlab's sources, or None.

    numba looks only at the file that holds a function: a helper changed in another file would leave
    old machine code in use. The hash covers every source.
    """
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svmlab"
    folder = root / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)
    except (OSError, RuntimeError):
        return None
    oldest = time.time() - KEEP_CACHE_DAYS * 86400
    for other in root.iterdir():
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)
    return folder
