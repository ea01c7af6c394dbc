"""nbgrader's formgrader, served by a real JupyterLab on a course, and nbgrader's own commands."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chromium import Tab

PATIENCE = 60.0  # seconds until a server answers


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's configuration is read or written."""
    scripts = str(Path(sys.executable).parent)
    kept = ("PYTHONPYCACHEPREFIX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    places = {
        "HOME": "home",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "TMPDIR": "tmp",
    }
    for name in places.values():
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": f"{scripts}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG": "C.UTF-8",
        **{variable: str(folder / name) for variable, name in places.items()},
        **{name: os.environ[name] for name in kept if name in os.environ},
    }


def run(module: str, *arguments: str, course: Path, folder: Path) -> str:
    """Run ``python -m module`` in a course and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=course,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def feedback(course: Path, homework: str, folder: Path) -> dict[str, Path]:
    """Let nbgrader make the feedback of everybody and return the pages by student."""
    run("nbgrader", "generate_feedback", homework, "--force", course=course, folder=folder)
    pages = (course / "feedback").glob(f"*/{homework}/{homework}.html")
    return {page.parts[-3]: page for page in pages}


@dataclass(frozen=True)
class Formgrader:
    """A server that shows a course."""

    course: Path
    url: str  # ends with a slash
    token: str

    def open(self, tab: Tab, place: str = "") -> None:
        """Log in with the token that Jupyter prints, and show a page of formgrader."""
        tab.open(f"{self.url}login?token={self.token}&next=/formgrader/{place}")

    def open_submission(self, tab: Tab, student: str) -> None:
        """Show what a student handed in."""
        self.open(tab, f"submissions/{self.submission_id(student)}/")
        wait_for_fields(tab)

    def submission_id(self, student: str) -> str:
        """Return formgrader's number of a student's only submission."""
        query = """
            SELECT submitted_notebook.id FROM submitted_notebook
            JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
            WHERE submitted_assignment.student_id = ?
        """
        database = f"file:{self.course}/gradebook.db?mode=ro"
        with contextlib.closing(sqlite3.connect(database, uri=True)) as db:
            ((number,),) = db.execute(query, [student])
        return str(number)


def wait_for_fields(tab: Tab) -> None:
    """Wait until the scores and comments of a submission are in their fields."""
    tab.page.wait_for_function(
        "window.formgrader?.grades?.loaded && window.formgrader.comments?.loaded"
    )


@contextlib.contextmanager
def serve(course: Path, folder: Path) -> Iterator[Formgrader]:
    """Start JupyterLab on a course, on a port that is free; end it with all its children."""
    token, env = secrets.token_hex(16), environment(folder)
    options = [
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={course}",
    ]
    if os.geteuid() == 0:
        options.append("--allow-root")
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=course,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        address = Path(env["JUPYTER_RUNTIME_DIR"]) / f"jpserver-{server.pid}.json"
        yield Formgrader(course, _wait(server, address, folder / "server.log"), token)
    finally:
        _end(server)


def _wait(server: subprocess.Popen[bytes], address: Path, log: Path) -> str:
    """Return the server's address as soon as it has written it down: then it answers."""
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return str(json.loads(address.read_text(encoding="utf-8"))["url"])
        time.sleep(0.05)
    raise AssertionError(f"JupyterLab does not start:\n{log.read_text(encoding='utf-8')}")


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server, at first politely, and all that it started."""
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(10.0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
