"""Files below a folder that is ours, under names that are not: no link followed, no wait.

Everything goes through descriptors of folders (``openat``), so that what was looked at is what is
opened, and nothing outside the folder can be reached, whatever lies in it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from autograder.notebook import MAX_BYTES, Rejected, too_large
from autograder.trouble import Trouble

MAX_NAME = 100
MAX_NAME_BYTES = 200  # file systems take 255, and a report is called STUDENT.json
MAX_SHOWN = 200


class IntakeError(Trouble):
    """Submissions that cannot be taken in at all, with the way out."""


def usable_name(name: str) -> str:
    r"""Return why a student cannot have this id, or an empty text.

    The id is the name of a folder, of reports, and a word in tables.

    >>> usable_name("ada"), usable_name("../ada"), usable_name("a\nb")
    ('', 'it contains / or \\', 'it contains characters that cannot be printed')
    """
    if not name:
        return "it is empty"
    if "/" in name or "\\" in name:
        return "it contains / or \\"
    if set(name) & set('<>"&'):
        return 'it contains one of < > " &'
    if name.startswith("."):
        return "it begins with a dot"
    if not name.isprintable():
        return "it contains characters that cannot be printed"
    if name != name.strip():
        return "it begins or ends with a space"
    if len(name) > MAX_NAME or len(name.encode()) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME} characters or {MAX_NAME_BYTES} bytes"
    return ""


def shown(name: str) -> str:
    r"""Return a name as it can be printed anywhere: escaped, and cut when it is long.

    >>> shown("a\x1b[2J\udcff.ipynb")
    'a\\x1b[2J\\udcff.ipynb'
    """
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def kind_of(mode: int) -> str:
    """Say what a file is that is not a regular one; empty for a regular one.

    >>> kind_of(stat.S_IFLNK), kind_of(stat.S_IFREG | 0o644)
    ('a symbolic link', '')
    """
    kinds = {
        stat.S_IFREG: "",
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


@contextlib.contextmanager
def folder_below(root: Path, *parts: str, make: bool = False) -> Iterator[int]:
    """Open a folder below ``root``, if asked making it, and yield its descriptor.

    Raises :class:`Rejected` when a part is missing, a link, or no folder.
    """
    place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            inner = _open_folder(place, part, make)
            os.close(place)
            place = inner
        yield place
    finally:
        os.close(place)


def _open_folder(place: int, name: str, make: bool) -> int:
    try:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=place)
        mode = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            kind = kind_of(mode) or "a file"
            raise Rejected(f"{shown(name)} is {kind} where a folder is expected")
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    except OSError as problem:
        raise _unreadable(name, problem) from None


def read_at(place: int, name: str, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file in an open folder; raise :class:`Rejected` otherwise."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        # Looked at before it is opened, because opening a device can do things; and looked at
        # again when it is open, because somebody may have been faster.
        _must_be_a_file(name, os.stat(name, dir_fd=place, follow_symlinks=False))
        with os.fdopen(os.open(name, flags, dir_fd=place), "rb") as file:
            info = os.fstat(file.fileno())
            _must_be_a_file(name, info)
            if info.st_size > limit:
                raise too_large(info.st_size, limit)
            data = file.read(info.st_size + 1)
    except OSError as problem:
        raise _unreadable(name, problem) from None
    if len(data) > info.st_size:
        raise Rejected(f"{shown(name)} grew while it was read; try again when it is complete")
    return data


def _must_be_a_file(name: str, info: os.stat_result) -> None:
    if kind := kind_of(info.st_mode):
        raise Rejected(f"{shown(name)} is {kind}, not a file; hand in the .ipynb file itself")


def _unreadable(name: str, problem: OSError) -> Rejected:
    if isinstance(problem, FileNotFoundError):
        return Rejected(f"there is no {shown(name)}")
    return Rejected(f"{shown(name)} cannot be read ({problem.strerror or problem})")


def write_at(root: int, place: int, name: str, data: bytes) -> None:
    """Write a file in ``place`` as a whole or not at all, by way of a dot-file in ``root``."""
    fresh = f".{secrets.token_hex(8)}.part"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=root)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(fresh, name, src_dir_fd=root, dst_dir_fd=place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh, dir_fd=root)
        raise
