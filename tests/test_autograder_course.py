"""A course is opened from anywhere, and what is wrong with it is said with the way out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from autograder_papers import HW, copy_of, files_of, released_course

from autograder.nbgrader.course import CourseError, open_course, trusted_notebook, write_file
from autograder.nbgrader.plugins import LINES
from autograder.release import release


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return released_course(tmp_path_factory.mktemp("released"))


def configure(root, *lines):
    path = root / "nbgrader_config.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")


def test_a_new_course_has_its_folders_its_gradebook_and_our_plugins(
    released, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    course = open_course(released)
    assert course.root == released
    assert course.submitted == released / "submitted"
    assert course.autograded == released / "autograded"
    assert course.source == released / "source"
    assert course.release == released / "release"
    assert course.feedback == released / "feedback"
    assert course.db_url == f"sqlite:///{released}/gradebook.db"
    assert course.course_id == released.name
    assert course.has_plugins


def test_a_relative_path_and_a_moved_course_are_fine(released, tmp_path, monkeypatch):
    course = copy_of(released, tmp_path)
    monkeypatch.chdir(course.root.parent)
    assert open_course(type(course.root)(course.root.name)) == course


def modules_after(code):
    """Return the names of all modules that a new Python has after some code."""
    code += "\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_a_course_is_opened_without_the_grammars_that_take_a_second_to_build(released):
    opening = "from autograder.nbgrader.course import open_course\n"
    loaded = modules_after(f"{opening}open_course({str(released)!r})")
    assert {"nbgrader", "nbformat", "jsonschema"} <= loaded
    assert not {"rfc3987_syntax", "lark"} & loaded


def test_what_judges_does_without_nbgrader():
    loaded = modules_after("import autograder.batch, autograder.cluster")
    assert "autograder.judge" in loaded
    assert not {"nbgrader", "nbformat", "jsonschema", "sqlalchemy", "traitlets"} & loaded


def test_a_folder_without_configuration_is_no_course(tmp_path):
    with pytest.raises(CourseError, match=r"no nbgrader_config.py.*--course.*autograder release"):
        open_course(tmp_path)


def test_a_course_without_a_gradebook_is_to_be_released(released, tmp_path):
    root = copy_of(released, tmp_path).root
    (root / "gradebook.db").unlink()
    with pytest.raises(CourseError, match=r"has no gradebook.*autograder release --course"):
        open_course(root)


def test_another_directory_structure_is_refused(released, tmp_path):
    root = copy_of(released, tmp_path).root
    configure(
        root,
        "c.CourseDirectory.directory_structure = '{nbgrader_step}/{assignment_id}/{student_id}'",
    )
    with pytest.raises(CourseError, match=r"directory_structure to .*remove that line"):
        open_course(root)


def test_a_configuration_for_another_folder_is_refused(released, tmp_path):
    root = copy_of(released, tmp_path).root
    configure(root, f"c.CourseDirectory.root = {str(tmp_path)!r}")
    with pytest.raises(CourseError, match="give that folder with --course"):
        open_course(root)


def test_other_names_of_folders_and_of_the_gradebook_are_followed(released, tmp_path, monkeypatch):
    root = copy_of(released, tmp_path).root
    shutil.move(root / "gradebook.db", root / "grades.db")
    configure(
        root,
        "c.CourseDirectory.submitted_directory = 'handed-in'",
        "c.CourseDirectory.db_url = 'sqlite:///grades.db'",
    )
    monkeypatch.chdir(tmp_path)
    course = open_course(root)
    assert course.submitted == root / "handed-in"
    assert course.db_url == f"sqlite:///{root}/grades.db"


def test_a_configuration_without_our_lines_has_no_plugins(released, tmp_path):
    root = copy_of(released, tmp_path).root
    path = root / "nbgrader_config.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("configure(c)", ""), encoding="utf-8")
    assert not open_course(root).has_plugins
    configure(root, LINES)
    assert open_course(root).has_plugins
    configure(root, "c.GenerateFeedback.preprocessors = []")
    assert not open_course(root).has_plugins


def test_a_release_says_which_lines_an_older_course_lacks_and_writes_none(released, tmp_path):
    root = copy_of(released, tmp_path).root
    path = root / "nbgrader_config.py"
    old = path.read_text(encoding="utf-8").replace("configure(c)", "")
    path.write_text(old, encoding="utf-8")
    said = []
    release(root, [HW], wheel=False, progress=said.append)
    assert any(LINES in line for line in said)
    assert path.read_text(encoding="utf-8") == old
    configure(root, LINES)
    said.clear()
    release(root, [HW], wheel=False, progress=said.append)
    assert not any(LINES in line for line in said)


def test_the_trusted_notebook_is_the_instructors(released):
    cells = trusted_notebook(open_course(released), HW).cells
    assert any("### BEGIN SOLUTION" in cell.source for cell in cells)


@pytest.mark.parametrize("text", [None, "no JSON"])
def test_a_missing_or_broken_source_says_to_release(released, tmp_path, text):
    course = copy_of(released, tmp_path)
    path = course.source / HW / f"{HW}.ipynb"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match="release"):
        trusted_notebook(course, HW)


def test_a_file_is_written_at_once_with_its_mode_and_left_alone_when_equal(tmp_path):
    (tmp_path / ".autograder").mkdir()
    path = tmp_path / "file"
    write_file(tmp_path, path, b"one", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.stat().st_mtime_ns
    write_file(tmp_path, path, b"one", mode=0o444)
    assert (path.stat().st_mtime_ns, path.stat().st_mode & 0o777) == (before, 0o444)
    write_file(tmp_path, path, b"two")  # over a file that its owner may not write
    assert path.read_bytes() == b"two"
    assert not list((tmp_path / ".autograder").iterdir())


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / ".autograder").mkdir()
    with pytest.raises(OSError, match="missing"):
        write_file(tmp_path, tmp_path / "missing" / "file", b"data")
    assert files_of(tmp_path) == {}


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / ".autograder").mkdir()
    (tmp_path / "secret").write_bytes(b"mine")
    os.symlink(tmp_path / "secret", tmp_path / "link")
    write_file(tmp_path, tmp_path / "link", b"mine")
    assert not (tmp_path / "link").is_symlink()
    write_file(tmp_path, tmp_path / "link", b"theirs")
    assert (tmp_path / "secret").read_bytes() == b"mine"
