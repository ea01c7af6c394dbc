"""A release goes through the real nbgrader, gives nothing away and is the same every time."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from autograder import pools, sources
from autograder.manifest import load_manifest
from autograder.nbgrader.course import CourseError
from autograder.release import ReleaseError, build_wheel, release

ROOT = Path(__file__).parents[1]
ASSIGNMENTS = ROOT / "assignments"
HOMEWORKS = sources.homeworks(ASSIGNMENTS)
FIRST = HOMEWORKS[0]
FIRST_TWO = [  # each takes a kernel, and the judge's own tests run all of them
    name if name in HOMEWORKS[:2] else pytest.param(name, marks=pytest.mark.full)
    for name in HOMEWORKS
]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with all homework, released from another folder."""
    folder = tmp_path_factory.mktemp("courses") / "svm 2030"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        released = release(folder, wheel=False, progress=lambda line: None)
    assert released == [folder / "release" / name for name in HOMEWORKS]
    return folder


@pytest.fixture(scope="module")
def wheel():
    return build_wheel(ROOT, ASSIGNMENTS)


def files_of(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def cells_of(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["metadata"].get("nbgrader", {}).get("grade_id"): cell for cell in cells}


def changed(tmp_path, old, new):
    """Return a copy of the first homework's source with one change, as a folder of assignments."""
    path = tmp_path / "assignments" / FIRST / f"{FIRST}.py"
    path.parent.mkdir(parents=True)
    text = sources.source_path(FIRST, ASSIGNMENTS).read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path.parent.parent


@pytest.mark.parametrize("homework", HOMEWORKS)
def test_a_released_notebook_holds_no_solution_and_no_model_answer(homework, course):
    text = (course / "release" / homework / f"{homework}.ipynb").read_text(encoding="utf-8")
    cells = cells_of(course / "release" / homework / f"{homework}.ipynb")
    assert "SOLUTION" not in text
    for name, cell in cells_of(course / "source" / homework / f"{homework}.ipynb").items():
        source = "".join(cell["source"])
        if cell["metadata"].get("nbgrader", {}).get("solution") is not True:
            assert cells[name]["source"] == cell["source"]
            continue
        hidden = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.DOTALL)
        for block in hidden or [source]:
            assert block not in "".join(cells[name]["source"])
        stub = "YOUR CODE HERE" if cell["cell_type"] == "code" else "YOUR ANSWER HERE"
        assert stub in "".join(cells[name]["source"])


@pytest.mark.parametrize("homework", HOMEWORKS)
def test_a_released_notebook_keeps_signatures_docstrings_and_hints(homework, course):
    cells = cells_of(course / "release" / homework / f"{homework}.ipynb")
    solved = cells_of(course / "source" / homework / f"{homework}.ipynb")
    for name in load_manifest(homework).functions:
        source = "".join(solved[name]["source"])
        kept = re.split(r"[ ]*### BEGIN SOLUTION\n.*?### END SOLUTION", source, flags=re.DOTALL)
        for part in kept:
            assert part.strip() in "".join(cells[name]["source"])


def test_the_gradebook_has_the_points_of_the_manifests(course):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for homework in HOMEWORKS:
            manifest = load_manifest(homework)
            by_hand = sum(answer.points for answer in manifest.answers)
            found = gradebook.find_assignment(homework).max_score
            assert found == manifest.points + by_hand


def test_a_course_has_screened_problems_of_its_own(course):
    for homework in HOMEWORKS:
        public, own = pools.public_pools(homework), pools.course_pools(course, homework)
        if os.name == "posix":
            assert pools.pools_path(course, homework).stat().st_mode & 0o777 == 0o600
        assert list(own) == list(public)
        for name, problems in own.items():
            assert len({problem["seed"] for problem in problems}) == pools.POOL_SIZE
            assert {problem["seed"] for problem in problems}.isdisjoint(
                problem["seed"] for problem in public[name]
            )


def test_releasing_again_changes_nothing_and_keeps_the_configuration(course):
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    secret = (course / ".autograder" / "secret").read_bytes()
    before = {name: files_of(course / name) for name in ("source", "release")}
    times = {path: path.stat().st_mtime_ns for path in (course / "release").rglob("*.*")}
    release(course, [FIRST], wheel=False, progress=lambda line: None)
    assert {name: files_of(course / name) for name in ("source", "release")} == before
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert config.read_text(encoding="utf-8").endswith("# mine\n")
    assert (course / ".autograder" / "secret").read_bytes() == secret
    assert sorted(path.name for path in (course / ".autograder").iterdir()) == ["pools", "secret"]


def test_two_courses_get_the_same_bytes(course, tmp_path):
    release(tmp_path / "b" / "other", [FIRST], wheel=False, progress=lambda line: None)
    for name in ("source", "release"):
        assert files_of(tmp_path / "b" / "other" / name / FIRST) == files_of(course / name / FIRST)


def test_nbgraders_own_command_accepts_the_course_from_its_folder(course):
    before = files_of(course / "release" / FIRST)
    done = run(["generate_assignment", FIRST, "--force"], cwd=course)
    assert done.returncode == 0, done.stderr
    assert files_of(course / "release" / FIRST) == before


def test_the_course_can_be_moved(course, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(course, moved)
    folders = release(moved, [FIRST], wheel=False, progress=lambda line: None)
    assert folders == [moved / "release" / FIRST]


@pytest.mark.filterwarnings("ignore:Object of type <Submitted")  # nbgrader's own doing
def test_after_submissions_a_removed_cell_is_refused_and_the_release_stays(course, tmp_path):
    from nbgrader.api import Gradebook

    mine = tmp_path / "course"
    shutil.copytree(course, mine)
    with Gradebook(f"sqlite:///{mine}/gradebook.db") as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission(FIRST, "ada")
    before = {name: files_of(mine / name) for name in ("source", "release")}
    fewer = changed(tmp_path, '"grade_id": "end"', '"grade_id": "last"')
    with pytest.raises(ReleaseError) as refused:
        release(mine, [FIRST], assignments=fewer, wheel=False, progress=lambda line: None)
    first, second = str(refused.value).splitlines()
    assert first.startswith(f"nbgrader refused {FIRST}: Cannot add or remove cells")
    assert "keep every cell and its grade_id" in second
    assert {name: files_of(mine / name) for name in ("source", "release")} == before


def test_what_the_instructor_puts_beside_a_notebook_is_handed_out_too(course, tmp_path):
    mine = tmp_path / "course"
    shutil.copytree(course, mine)
    (mine / "source" / FIRST / "data").mkdir()
    (mine / "source" / FIRST / "data" / "more.csv").write_bytes(b"1,2\n")
    (mine / "source" / FIRST / "svmlab-0.0.1-py3-none-any.whl").write_bytes(b"old")
    release(mine, [FIRST], wheel=False, progress=lambda line: None)
    assert (mine / "release" / FIRST / "data" / "more.csv").read_bytes() == b"1,2\n"
    assert '"svmlab-0.0.1-py3-none-any.whl[student]"' in (
        mine / "release" / FIRST / "README.md"
    ).read_text(encoding="utf-8")


def test_a_faulty_source_is_refused_before_the_course_is_touched(tmp_path):
    broken = changed(tmp_path, '"grade": true,', '"grade" true,')
    with pytest.raises(sources.SourceError, match="metadata is no JSON"):
        release(tmp_path / "new", assignments=broken, wheel=False)
    assert not (tmp_path / "new").exists()


def test_a_course_that_cannot_be_written_names_the_way_out(tmp_path):
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    with pytest.raises(ReleaseError, match="folder of yours with --course"):
        release(tmp_path / "file", [FIRST], wheel=False, progress=lambda line: None)


def test_a_configuration_for_another_folder_is_refused(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    text = f"c = get_config()\nc.CourseDirectory.root = {str(tmp_path)!r}\n"
    (mine / "nbgrader_config.py").write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match="give that folder with --course"):
        release(mine, [FIRST], wheel=False, progress=lambda line: None)


def test_the_wheel_is_the_same_from_another_checkout(wheel, tmp_path):
    other = tmp_path / "another checkout"
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("svmlab", "autograder", "assignments"):
        shutil.copytree(ROOT / name, other / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, other / name)
        (other / name).chmod(0o600)
    assert build_wheel(other, other / "assignments") == wheel


def test_the_wheel_holds_reference_and_manifests_but_no_model_answer(wheel):
    name, data = wheel
    assert re.fullmatch(r"svmlab-[\d.]+-py3-none-any\.whl", name)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = {item: archive.read(item).decode("utf-8", "ignore") for item in archive.namelist()}
    assert not [item for item in texts if item.endswith((".ipynb", ".whl"))]
    for homework in HOMEWORKS:
        assert texts[f"autograder/reference/{homework}.py"] == sources.reference_source(homework)
        assert f"autograder/homework/{homework}.toml" in texts
        for answer in model_answers(homework):
            assert not [item for item, text in texts.items() if answer in text]


def model_answers(homework):
    """Return a line of each model answer, as it stands in the source."""
    cells = sources.read_cells(sources.source_path(homework).read_text(encoding="utf-8"))
    answers = [cell for cell in cells if cell.is_a(grade=True, solution=True)]
    lines = [max(cell.text.splitlines(), key=len).removeprefix("# ") for cell in answers]
    assert len(lines) == len(load_manifest(homework).answers)
    return lines


def test_the_line_of_the_readme_installs_the_wheel_without_a_checkout(wheel, tmp_path):
    folder = tmp_path / "course" / "source" / FIRST
    folder.mkdir(parents=True)
    (folder / "svmlab-0.0.1-py3-none-any.whl").write_bytes(b"old")
    said = []
    assert release(tmp_path / "course", [FIRST], generate=False, progress=said.append) == [folder]
    assert "building the wheel for students" in said
    assert [path.name for path in folder.glob("*.whl")] == [wheel[0]]
    assert (folder / wheel[0]).read_bytes() == wheel[1]
    line = re.search(r'python -m pip install "(.*)"', (folder / "README.md").read_text("utf-8"))
    python = fresh_python(tmp_path / "fresh")
    # Without network: what the extra asks for is left out, numpy is lent.
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    command += ["--no-index", "--no-deps", "--disable-pip-version-check", line[1]]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    code = (
        "from autograder import sources\n"
        "assert 'fresh' in sources.__file__, sources.__file__\n"
        f"print(sources.reference_source({FIRST!r}), end='')\n"
        "from autograder.release import release\n"
        "try:\n    release('course')\n"
        "except sources.SourceError as problem:\n    assert '--assignments PATH' in str(problem)\n"
        "else:\n    raise AssertionError\n"
    )
    command = [str(python), "-I", "-X", "utf8", "-c", code]
    output = subprocess.run(command, check=True, capture_output=True, cwd=tmp_path).stdout
    assert output.decode() == sources.reference_source(FIRST)


def fresh_python(folder):
    """Make an environment that has numpy, borrowed, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.rglob("site-packages"))
    lent = site / "lent"
    lent.mkdir()
    origin = Path(np.__file__).parent
    for path in origin.parent.glob("numpy*"):
        (lent / path.name).symlink_to(path)
    (site / "lent.pth").write_text(f"{lent}\n", encoding="utf-8")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(arguments, cwd):
    """Run nbgrader as a user would, with this checkout importable and a home of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(cwd), "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("homework", FIRST_TWO)
def test_nbgrader_validate_says_success_on_the_solution(homework, course, tmp_path):
    shutil.copy(course / "source" / homework / f"{homework}.ipynb", tmp_path)
    done = run(["validate", f"{homework}.ipynb"], cwd=tmp_path)
    assert "Success! Your notebook passes all the tests." in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("homework", FIRST_TWO)
def test_nbgrader_validate_names_each_unsolved_part(homework, course, tmp_path):
    shutil.copy(course / "release" / homework / f"{homework}.ipynb", tmp_path)
    done = run(["validate", f"{homework}.ipynb"], cwd=tmp_path)
    manifest = load_manifest(homework)
    unsolved = len(manifest.questions) + len(manifest.answers)
    assert f"VALIDATION FAILED ON {unsolved} CELL(S)!" in done.stdout, done.stdout + done.stderr
    for question in manifest.questions:
        assert f'check("{question.id}")' in done.stdout
    assert done.stdout.count("You did not provide a response.") == len(manifest.answers)
