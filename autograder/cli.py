"""The command ``autograder``: check at home, release and grade a course, prove the checks."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cli_grade import add_course, add_doctor, add_grade, add_sample
from autograder.manifest import homework_names
from autograder.trouble import Trouble

if TYPE_CHECKING:
    from autograder.manifest import Manifest
    from autograder.outcome import Report

    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]


class Refused(Trouble):
    """A command line that asks for what is not there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 is success, 1 a negative answer, 2 a request that cannot be carried out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every console can show α
    options = _parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("autograder: stopped", file=sys.stderr)
        return 130
    except _problems() as problem:
        print(f"autograder: {problem}", file=sys.stderr)
        return 2


def _problems() -> tuple[type[Exception], ...]:
    """Return the errors that speak to a person; all others are bugs and show their trace."""
    from autograder.sources import SourceError

    return (Trouble, SourceError, OSError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograder", description="Judge the homework of the svmlab course by certificate."
    )
    verbs = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_check(verbs)
    _add_release(verbs)
    add_grade(verbs, _seconds)
    add_doctor(verbs)
    add_sample(verbs)
    _add_selftest(verbs)
    _add_pools(verbs)
    return parser


def _add_check(verbs: Verbs) -> None:
    check = verbs.add_parser(
        "check",
        help="run the visible checks on your notebook",
        description="Run the visible checks on your own notebook and print a table. The exit "
        "status is 0 only if all pass. Nothing is sent anywhere.",
    )
    check.add_argument("notebook", type=Path, help="the file, for example hw2-smo.ipynb")
    check.add_argument(
        "--homework", metavar="NAME", help="which homework it is, if the file does not say it"
    )
    check.add_argument(
        "--limit",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long a check waits for your function (default 30)",
    )
    check.add_argument("--json", action="store_true", help="print the report as JSON instead")
    check.set_defaults(run=_check)


def _add_release(verbs: Verbs) -> None:
    release = verbs.add_parser(
        "release",
        help="write homework into an nbgrader course",
        description="Write homework into an nbgrader course directory: the instructor's notebooks "
        "(source/), the students' (release/), a wheel with a one-line install, the points in the "
        "gradebook. The first release makes the course secret in .autograder/: keep a backup.",
    )
    release.add_argument("homework", nargs="*", help="names such as hw2-smo (default: all)")
    add_course(release)
    release.add_argument(
        "--assignments",
        type=Path,
        metavar="FOLDER",
        help="where the solution sources are (default: the checkout's)",
    )
    release.set_defaults(run=_release)


def _add_selftest(verbs: Verbs) -> None:
    selftest = verbs.add_parser(
        "selftest",
        help="prove the checks: correct variants pass, known mistakes are caught",
        description="Judge the reference, its harmless variants and every known mistake with "
        "several course secrets. The exit status is 0 only if all correct ones are accepted, all "
        "mistakes are caught and at least 90 % of them are named exactly.",
    )
    selftest.add_argument("homework", nargs="*", help="names such as hw2-smo (default: all)")
    selftest.add_argument(
        "--secrets", type=int, default=5, metavar="N", help="how many (default 5)"
    )
    selftest.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count(),
        metavar="N",
        help="processes (default: one a core)",
    )
    selftest.add_argument("--verbose", action="store_true", help="one line for each mistake")
    selftest.set_defaults(run=_selftest)


def _add_pools(verbs: Verbs) -> None:
    pools = verbs.add_parser(
        "pools",
        help="screen the public pools of problems anew (for authors of checks)",
        description="Screen the public pools of problems anew, after a family of problems has "
        "changed, and store them in the package.",
    )
    pools.add_argument("homework", nargs="*", help="names such as hw2-smo (default: all)")
    pools.set_defaults(run=_pools)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 86_400.0:
        raise argparse.ArgumentTypeError(f"give seconds between 0 and 86400, not {text!r}")
    return value


def _chosen(names: Sequence[str]) -> list[str]:
    from autograder.manifest import load_manifest

    for name in names:
        load_manifest(name)  # says which there are, if it is none of them
    return list(names) or homework_names()


def _check(options: argparse.Namespace) -> int:
    from autograder.home import check_notebook

    if options.homework:
        _chosen([options.homework])
    if not options.notebook.is_file():
        raise Refused(f"{options.notebook} is not a file; give the path of your notebook")
    with _status_line() as status:
        report, manifest = check_notebook(
            options.notebook, options.homework, limit=options.limit, progress=status
        )
    if options.json:
        print(json.dumps(report.to_dict(), indent=1, allow_nan=False))
    else:
        _print_report(report, manifest)
    return 0 if all(outcome.full for outcome in report.outcomes) else 1


def _print_report(report: Report, manifest: Manifest) -> None:
    """Print the table, with colours on a terminal and plain in a pipe."""
    from autograder.home import closing, table, wrap

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    text = table(report, manifest, colour=colour, width=width)
    reasons = {outcome.reason for outcome in report.outcomes}
    notes = [remark for remark in report.remarks if remark not in reasons]
    if re.search(r"\bcells? \d", "\n".join([text, *notes])):
        notes.append("cells are counted from the top of the notebook, those with text too")
    print(f"{manifest.homework}: {manifest.title}\n\n{text}\n")
    for note in notes:
        print("\n      ".join(wrap(f"note: {note}", width - 6)))
    print(f"\n{closing(report, manifest)}" if notes else closing(report, manifest))


@contextmanager
def _status_line() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what is being done, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    if os.name == "nt":
        os.system("")  # makes the console of Windows obey the codes for colours and lines
    try:
        yield lambda text: print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _release(options: argparse.Namespace) -> int:
    from autograder.release import release

    release(options.course, _chosen(options.homework), assignments=options.assignments)
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from autograder.selftest import selftest

    with _status_line() as status:
        return selftest(
            _chosen(options.homework),
            n_secrets=options.secrets,
            jobs=options.jobs,
            verbose=options.verbose,
            progress=status,
        )


def _pools(options: argparse.Namespace) -> int:
    from autograder.pools import write_public_pools

    for name in _chosen(options.homework):
        if path := write_public_pools(Path(__file__).parent / "homework" / "pools", name):
            print(f"wrote {path}")
    return 0
