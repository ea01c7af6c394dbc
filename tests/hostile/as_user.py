"""Run a command as another user: ``python as_user.py UID NEEDED… -- COMMAND…``, as root.

The interpreter or the checkout may lie below a folder that is closed to others, as /root is. Such a
folder is covered by an empty one in which only what is needed shows, in a mount namespace of this
command alone: nothing is copied, no mode is changed, and nobody else sees anything of it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Call mount(2)."""
    words = [text.encode() for text in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}")


def closed_above(path: Path) -> Path | None:
    """Return the topmost folder on the way to a path that others may not enter."""
    closed = [folder for folder in path.parents if not folder.stat().st_mode & 0o001]
    return closed[-1] if closed else None


def show_only(needed: list[Path]) -> None:
    """Cover the closed folders, and show what is needed below them."""
    covers = {cover for path in needed if (cover := closed_above(path))}
    inside = [path for path in needed if covers & set(path.parents)]
    handles = {path: os.open(path, os.O_PATH) for path in inside}
    for cover in covers:
        mount("tmpfs", str(cover), "tmpfs", 0, "mode=755,size=256k")
    for path, handle in handles.items():
        path.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{handle}", str(path), "none", MS_BIND | MS_REC)
        os.close(handle)


def main(user: int, needed: list[str], command: list[str]) -> None:
    """Become the user and run the command."""
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    show_only([Path(path) for path in needed])
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.chdir(os.getcwd())
    os.execvp(command[0], command)


if __name__ == "__main__":
    number, *words = sys.argv[1:]
    middle = words.index("--")
    main(int(number), words[:middle], words[middle + 1 :])
