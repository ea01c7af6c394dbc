"""The system calls that a student's process may not make, as a filter for the kernel.

Namespaces hide the machine; the filter also takes away the calls that have broken namespaces
before, and those that hold memory outside of any process, where no limit would count it.
"""

from __future__ import annotations

import errno
import platform
import struct

# name: (number on x86_64, number on aarch64); None where the machine has no such call
DENIED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
ARCHITECTURES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}  # audit id, clone
CLONE3 = 435
NEW_NAMESPACES = 0x7E020080  # CLONE_NEW* for time, mount, cgroup, uts, ipc, user, pid and net
X32 = 0x40000000

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in the kernel's struct seccomp_data
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000


def filter_program(machine: str | None = None) -> bytes:
    """Return the filter as an array of the kernel's ``struct sock_filter``.

    >>> len(filter_program("x86_64")) % 8
    0
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise NotImplementedError(f"no list of system calls for {machine}; there are {known}")
    column, audit_id, clone = ARCHITECTURES[machine]
    refuse = _step(RETURN, FAIL | errno.EPERM)
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, audit_id, yes=1),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
        _step(AT_LEAST, X32, no=1),
        refuse,
    ]
    for numbers in DENIED.values():
        number = numbers[column]
        if number is not None:
            steps += [_step(EQUAL, number, no=1), refuse]
    # The flags of clone3 are in memory, where a filter cannot look: libraries fall back to clone.
    steps += [_step(EQUAL, CLONE3, no=1), _step(RETURN, FAIL | errno.ENOSYS)]
    steps += [_step(EQUAL, clone, no=3), _step(LOAD, FIRST_ARGUMENT)]
    steps += [_step(ANY_BIT, NEW_NAMESPACES, no=1), refuse, _step(RETURN, ALLOW)]
    return b"".join(steps)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction; ``yes`` and ``no`` are how many steps a test skips."""
    return struct.pack("=HBBI", code, yes, no, value)
