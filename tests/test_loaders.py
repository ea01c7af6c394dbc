from __future__ import annotations

import gzip
import io
import lzma
import tarfile

import numpy as np
import pytest

from svmlab import loaders
from svmlab.rows import dense, squared_norms
from svmlab.types import CSR

SVMLIGHT = b"+1 1:0.5 13:-2 \n-1 2:1\n\n+1 3:1e-2\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with tiny files in the formats of the real ones."""

    def write(name, content):
        compress = lzma.compress if name.endswith(".xz") else gzip.compress
        (tmp_path / name).write_bytes(compress(content))

    write("heart_scale.xz", SVMLIGHT)
    write("agaricus.trn.xz", b"1 1:1 126:1\n0 2:1\n")
    write("agaricus.tst.xz", b"0 3:1\n")
    write("adult.trn.xz", b"-1 0:1 122:1\n+1 5:1\n")
    write("adult.tst.xz", b"-1 0:1\n")
    write("pendigits.xz", b"8 1:47\n2 2:89\n5 16:1\n")
    write("pendigits.t.xz", b"2 1:1\n")
    write("abalone.xz", b"15 1:-1\n7 8:0.5\n9 1:1\n")
    rows = np.zeros((3, 58))
    rows[:, 57] = [0, 1, 1]
    rows[1, 2] = 0.25
    write("spambase.data.xz", "\n".join(",".join(map(str, row)) for row in rows).encode())
    sizes = (3).to_bytes(4, "big") + (28).to_bytes(4, "big") * 2
    write("t10k-images-idx3-ubyte.gz", b"\0\0\x08\x03" + sizes + bytes([0] * 2351 + [255]))
    write("t10k-labels-idx1-ubyte.gz", b"\0\0\x08\x01" + sizes[:4] + bytes([7, 2, 1]))
    return tmp_path


def write_news(folder):
    posts = {
        "20news-bydate-train/comp.graphics/1": "pixel shader shader pixel",
        "20news-bydate-train/sci.space/2": "orbit rocket rocket pixel",
        "20news-bydate-train/sci.space/3": "orbit rocket caf\xe9 once",
        "20news-bydate-test/sci.space/4": "orbit orbit unseen",
    }
    with tarfile.open(folder / "20news-bydate.tar.xz", "w:xz") as archive:
        for name, text in posts.items():
            member = tarfile.TarInfo(f"data/20ng/{name}")
            content = text.encode("latin-1")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_svmlight_lines_become_rows(folder):
    data = loaders.load("heart", folder)
    expected = np.zeros((3, 13))
    expected[0, 0], expected[0, 12], expected[1, 1], expected[2, 2] = 0.5, -2.0, 1.0, 0.01
    assert np.array_equal(data.X, expected)
    assert list(data.y) == [1, -1, 1]
    assert data.X_test is None
    assert data.y_test is None


def test_labels_0_and_1_become_signs_even_where_the_test_part_has_one_class(folder):
    data = loaders.load("mushrooms", folder)
    assert isinstance(data.X, CSR)
    assert list(data.y) == [1, -1]
    assert list(data.y_test) == [-1]
    assert data.X_test.shape == (1, 126)
    assert dense(data.X)[0, 125] == 1


def test_columns_that_count_from_zero_stay_where_they_are(folder):
    data = loaders.load("adult", folder)
    assert list(np.flatnonzero(dense(data.X)[0])) == [0, 122]


def test_more_classes_and_targets_stay_numbers(folder):
    assert list(loaders.load("pendigits", folder).y) == [8, 2, 5]
    assert list(loaders.load("abalone", folder).y) == [15, 7, 9]


def test_the_label_of_spambase_is_its_last_column(folder):
    data = loaders.load("spambase", folder)
    assert data.X.shape == (3, 57)
    assert data.X[1, 2] == 0.25
    assert list(data.y) == [-1, 1, 1]


def test_images_are_scaled_to_the_unit_interval(folder):
    data = loaders.load("mnist", folder)
    assert data.X.shape == (3, 784)
    assert data.X[2, -1] == 1.0
    assert data.X.sum() == 1.0
    assert list(data.y) == [7, 2, 1]


def test_posts_become_tf_idf_rows_with_the_words_of_the_training_part(folder):
    write_news(folder)
    data = loaders.load("20news", folder)
    assert data.names == ("comp.graphics", "sci.space")
    assert list(data.y) == [0, 1, 1]
    assert list(data.y_test) == [1]
    assert data.X.shape == (3, 3)  # orbit, pixel, rocket: the words of two posts or more
    assert np.allclose(squared_norms(data.X), 1.0)
    assert data.X_test.data.size == 1


def test_the_variable_names_the_folder(folder, monkeypatch):
    monkeypatch.setenv("SVMLAB_DATA", str(folder))
    assert loaders.load("heart").X.shape == (3, 13)
    assert "heart" in loaders.available()
    assert "german" not in loaders.available()


def test_a_missing_file_is_named_with_its_folder_and_origin(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"spambase\.data\.xz is not in .*UCI") as caught:
        loaders.load("spambase", tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_no_folder_at_all_says_how_to_give_one(monkeypatch):
    monkeypatch.delenv("SVMLAB_DATA", raising=False)
    with pytest.raises(loaders.MissingDataError, match="set SVMLAB_DATA"):
        loaders.load("20news")
    assert loaders.available() == loaders.SHIPPED


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"name must be one of 'heart'.* got 'rcv1'"):
        loaders.load("rcv1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"+1 1:a\n", "numbers only"),
        (b"+1 4:1\n", "columns from 1 to 3"),
        (b"+1 0:1\n", "columns from 1 to 3"),
        (b"+1 2 1:1\n", "one label a line"),
    ],
)
def test_broken_lines_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        loaders.parse_svmlight(text, d=3)


@pytest.mark.parametrize("name", loaders.SHIPPED)
def test_sets_that_scikit_learn_ships_need_no_folder(name, monkeypatch):
    monkeypatch.delenv("SVMLAB_DATA", raising=False)
    data = loaders.load(name)
    assert data.X.shape[0] == data.y.size
    assert (set(data.y) == {-1.0, 1.0}) == (name == "breast_cancer")
