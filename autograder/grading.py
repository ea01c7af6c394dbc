"""Grade one submission in the sandbox; whatever it is, there is a report."""

from __future__ import annotations

from pathlib import Path

from autograder import sandbox
from autograder.judge import judge
from autograder.manifest import load_manifest
from autograder.notebook import MAX_BYTES, Rejected, too_large
from autograder.outcome import Report, Status, rejected_report
from autograder.pools import LazyPools, Pools, public_pools
from autograder.sandbox.channel import Launch, plain_process
from autograder.seeds import PUBLIC, fingerprint

LIMIT = 30.0  # CPU seconds a check


def grade(
    path: str | Path, homework: str, *, secret: bytes | None = None, student: str = ""
) -> Report:
    """Grade one notebook in the sandbox, without course directory or database.

    Parameters
    ----------
    path : the notebook
    homework : name such as ``"hw2-smo"``
    secret : key of the hidden data; without it the public data are used, and the report says so
    student : whose hidden data

    Returns
    -------
    Report
        Also for a file that is no notebook: its checks are REJECTED, with the reason.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    autograder.sandbox.SandboxMissing
        If no sandbox can be made here.
    """
    load_manifest(homework)
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file; give the path of a notebook")
    sandbox.require()
    key = PUBLIC if secret is None else secret
    if (size := Path(path).stat().st_size) > MAX_BYTES:
        return rejected_report(homework, student, fingerprint(key), str(too_large(size)))
    data = Path(path).read_bytes()
    pools = public_pools(homework) if key == PUBLIC else LazyPools(key, homework)
    return grade_one(data, homework, secret=key, student=student, pools=pools)


def grade_one(
    data: bytes,
    homework: str,
    *,
    secret: bytes,
    student: str,
    pools: Pools,
    limit: float = LIMIT,
    unsafe: bool = False,
) -> Report:
    """Grade the bytes of a notebook; whatever they are, there is a report."""
    launch: Launch = plain_process if unsafe else sandbox.launch
    try:
        return judge(
            homework,
            data,
            secret=secret,
            student=student,
            pools=pools,
            limit=limit,
            launch=launch,
        )
    except Rejected as problem:
        return rejected_report(homework, student, fingerprint(secret), str(problem))
    except Exception as problem:
        reason = f"grading itself failed ({type(problem).__name__}: {problem}); please report it"
        return rejected_report(
            homework, student, fingerprint(secret), reason[:500], Status.INTERNAL
        )
