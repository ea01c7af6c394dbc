"""Where hidden data come from: seeds derived from (course secret, student, check).

The check code is public; what is secret is the key from which its data are drawn.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autograder.trouble import Trouble

SECRET_BYTES = 32
PUBLIC = b""  # at home: the key that everybody has


class SecretMissing(Trouble):
    """The course has no secret: its hidden checks cannot be drawn."""


def derive_seed(secret: bytes, *parts: str) -> int:
    """Return a 63-bit seed that nobody can guess without the secret.

    >>> derive_seed(b"k", "ada", "bounds") == derive_seed(b"k", "ada", "bounds")
    True
    >>> derive_seed(b"k", "ada", "bounds") == derive_seed(b"k", "adab", "ounds")
    False
    """
    digest = hashlib.blake2b(key=secret, digest_size=8)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    return int.from_bytes(digest.digest(), "big") >> 1


def fingerprint(secret: bytes) -> str:
    """Name a secret without giving it away; the public key is "public".

    >>> fingerprint(PUBLIC)
    'public'
    """
    if secret == PUBLIC:
        return "public"
    return hashlib.blake2b(secret, digest_size=6, person=b"fingerprint").hexdigest()


def secret_path(course: Path) -> Path:
    """Return where a course keeps its secret."""
    return course / ".autograder" / "secret"


def read_secret(course: Path) -> bytes:
    """Return the secret of a course; a missing one is an error, never a new one."""
    path = secret_path(course)
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        raise SecretMissing(
            f"the course secret {path} is missing. Restore it from your backup: with another one "
            "every student would get other hidden tests. (`autograder release` makes it once, for "
            "a new course.)"
        ) from None
    if len(secret) != SECRET_BYTES:
        raise SecretMissing(
            f"{path} has {len(secret)} bytes, not {SECRET_BYTES}: restore it from your backup"
        )
    return secret


def make_secret(course: Path) -> bytes:
    """Return the secret of a course, making it if the course has none yet (mode 0600)."""
    path = secret_path(course)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        fresh = path.with_name(f"secret.{os.getpid()}.{secrets.token_hex(4)}")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        try:
            with contextlib.suppress(FileExistsError):  # another release was first: keep its secret
                _rename_new(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)
    return read_secret(course)


def _rename_new(source: Path, target: Path) -> None:
    """Rename without replacing, also where the file system has no hard links."""
    try:
        os.link(source, target)
    except (OSError, NotImplementedError) as problem:
        if isinstance(problem, FileExistsError) or target.exists():
            raise FileExistsError(target) from None
        source.rename(target)


@dataclass(frozen=True)
class Draw:
    """The data of one check for one student: a generator, seeds, and a problem of the pool.

    >>> draw = Draw(7)
    >>> draw.seeds(2) == Draw(7).seeds(2), draw.problem is None
    (True, True)
    """

    seed: int
    problem: Mapping[str, Any] | None = None
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", np.random.default_rng(self.seed))

    def seeds(self, count: int) -> list[int]:
        """Return seeds for the generators that the student's function gets."""
        generator = np.random.default_rng([self.seed, 1])  # apart from rng: order does not matter
        return [int(seed) for seed in generator.integers(2**31, size=count)]


@dataclass(frozen=True)
class Seeds:
    """All that one student's data are drawn from: a worker gets this, never the secret.

    ``drawn`` has the seed and the problem of each check; ``source`` is "public", or the fingerprint
    of the secret.
    """

    student: str
    source: str
    drawn: Mapping[str, tuple[int, Mapping[str, Any] | None]]

    def draw(self, check: str) -> Draw:
        """Return the data of a check, from their beginning.

        >>> Seeds("ada", "public", {"eta": (7, None)}).draw("eta").seed
        7
        """
        return Draw(*self.drawn[check])
