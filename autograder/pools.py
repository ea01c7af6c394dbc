"""Pools of screened problems: derived from the course secret at release, never while grading.

A simple solver does not solve every problem; a check is fair only on problems that correct code
solves whatever its generator. The k-th problem of a pool is the first candidate of its own
sequence that the reference passes with half of each limit.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.manifest import Check, load_manifest
from autograder.seeds import PUBLIC, Seeds, derive_seed, fingerprint, read_secret
from autograder.sources import reference_source
from autograder.trouble import Trouble

POOL_SIZE = 64
MAX_ATTEMPTS = 200
Entry = Mapping[str, Any]
Pools = Mapping[str, Sequence[Entry]]
Functions = Mapping[str, Callable[..., Any]]


class PoolError(Trouble):
    """A pool that cannot be made or read, with the way out."""


def functions_of(source: str) -> dict[str, Callable[..., Any]]:
    """Return the functions of trusted source: the reference, perhaps with a mistake built in."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "<reference>", "exec"), namespace)
    return {name: value for name, value in namespace.items() if callable(value)}


@functools.cache
def fast_reference(homework: str) -> Functions:
    """Return the reference's functions, compiled where numba is there and can."""
    source = reference_source(homework)
    plain = functions_of(source)
    try:
        import numba
    except ImportError:
        return plain
    twins = functions_of(source)
    namespace = next(iter(twins.values())).__globals__
    compiled = {name: numba.njit(function) for name, function in twins.items()}
    namespace.update(compiled)

    def either(name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            try:
                return compiled[name](*args)
            except numba.core.errors.NumbaError:  # not a function that numba can compile
                return plain[name](*args)

        return call

    return {name: either(name) for name in plain}


def screened_entry(secret: bytes, homework: str, pool: str, k: int) -> dict[str, Any]:
    """Return the k-th problem of a pool: the first of its candidates that passes the screening."""
    module = load_manifest(homework).pools()[pool]
    return _screened(secret, module, pool, k, fast_reference(homework))


def _screened(
    secret: bytes, module: ModuleType, pool: str, k: int, reference: Functions
) -> dict[str, Any]:
    for attempt in range(MAX_ATTEMPTS):
        seed = derive_seed(secret, "pool", pool, str(k), str(attempt))
        found = module.screen(pool, seed, reference)
        if found is not None:
            return {"seed": seed, **found}
    raise PoolError(
        f"none of {MAX_ATTEMPTS} candidates for problem {k} of pool {pool} was accepted: "
        "its family is too hard for the reference"
    )


def make_pools(
    secret: bytes, homework: str, progress: Callable[[str], None] = lambda _: None
) -> dict[str, list[dict[str, Any]]]:
    """Screen all pools of a homework; a minute or so with numba, several without."""
    pools = {}
    for pool in load_manifest(homework).pools():
        progress(f"screening {POOL_SIZE} problems for {pool}")
        pools[pool] = [screened_entry(secret, homework, pool, k) for k in range(POOL_SIZE)]
    return pools


class LazyPools(Mapping[str, Sequence[Entry]]):
    """The pools of a secret, each problem screened when it is first asked for (self-tests)."""

    def __init__(self, secret: bytes, homework: str) -> None:
        self._names = list(load_manifest(homework).pools())
        self._lazy = {name: _LazyPool(secret, homework, name) for name in self._names}

    def __getitem__(self, name: str) -> Sequence[Entry]:
        return self._lazy[name]

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _LazyPool(Sequence[Entry]):
    def __init__(self, secret: bytes, homework: str, name: str) -> None:
        self._entry = functools.cache(functools.partial(screened_entry, secret, homework, name))

    def __getitem__(self, k: Any) -> Any:
        return self._entry(k)

    def __len__(self) -> int:
        return POOL_SIZE


def public_pools(homework: str) -> Pools:
    """Return the pools that everybody has, from the package."""
    if not load_manifest(homework).pools():
        return {}
    path = files("autograder") / "homework" / "pools" / f"{homework}.json"
    return _chosen(json.loads(path.read_text(encoding="utf-8")), homework, str(path))


def pools_path(course: Path, homework: str) -> Path:
    """Return where a course keeps the screened problems of a homework."""
    return course / ".autograder" / "pools" / f"{homework}.json"


def write_pools(
    course: Path, homework: str, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Screen the pools of a course unless they are there already for its secret."""
    secret, path = read_secret(course), pools_path(course, homework)
    if path.exists():
        course_pools(course, homework)  # raises if they belong to another secret
        return path
    data = {"secret": fingerprint(secret), "pools": make_pools(secret, homework, progress)}
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    try:
        fresh.touch(mode=0o600)  # before a seed is in it: hidden data are drawn from these
        fresh.write_text(json.dumps(data), encoding="utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return path


def course_pools(course: Path, homework: str) -> Pools:
    """Return the pools of a course; missing or foreign ones are an error."""
    path = pools_path(course, homework)
    if not path.exists():
        raise PoolError(f"{path} is missing: run `autograder release {homework} --course {course}`")
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["secret"] != fingerprint(read_secret(course)):
        raise PoolError(
            f"{path} was made with another course secret; restore the secret, or remove the file "
            "and release again"
        )
    return _chosen(data["pools"], homework, str(path))


def _chosen(data: Mapping[str, Any], homework: str, place: str) -> Pools:
    names = load_manifest(homework).pools()
    if missing := sorted(set(names) - set(data)):
        raise PoolError(f"{place} lacks the pools {missing}: release {homework} again")
    return {name: data[name] for name in names}


def seeds_for(
    homework: str, *, secret: bytes = PUBLIC, student: str = "", pools: Pools | None = None
) -> Seeds:
    """Return what a student's data are drawn from: equal difficulty for all, other numbers.

    Parameters
    ----------
    homework : whose checks
    secret : key of the hidden data; without it they are the public ones
    student : whose data
    pools : the screened problems of that secret; without them they are screened now
    """
    if pools is None:
        pools = public_pools(homework) if secret == PUBLIC else LazyPools(secret, homework)
    checks = load_manifest(homework).checks
    drawn = {check.id: _drawn(check, secret, student, pools) for check in checks}
    return Seeds(student, fingerprint(secret), drawn)


def _drawn(check: Check, secret: bytes, student: str, pools: Pools) -> tuple[int, Entry | None]:
    seed = derive_seed(secret, student, check.id)
    if check.pool is None:
        return seed, None
    pool = pools[check.pool]
    return seed, pool[derive_seed(secret, student, check.id, "problem") % len(pool)]


def write_public_pools(folder: Path, homework: str) -> Path | None:
    """Screen the public pools of a homework anew and store them, one problem a line."""
    parts = []
    for name, entries in make_pools(PUBLIC, homework, print).items():
        rows = ",\n  ".join(json.dumps(entry) for entry in entries)
        parts.append(f" {json.dumps(name)}: [\n  {rows}]")
    if not parts:
        return None
    path = folder / f"{homework}.json"
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    return path
