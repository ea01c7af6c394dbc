"""The first program in the sandbox: it sets the limits, proves them, and runs the child.

It needs the standard library only, and nothing of a student's has run before it.
"""

from __future__ import annotations

import os
import resource
import sys

MEGABYTE = 2**20
LIMITS = {
    "AS": 1024 * MEGABYTE,  # memory of one process
    "NPROC": 8,  # processes and threads
    "NOFILE": 64,
    "FSIZE": 1 * MEGABYTE,
    "CORE": 0,
    "MEMLOCK": 0,
    "MSGQUEUE": 0,
}


def set_limits() -> None:
    """Set every limit, soft and hard, and see that the kernel has taken it."""
    for name, value in LIMITS.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        resource.setrlimit(kind, (value, value))
        if resource.getrlimit(kind) != (value, value):
            sys.exit(f"jail: the limit {name} = {value} was not accepted")


def become(user: int) -> None:
    """Give up root for a user that nobody else is: limits do not bind root."""
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if 0 in (os.getuid(), os.geteuid(), os.getgid()):
        sys.exit("jail: still root")


if __name__ == "__main__":
    become(int(sys.argv[1]))
    set_limits()
    sys.path += ["/site", "/program"]
    import child  # type: ignore[import-not-found]  # of this package, but alone here

    sys.path.remove("/program")
    child.main()
