"""Read a zip or a folder that strangers have filled: nothing is unpacked, nothing is followed.

Members are listed with what is wrong with each, and read one at a time, within limits, into
memory. No name of a member ever becomes a path on disk.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from autograder.intake.below import IntakeError, folder_below, kind_of, read_at
from autograder.intake.timestamps import from_local, from_seconds
from autograder.notebook import MAX_BYTES, Rejected, too_large

MAX_MEMBERS = 20_000
MAX_TOTAL = 4_000_000_000
MAX_DIRECTORY = 10_000_000  # bytes of a zip's table of contents: some hundred a member
MAX_PART = 255
MAX_PATH = 1000
CHUNK = 65_536

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # the others inflate without a limit
_ENCRYPTED = 0x41  # flags of a member: encrypted, strongly encrypted
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,  # bytes that are no text, offsets before the beginning
)
_JUNK = re.compile(
    r"(?:.*/)?(?:__MACOSX|\.DS_Store|\._[^/]*|\.ipynb_checkpoints|Thumbs\.db|desktop\.ini)(?:/.*)?"
)
_BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True)
class Member:
    """A file in a zip or a folder; ``fault`` is why it is not read."""

    path: str
    size: int = 0
    time: datetime | None = None
    fault: str = ""
    number: int = 0


class Source(Protocol):
    """Where submissions come from."""

    @property
    def members(self) -> Sequence[Member]:
        """The files in it, without folders."""

    def read(self, member: Member) -> bytes:
        """Return the bytes of a member without fault; raise :class:`Rejected` if it lied."""


def path_fault(path: str) -> str:
    r"""Return why a path is not one inside the archive, or an empty text.

    >>> path_fault("ada/hw2-smo.ipynb"), path_fault("../ada.ipynb"), path_fault("a\0.ipynb")
    ('', 'its path leads elsewhere (.. or empty parts)', 'its path contains control characters')
    """
    parts = path.split("/")
    if any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} or c in _BIDI for c in path):
        return "its path contains control characters"
    if "\\" in path:
        return "its path contains a backslash"
    if path.startswith("/") or re.match("[A-Za-z]:", path):
        return "its path is absolute"
    if any(part in {"", ".", ".."} for part in parts):
        return "its path leads elsewhere (.. or empty parts)"
    if len(path) > MAX_PATH or any(len(part.encode()) > MAX_PART for part in parts):
        return f"its name is longer than {MAX_PART} bytes"
    return ""


def is_junk(path: str) -> bool:
    """Tell whether a file is one that systems leave behind.

    >>> is_junk("__MACOSX/._ada.ipynb"), is_junk("ada/.ipynb_checkpoints/x.ipynb"), is_junk("a")
    (True, True, False)
    """
    return _JUNK.fullmatch(path) is not None


@contextlib.contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a folder, or a zip; raise :class:`IntakeError` for anything else."""
    if path.is_dir():
        yield FolderSource(path)
    elif not path.exists():
        raise IntakeError(f"there is no {path}")
    elif not path.is_file():
        raise IntakeError(f"{path} is neither a folder nor a zip file")
    else:
        with _BoundedFile(io.FileIO(path)) as file, _opened(path, file) as archive:
            yield ZipSource(path, archive)


class _BoundedFile(io.BufferedReader):
    """A file of which only so much is read at once: the size of a directory may be a lie."""

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = MAX_DIRECTORY + 1 if size is None or size < 0 else size
        data = super().read(min(wanted, MAX_DIRECTORY + 1))
        if len(data) > MAX_DIRECTORY:
            raise zipfile.BadZipFile(f"its directory has more than {MAX_DIRECTORY:,} bytes")
        return data


def _opened(path: Path, file: io.BufferedReader) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except _BROKEN as problem:
        raise IntakeError(
            f"{path} cannot be read as a zip file ({problem}); download it again, or give a "
            "folder of notebooks"
        ) from None


def _counted(path: Path, count: int) -> None:
    if count > MAX_MEMBERS:
        raise IntakeError(
            f"{path} has more than {MAX_MEMBERS:,} files, which is too much at once; split it"
        )


class ZipSource:
    """The members of a zip; folders in it are left out."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._infos = [info for info in archive.infolist() if not _name(info).endswith("/")]
        _counted(path, len(archive.infolist()))
        names = Counter(_name(info) for info in self._infos)
        self.members = [
            Member(
                _name(info), info.file_size, _date(info), _fault(info, names[_name(info)]), number
            )
            for number, info in enumerate(self._infos)
        ]

    def read(self, member: Member) -> bytes:
        """Return the bytes of a member, which must be as many as it declares."""
        if member.size > MAX_BYTES:
            raise too_large(member.size)
        info = copy.copy(self._infos[member.number])
        info.file_size += 2 * CHUNK  # else zipfile stops where it should, and hides the surplus
        chunks, left = [], member.size + 1
        try:
            with self._archive.open(info) as file:
                while left > 0 and (chunk := file.read(min(CHUNK, left))):
                    chunks.append(chunk)
                    left -= len(chunk)
        except _BROKEN as problem:
            raise Rejected(f"it is damaged in the archive ({problem})") from None
        if left != 1:
            more = "more" if left < 1 else "fewer"
            raise Rejected(f"it holds {more} bytes than the {member.size:,} that the archive says")
        return b"".join(chunks)


def _name(info: zipfile.ZipInfo) -> str:
    return info.orig_filename  # the other one ends at the first NUL


def _fault(info: zipfile.ZipInfo, times: int) -> str:
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) and (kind := kind_of(mode)):
        return f"it is {kind}, not a file; hand in the .ipynb file itself"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted; hand in the .ipynb file without a password"
    if info.compress_type not in _METHODS:
        return f"it is compressed by method {info.compress_type}, which is not read; use plain zip"
    if times > 1:
        return f"the archive has {times} files of this name, and it is not clear which one counts"
    return ""


def _date(info: zipfile.ZipInfo) -> datetime | None:
    """Return when a member was last changed (UTC), by its exact time if the zip has one."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == 0x5455 and len(field) >= 5 and field[0] & 1:  # "UT": seconds in UTC
            return from_seconds(struct.unpack("<i", field[1:5])[0])
    return from_local(info.date_time)


class FolderSource:
    """The files below a folder, whatever their depth."""

    def __init__(self, root: Path) -> None:
        self._root, self._count = root, 0
        self.members: list[Member] = []
        waiting = [""]
        while waiting:
            self._look(waiting.pop(), waiting)
        self.members.sort(key=lambda member: member.path)

    def _look(self, base: str, waiting: list[str]) -> None:
        try:
            parts = base.split("/")[:-1]
            with folder_below(self._root, *parts) as place, os.scandir(place) as entries:
                for entry in entries:
                    self._count += 1
                    _counted(self._root, self._count)
                    self._add(f"{base}{entry.name}", entry.stat(follow_symlinks=False), waiting)
        except (Rejected, OSError) as problem:
            if not base:
                raise IntakeError(f"{self._root} cannot be read: {problem}") from None
            self.members.append(Member(base.rstrip("/"), fault=str(problem)))

    def _add(self, path: str, info: os.stat_result, waiting: list[str]) -> None:
        is_notebook = path.lower().endswith(".ipynb")
        if stat.S_ISDIR(info.st_mode) and not is_notebook and not path_fault(path):
            if not is_junk(path):
                waiting.append(f"{path}/")
            return
        kind = kind_of(info.st_mode)
        fault = f"it is {kind}, not a file; hand in the .ipynb file itself" if kind else ""
        moment = from_seconds(*divmod(info.st_mtime_ns, 10**9))
        self.members.append(Member(path, info.st_size, moment, fault))

    def read(self, member: Member) -> bytes:
        """Return the bytes of a file."""
        *parts, name = member.path.split("/")
        with folder_below(self._root, *parts) as place:
            return read_at(place, name)
