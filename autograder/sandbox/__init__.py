"""Start a student's process in a bubblewrap of its own, as an ordinary user or as root.

Inside there is a read-only file system with Python and numpy (``kit``), no network, no other
process, no writable path, no capability; limits are set there (``jail``), a filter refuses
dangerous system calls (``seccomp``), what runs is ``child``. Outside, ``channel`` speaks with it
and watches what it uses. An ordinary user needs a user namespace; root does without one and
gives each job a user id of its own.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.sandbox.channel import NotStarted
from autograder.sandbox.kit import DEVICES, KitError, kit

NOBODY = 65534
FIRST_USER = 1_500_000_000  # beyond the ids that systems give away
_jobs = itertools.count()

# fmt: off
ALONE = [
    "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv", "--chdir", "/",
    "--cap-drop", "ALL",
]
AS_ROOT = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]  # the jail gives them up
AS_USER = ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
# A warm parent makes namespaces for its children, which give up what they do not need.
WARM_AS_ROOT = [*AS_ROOT, "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
# fmt: on
ENVIRONMENT = {
    "LD_LIBRARY_PATH": "/lib",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class SandboxMissing(NotStarted):
    """No sandbox can be made here, with the reason and the way out."""


class Bubble(subprocess.Popen[bytes]):
    """A process that only this machine, not what runs in it, can end by a signal."""

    confined = True


def launch() -> Bubble:
    """Start :mod:`autograder.sandbox.child` in a new sandbox, frames on its stdin and stdout."""
    options = AS_ROOT if is_root() else [*AS_USER, "--disable-userns"]
    with (kit() / "program" / "filter").open("rb") as program:
        return Bubble(
            command([*options, "--seccomp", str(program.fileno())], "jail.py", str(next_user())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[program.fileno()],
            cwd="/",
        )


def launch_nursery(control: socket.socket) -> Bubble:
    """Start :mod:`autograder.sandbox.nursery` in a new sandbox, with its end of a socket."""
    return Bubble(
        command(WARM_AS_ROOT if is_root() else AS_USER, "nursery.py"),
        stdin=control.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
    )


def command(options: Sequence[str], *program: str) -> list[str]:
    """Return the command line of one sandbox."""
    here = kit()
    environment = [word for item in ENVIRONMENT.items() for word in ("--setenv", *item)]
    mounts = ["--ro-bind", str(here / "root"), "/", "--ro-bind", str(here / "program"), "/program"]
    for name in DEVICES:
        mounts += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    python = ["/usr/bin/python3", "-I", "-S", "-X", "utf8", f"/program/{program[0]}", *program[1:]]
    return [bubblewrap(), *ALONE, *options, *environment, *mounts, "--", *python]


def next_user() -> int:
    """Return the user that the next job becomes: one of its own as root, else 0 for no change."""
    return FIRST_USER + os.getpid() * 8 + next(_jobs) % 8 if is_root() else 0


@functools.cache
def is_root() -> bool:
    """Tell whether this process may take any user id: root of the machine, not of a namespace."""
    if os.geteuid() != 0:
        return False
    lines = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(int(start) <= FIRST_USER < int(start) + int(count) for start, _, count in lines)


def bubblewrap() -> str:
    """Return the path of bubblewrap; without it nothing is graded."""
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxMissing(
            "bubblewrap is not installed, and without a sandbox nothing is graded. Install it "
            "(Debian, Ubuntu: apt-get install bubblewrap), then see that `autograder doctor` is "
            "content."
        )
    return path


def require() -> None:
    """Raise unless a process can be started in a sandbox here."""
    if not sys.platform.startswith("linux"):
        raise SandboxMissing(
            f"the sandbox needs Linux, and this is {sys.platform}; grade in a virtual machine or "
            "a container with Linux"
        )
    try:
        with launch() as process:
            _, said = process.communicate(timeout=60)
    except (KitError, NotImplementedError, OSError, subprocess.TimeoutExpired) as problem:
        raise SandboxMissing(f"no sandbox can be made here: {problem}") from problem
    if process.returncode:
        text = said.decode(errors="replace").strip()[-500:]
        raise SandboxMissing(f"no sandbox can be made here: {text}{remedy(text)}")


def remedy(text: str) -> str:
    """Return what helps when namespaces are forbidden."""
    apparmor = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    debian = Path("/proc/sys/kernel/unprivileged_userns_clone")
    if apparmor.exists() and apparmor.read_text().strip() == "1":
        return (
            "\nAppArmor forbids user namespaces to ordinary users (Ubuntu 23.10 and newer). As "
            "root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give "
            "/usr/bin/bwrap an AppArmor profile that allows `userns`."
        )
    if debian.exists() and debian.read_text().strip() == "0":
        return "\nAs root: sysctl -w kernel.unprivileged_userns_clone=1"
    if "ermi" in text or "namespace" in text:  # Permission denied, Operation not permitted
        return (
            "\nNamespaces are forbidden here. In a container start it with --privileged or with "
            "--security-opt seccomp=unconfined and --cap-add SYS_ADMIN; on a machine of "
            "your own see sysctl user.max_user_namespaces."
        )
    return ""
