"""The warm parent in a sandbox: with numpy loaded it forks an isolated child for each request.

It needs the standard library and numpy only. No student's code runs in it and it is told nothing
but the number of a user, so that a child, which has a copy of its memory, learns nothing. Requests
come as packets on what is its stdin: ``start USER`` with the three ends of a child's pipes,
answered by the child's number and a handle of it; ``wait NUMBER``, answered by its exit status.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import socket
import sys

NEW_USER = 0x10000000
# Namespaces for mounts, cgroups, host name, ipc, processes and network.
NEW_REST = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
NO_NEW_PRIVILEGES, SECCOMP, FILTER, DROP_FROM_BOUNDING_SET, SUBREAPER = 38, 22, 2, 24, 36
CAPABILITIES_V3 = 0x20080522
LAST_FD = 256

libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    """The kernel's ``struct sock_fprog``: a filter of system calls."""

    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def called(result: int, what: str) -> None:
    """Raise if a call of the C library failed."""
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def serve(control: socket.socket) -> None:
    """Answer requests until the other side is gone."""
    while True:
        request, handles, _, _ = socket.recv_fds(control, 100, 3)
        word, _, number = request.decode().partition(" ")
        if word == "start":
            start(control, int(number), handles)
            for handle in handles:
                os.close(handle)
        elif word == "wait":
            _, status = os.waitpid(int(number), 0)
            control.send(str(status).encode())
        else:
            return


def start(control: socket.socket, user: int, handles: list[int]) -> None:
    """Fork a helper that enters new namespaces, starts the child there and tells its number."""
    helper = os.fork()
    if helper == 0:
        try:
            called(libc.unshare(NEW_REST | (0 if user else NEW_USER)), "unshare")
            first = os.fork()
            if first == 0:
                control.close()
                be_first(user, handles)
            handle = os.pidfd_open(first)
            socket.send_fds(control, [str(first).encode()], [handle])
        except OSError as problem:
            control.send(f"no child can be started: {problem}".encode()[:200])
        finally:
            os._exit(0)
    os.waitpid(helper, 0)


def be_first(user: int, handles: list[int]) -> None:
    """Be the first process of the new namespaces: give everything up, start the child, wait."""
    code = 1
    try:
        for number, handle in enumerate(handles):
            os.dup2(handle, number)
        os.closerange(3, LAST_FD)
        os.setsid()
        confine(user)
        student = os.fork()
        if student == 0:
            be_student()
        os.closerange(0, 3)  # so that the other side sees the end of the student's process
        code = reaped(student)
    finally:
        os._exit(code)


def confine(user: int) -> None:
    """Give up user, capabilities and system calls, as a fresh sandbox does, and set the limits."""
    for number in range(64):  # all that this kernel knows
        if libc.prctl(DROP_FROM_BOUNDING_SET, number, 0, 0, 0) != 0:
            break
    jail.become(user)
    head = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0)
    called(libc.capset(head, (ctypes.c_uint32 * 6)()), "capset")
    held = (ctypes.c_uint32 * 6)()
    called(libc.capget(head, held), "capget")
    if any(held):
        raise OSError(1, "capabilities are left")
    jail.set_limits()
    called(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    program = Program(len(STEPS) // 8, STEPS)
    called(libc.prctl(SECCOMP, FILTER, ctypes.byref(program), 0, 0), "seccomp")


def be_student() -> None:
    """Run the student's code and end as a Python of its own would."""
    code = 1
    try:
        random.seed()
        np.random.seed()  # noqa: NPY002 - students may use this one
        child.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.__excepthook__(*sys.exc_info())
    finally:
        os._exit(code & 0xFF)


def reaped(student: int) -> int:
    """Return how the student's process ended, as a shell tells it; bury all others."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == student:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.path += ["/site", "/program"]
    import child  # type: ignore[import-not-found]  # of this package, but alone here
    import jail  # type: ignore[import-not-found]
    import numpy as np
    import numpy.random  # numpy loads it when first used, which would be in each child

    sys.path.remove("/program")
    del sys.modules["jail"]  # nothing that a submission could use
    with open("/program/filter", "rb") as file:
        STEPS = file.read()
    called(libc.prctl(SUBREAPER, 1, 0, 0, 0), "subreaper")  # the first of a sandbox is our child
    gc.freeze()  # pages that are not touched stay shared with the children
    with socket.socket(fileno=os.dup(0)) as requests:
        serve(requests)
