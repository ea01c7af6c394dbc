"""The file system of the sandbox: a Python, its standard library and numpy, nothing else.

It is copied once from what is installed here into the user's cache, with bytecode ready and modes
that everybody may read, so that it does not matter where the interpreter lives or who owns it; the
sandbox shows it read-only.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from autograder.sandbox import seccomp
from autograder.trouble import Trouble

PROGRAM = ("child.py", "jail.py", "nursery.py")
LEFT_OUT = shutil.ignore_patterns(
    *("__pycache__", "site-packages", "dist-packages", "test", "tests", "config-*", "*.a", "*.pyi"),
    *("_test*", "_ctypes_test*", "_xxtest*", "xxlimited*", "__hello__*", "__phello__*"),
    *("ensurepip", "idlelib", "lib2to3", "tkinter", "_tkinter*", "turtledemo", "include", "f2py"),
)
DEVICES = ("null", "urandom")


class KitError(Trouble):
    """The file system of the sandbox cannot be made, with the reason."""


@functools.cache
def kit() -> Path:
    """Return the folder with ``root`` and ``program``; made when it is not there."""
    place = f"sandbox-{_digest()}"
    with contextlib.suppress(OSError, RuntimeError):  # no home, or nothing writable in it
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svmlab"
        if (cache / place / "ready").exists():
            with contextlib.suppress(OSError):  # somebody else's, and as good
                os.utime(cache / place)  # what is not used for long is removed (svmlab/_jit.py)
            return cache / place
        cache.mkdir(parents=True, exist_ok=True)
        return _made(cache, place)
    return _made(_own_folder(), place)


@functools.cache
def _own_folder() -> Path:
    """Return a folder for this process, where nothing else can be kept."""
    folder = tempfile.TemporaryDirectory(prefix="svmlab-", ignore_cleanup_errors=True)
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def _digest() -> str:
    """Return a name for what the kit is made of."""
    numpy = _numpy()
    files = [Path(os.path.realpath(sys.executable)), numpy / "__init__.py", numpy / "version.py"]
    stamps = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    digest = hashlib.sha256(repr((sys.version, platform.machine(), stamps)).encode())
    for path in [*(Path(__file__).parent / name for name in PROGRAM), Path(__file__)]:
        digest.update(path.read_bytes())
    digest.update(seccomp.filter_program())
    return digest.hexdigest()[:16]


def _numpy() -> Path:
    spec = find_spec("numpy")
    if spec is None or spec.origin is None:
        raise KitError("numpy is not installed here; the sandbox needs it")
    return Path(spec.origin).parent


def _made(cache: Path, place: str) -> Path:
    """Build beside the final place, then rename: nobody sees half of it."""
    with tempfile.TemporaryDirectory(
        prefix=".sandbox-", dir=cache, ignore_cleanup_errors=True
    ) as scratch:
        fresh = Path(scratch) / "kit"
        (fresh / "root").mkdir(parents=True)
        _fill(fresh / "root")
        (fresh / "program").mkdir()
        for name in PROGRAM:
            shutil.copyfile(Path(__file__).parent / name, fresh / "program" / name)
        _compile(fresh, fresh / "root", fresh / "program")
        (fresh / "program" / "filter").write_bytes(seccomp.filter_program())
        (fresh / "ready").touch()
        _open_to_all(fresh)
        with contextlib.suppress(OSError):  # another process was faster: its kit is the same
            fresh.rename(cache / place)
    if not (cache / place / "ready").exists():
        raise KitError(f"{cache / place} is not complete; remove it and try again")
    return cache / place


def _fill(root: Path) -> None:
    """Copy interpreter, standard library, numpy and the shared libraries that they load."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (root / "usr" / "bin").mkdir(parents=True)
    shutil.copyfile(os.path.realpath(sys.executable), root / "usr" / "bin" / "python3")
    (root / "usr" / "bin" / "python3").chmod(0o755)
    stdlib = Path(sysconfig.get_path("stdlib"))
    copy: Callable[..., object] = functools.partial(
        shutil.copytree, ignore=LEFT_OUT, copy_function=shutil.copyfile
    )
    copy(stdlib, root / "usr" / "lib" / python)
    numpy = _numpy()
    copy(numpy, root / "site" / "numpy")
    if (numpy.parent / "numpy.libs").is_dir():
        copy(numpy.parent / "numpy.libs", root / "site" / "numpy.libs")
    for path in _libraries(root):
        # The loader is asked for by its path, everything else by its name in LD_LIBRARY_PATH.
        target = root / str(path)[1:] if path.name.startswith("ld-") else root / "lib" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755)
    for folder in ("dev", "program"):
        (root / folder).mkdir()
    for name in DEVICES:  # places to mount on
        (root / "dev" / name).touch()


def _libraries(root: Path) -> Iterable[Path]:
    """Return the shared libraries outside of the kit that its programs need."""
    programs = [root / "usr" / "bin" / "python3", *root.rglob("*.so"), *root.rglob("*.libs/*")]
    done = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    ).stdout
    found = {Path(path) for path in re.findall(r"(/\S+) \(0x[0-9a-f]+\)", done)}
    return sorted(path for path in found if root not in path.parents)


def _compile(fresh: Path, *folders: Path) -> None:
    """Write bytecode beside every source: without it numpy is compiled at every start."""
    python = [sys.executable, "-I", "-m", "compileall", "-q", "--invalidation-mode"]
    options = ["unchecked-hash", "-s", str(fresh / "root"), "-p", "/"]
    subprocess.run([*python, *options, *map(str, folders)], check=False, capture_output=True)


def _open_to_all(folder: Path) -> None:
    """Let every user read: the job of a sandbox started by root is nobody in particular."""
    for path in [folder, *folder.rglob("*")]:
        runs = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if runs else 0o644)
