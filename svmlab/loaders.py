"""Readers of the real data sets, from a folder or from the one that SVMLAB_DATA names.

The files are no part of the project: each error about a missing one says where the data come from.
Toy data that need no files are in :mod:`svmlab.datasets`.
"""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from svmlab.rows import dense
from svmlab.types import CSR, Rows, Vector
from svmlab.validation import check_choice

Part: TypeAlias = tuple[Rows, Vector]

NEWS_NAMES_START = "20news-bydate-"


class MissingDataError(FileNotFoundError):
    """A data set is not where it was looked for; the message says what to fetch from where."""


class RealData(NamedTuple):
    """A data set as it was published; the test part is None where none was.

    Labels are −1 and +1 where there are two classes, class numbers where there are more (``names``
    are theirs, if they have any), targets in regression.
    """

    X: Rows
    y: Vector
    X_test: Rows | None
    y_test: Vector | None
    names: tuple[str, ...] = ()


class Source(NamedTuple):
    """What is known of a data set before it is read."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    d: int
    read: Callable[[list[Path], Source], Part]
    origin: str
    zero_based: bool = False
    is_dense: bool = True


def load(name: str, folder: str | Path | None = None) -> RealData:
    """Read a real data set by name (M1, M9, S8).

    Parameters
    ----------
    name : a key of SOURCES, ``20news``, or one of the sets that scikit-learn ships (SHIPPED)
    folder : where the files are; by default the folder that the variable SVMLAB_DATA names

    Raises
    ------
    MissingDataError
        A file is not there; the message names it, the folder and the origin of the data.

    >>> load("breast_cancer").X.shape
    (569, 30)
    """
    check_choice(name, (*SOURCES, "20news", *SHIPPED), "name")
    if name in SHIPPED:
        return _load_shipped(name)
    if name == "20news":
        return _load_news(_locate(NEWS_FILE, NEWS_ORIGIN, folder))
    source = SOURCES[name]
    X, y = source.read([_locate(file, source.origin, folder) for file in source.train], source)
    if not source.test:
        return RealData(X, _signs(y, y), None, None)
    paths = [_locate(file, source.origin, folder) for file in source.test]
    X_test, y_test = source.read(paths, source)
    return RealData(X, _signs(y, y), X_test, _signs(y_test, y))


def available(folder: str | Path | None = None) -> tuple[str, ...]:
    """Return the names of the sets that :func:`load` would find.

    >>> available("/nowhere")
    ('breast_cancer', 'diabetes', 'digits', 'iris', 'wine')
    """
    files = {name: source.train + source.test for name, source in SOURCES.items()}
    files["20news"] = (NEWS_FILE,)
    place = data_folder(folder)
    there = [
        name
        for name, needed in files.items()
        if place is not None and all((place / file).is_file() for file in needed)
    ]
    return (*there, *SHIPPED)


def data_folder(folder: str | Path | None = None) -> Path | None:
    """Return the given folder, else the one that SVMLAB_DATA names, else None.

    >>> data_folder("/data").as_posix()
    '/data'
    """
    place = folder if folder is not None else os.environ.get("SVMLAB_DATA")
    return Path(place) if place else None


def parse_svmlight(text: bytes, d: int, zero_based: bool = False) -> tuple[CSR, Vector]:
    r"""Read lines ``label column:value …`` into sparse rows and labels.

    >>> X, y = parse_svmlight(b"+1 1:0.5 3:2\n-1 2:1\n", d=3)
    >>> dense(X)
    array([[0.5, 0. , 2. ], [0. , 1. , 0. ]])
    >>> y
    array([ 1., -1.])
    """
    lines = [line for line in text.splitlines() if line.strip()]
    lengths = np.array([line.count(b":") for line in lines], dtype=np.int64)
    numbers = _numbers(b" ".join(lines).replace(b":", b" "))
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    if numbers.size != 2 * indptr[-1] + len(lines):
        raise ValueError("text must hold lines 'label column:value …', one label a line")
    labels_at = 2 * indptr[:-1] + np.arange(len(lines))
    pairs = np.delete(numbers, labels_at).reshape(-1, 2)
    indices = pairs[:, 0].astype(np.int64) - (0 if zero_based else 1)
    if indices.size and not 0 <= indices.min() <= indices.max() < d:
        low, high = (0, d - 1) if zero_based else (1, d)
        raise ValueError(f"text must have columns from {low} to {high} only")
    return CSR(pairs[:, 1].copy(), indices, indptr, (len(lines), d)), numbers[labels_at]


def _numbers(text: bytes) -> Vector:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            return np.fromstring(text.decode("ascii"), sep=" ")
    except (DeprecationWarning, ValueError) as error:
        raise ValueError(f"text must hold numbers only: {error}") from None


def _locate(file: str, origin: str, folder: str | Path | None) -> Path:
    place = data_folder(folder)
    if place is None:
        raise MissingDataError(
            f"{file} is needed, but no folder is given: pass folder=… or set SVMLAB_DATA. "
            f"Origin: {origin}"
        )
    if not (place / file).is_file():
        raise MissingDataError(f"{file} is not in {place}. Origin: {origin}")
    return place / file


def _read_svmlight(paths: list[Path], source: Source) -> Part:
    text = lzma.decompress(paths[0].read_bytes())
    X, y = parse_svmlight(text, source.d, source.zero_based)
    return (dense(X) if source.is_dense else X), y


def _read_csv(paths: list[Path], source: Source) -> Part:
    with lzma.open(paths[0], "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    return table[:, : source.d], table[:, source.d]


def _read_idx(paths: list[Path], source: Source) -> Part:
    """Read MNIST's images, scaled to [0, 1], and labels: big-endian sizes, then bytes."""
    images, labels = (gzip.decompress(path.read_bytes()) for path in paths)
    n = int.from_bytes(images[4:8], "big")
    X = np.frombuffer(images, dtype=np.uint8, offset=16).reshape(n, source.d) / 255.0
    return X, np.frombuffer(labels, dtype=np.uint8, offset=8).astype(np.float64)


def _load_news(path: Path) -> RealData:
    """Read the raw posts and weigh their words by tf-idf (min_df=2, sublinear), fitted on train."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    with tarfile.open(path, "r:xz") as archive:
        for member in archive:
            if member.isfile():
                *_, part, group, _number = member.name.split("/")
                text = archive.extractfile(member).read().decode("latin-1")  # type: ignore[union-attr]
                posts[part.removeprefix(NEWS_NAMES_START)].append((group, text))
    names = tuple(sorted({group for group, _ in posts["train"]}))
    words = TfidfVectorizer(min_df=2, sublinear_tf=True)
    X = words.fit_transform([text for _, text in posts["train"]])
    X_test = words.transform([text for _, text in posts["test"]])
    y, y_test = (
        np.array([names.index(group) for group, _ in posts[part]], dtype=np.float64)
        for part in ("train", "test")
    )
    return RealData(_as_csr(X), y, _as_csr(X_test), y_test, names)


def _as_csr(X: CSR) -> CSR:
    return CSR(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), X.shape)


def _load_shipped(name: str) -> RealData:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    names = tuple(str(group) for group in getattr(bunch, "target_names", ()))
    y = bunch.target.astype(np.float64)
    return RealData(bunch.data, _signs(y, y), None, None, names)


def _signs(y: Vector, y_train: Vector) -> Vector:
    """Return −1 and +1 where the training set has two classes, and y as it is elsewhere."""
    classes = np.unique(y_train)
    return np.where(y == classes[1], 1.0, -1.0) if classes.size == 2 else y


NEWS_FILE = "20news-bydate.tar.xz"
NEWS_ORIGIN = "20 Newsgroups, the by-date split (http://qwone.com/~jason/20Newsgroups)"
LIBSVM_PAGE = "the LIBSVM data page (https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets)"
UCI = "the UCI repository (https://archive.ics.uci.edu)"

SHIPPED = ("breast_cancer", "diabetes", "digits", "iris", "wine")

SOURCES = {
    "heart": Source(
        ("heart_scale.xz",), (), 13, _read_svmlight, f"Statlog heart, scaled, {LIBSVM_PAGE}"
    ),
    "german": Source(
        ("german_scale.txt.xz",), (), 24, _read_svmlight, f"German credit, scaled, {LIBSVM_PAGE}"
    ),
    "spambase": Source(("spambase.data.xz",), (), 57, _read_csv, f"Spambase, {UCI}"),
    "mushrooms": Source(
        ("agaricus.trn.xz",),
        ("agaricus.tst.xz",),
        126,
        _read_svmlight,
        f"Mushroom, one column a value, {UCI}",
        is_dense=False,
    ),
    "adult": Source(
        ("adult.trn.xz",),
        ("adult.tst.xz",),
        123,
        _read_svmlight,
        f"Adult, binarised (a9a), {LIBSVM_PAGE}",
        zero_based=True,
        is_dense=False,
    ),
    "ijcnn1": Source(
        ("ijcnn1.trn.xz",),
        ("ijcnn1.tst.xz",),
        22,
        _read_svmlight,
        f"IJCNN 2001 challenge, {LIBSVM_PAGE}",
    ),
    "pendigits": Source(
        ("pendigits.xz",), ("pendigits.t.xz",), 16, _read_svmlight, f"Pen digits, {UCI}"
    ),
    "mnist": Source(
        ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
        (),
        784,
        _read_idx,
        "MNIST, the test half (http://yann.lecun.com/exdb/mnist)",
    ),
    "abalone": Source(("abalone.xz",), (), 8, _read_svmlight, f"Abalone, scaled, {LIBSVM_PAGE}"),
    "reuters": Source(
        ("reuters.trn.xz",),
        ("reuters.tst.xz",),
        8315,
        _read_svmlight,
        "Reuters-21578, category money-fx, tf-idf",
        is_dense=False,
    ),
}
