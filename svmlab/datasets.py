"""Seeded data sets for the figures, the homework and the benchmarks: numpy only, no files.

Every generator takes a ``numpy.random.Generator`` and returns (X, y) as floats; labels are −1 and
+1 unless said otherwise, in random order. Real data are in :mod:`svmlab.loaders`.
"""

from __future__ import annotations

import numpy as np

from svmlab.types import CSR, Indices, Matrix, Vector
from svmlab.validation import check_count, check_nonnegative, check_positive

CIRCLE_RADIUS = 0.6

SPAM_WORDS = ("viagra", "learning", "the", "dating", "nigeria")
# How often each word stands in a message, ham and spam: ours, chosen so that the classes overlap.
WORD_RATES = np.array([[0.02, 0.55, 0.90, 0.08, 0.04], [0.50, 0.10, 0.80, 0.40, 0.35]])

RCV1_ROWS, RCV1_COLUMNS = 781_265, 47_236
N_TOPICS, TOPIC_WORDS = 60, 400
BLOCK_ROWS = 20_000


def blobs(
    n: int, rng: np.random.Generator, d: int = 2, distance: float = 3.0, positive: float = 0.5
) -> tuple[Matrix, Vector]:
    r"""Draw two Gaussian clouds around ±distance/2 on the diagonal (C4, C5, S5).

    They overlap: the best classifier, sgn(Σ xⱼ), errs with probability Φ(−distance/2) when the
    classes are balanced. ``positive`` is the share of the class +1; far from ½ it gives the
    imbalanced data of S5.

    >>> X, y = blobs(100, np.random.default_rng(0), positive=0.1)
    >>> X.shape, int((y > 0).sum())
    ((100, 2), 10)
    """
    check_count(n=n, d=d)
    check_nonnegative(distance=distance)
    y = _signs(n, positive, rng)
    X = rng.standard_normal((n, d)) + y[:, None] * distance / (2.0 * np.sqrt(d))
    return X, y


def separable_blobs(
    n: int, rng: np.random.Generator, d: int = 2, margin: float = 1.0
) -> tuple[Matrix, Vector]:
    r"""Draw two clouds that the diagonal direction separates with the given margin (C1, M4, M5).

    With u = (1, …, 1)/√d every example has y u·x ≥ margin, so the widest street is at least
    2·margin wide, and a line through the origin is enough.

    >>> X, y = separable_blobs(50, np.random.default_rng(0), margin=0.5)
    >>> bool((y * X.sum(axis=1) / np.sqrt(2) >= 0.5).all())
    True
    """
    check_count(n=n, d=d)
    check_positive(margin=margin)
    y = _signs(n, 0.5, rng)
    u = np.full(d, 1.0 / np.sqrt(d))
    across = rng.standard_normal((n, d))
    across -= np.outer(across @ u, u)
    depth = margin + np.abs(rng.standard_normal(n)) + 1e-9  # rounding must not eat the margin
    return across + np.outer(y * depth, u), y


def circle_data(n: int, rng: np.random.Generator, gap: float = 0.0) -> tuple[Matrix, Vector]:
    r"""Draw points of the square [−1, 1]², +1 inside the circle of radius 0.6 (C9).

    No line separates them; after :func:`svmlab.kernels.circle_map` the plane x₃ = 0.36 does.
    Points nearer than ``gap`` to the circle are left out.

    >>> X, y = circle_data(200, np.random.default_rng(0))
    >>> bool(np.array_equal(y > 0, (X**2).sum(axis=1) <= 0.36))
    True
    """
    check_count(n=n)
    check_nonnegative(gap=gap)
    if gap >= CIRCLE_RADIUS:
        raise ValueError(f"gap must be below the radius {CIRCLE_RADIUS}, got {gap!r}")
    X = np.empty((0, 2))
    while len(X) < n:
        draw = rng.uniform(-1.0, 1.0, (2 * n, 2))
        X = np.vstack((X, draw[np.abs(np.hypot(*draw.T) - CIRCLE_RADIUS) >= gap]))
    X = X[:n]
    return X, np.where(np.sum(X**2, axis=1) <= CIRCLE_RADIUS**2, 1.0, -1.0)


def rings(n: int, rng: np.random.Generator, noise: float = 0.1) -> tuple[Matrix, Vector]:
    """Draw a ring of radius ½ (+1) inside one of radius 1 (−1), for the Gaussian kernel (C12).

    >>> X, y = rings(100, np.random.default_rng(0), noise=0.0)
    >>> np.unique(np.hypot(*X[y > 0].T).round(12))
    array([0.5])
    """
    check_count(n=n)
    check_nonnegative(noise=noise)
    y = _signs(n, 0.5, rng)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = np.where(y > 0, 0.5, 1.0)
    X = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    return X + noise * rng.standard_normal((n, 2)), y


def moons(n: int, rng: np.random.Generator, noise: float = 0.15) -> tuple[Matrix, Vector]:
    """Draw two half circles that reach into each other, for kernels and ensembles (C12, G9).

    >>> X, y = moons(100, np.random.default_rng(0))
    >>> X.shape, float(y.sum())
    ((100, 2), 0.0)
    """
    check_count(n=n)
    check_nonnegative(noise=noise)
    y = _signs(n, 0.5, rng)
    angle = rng.uniform(0.0, np.pi, n)
    X = np.column_stack((np.cos(angle), np.sin(angle))) * y[:, None]
    X += np.where(y > 0, 0.0, 1.0)[:, None] * np.array([1.0, 0.5])
    return X + noise * rng.standard_normal((n, 2)), y


def checkerboard(n: int, rng: np.random.Generator, cells: int = 2) -> tuple[Matrix, Vector]:
    """Draw points of a board of cells × cells squares, coloured in turn: XOR for two (C12, G6).

    >>> X, y = checkerboard(100, np.random.default_rng(0))
    >>> bool(np.array_equal(y, np.sign(X[:, 0] * X[:, 1])))
    True
    """
    check_count(n=n, cells=cells)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    square = np.floor((X + 1.0) * cells / 2.0).sum(axis=1)
    return X, np.where((square - cells) % 2 == 0, 1.0, -1.0)


def three_blobs(
    n: int, rng: np.random.Generator, n_classes: int = 3, spread: float = 0.6
) -> tuple[Matrix, Vector]:
    """Draw one cloud a class around a circle of radius 2, labelled 0, 1, 2, … (S6, S7, M14).

    >>> X, y = three_blobs(90, np.random.default_rng(0))
    >>> np.unique(y, return_counts=True)
    (array([0., 1., 2.]), array([30, 30, 30]))
    """
    check_count(n=n, n_classes=n_classes)
    check_nonnegative(spread=spread)
    y = rng.permutation(np.arange(n) % n_classes).astype(np.float64)
    angle = 2.0 * np.pi * y / n_classes + np.pi / 2.0
    centres = 2.0 * np.column_stack((np.cos(angle), np.sin(angle)))
    return centres + spread * rng.standard_normal((n, 2)), y


def one_versus_rest_fails(n: int, rng: np.random.Generator) -> tuple[Matrix, Indices]:
    """Return three classes in a row; one machine a class loses one of them, whatever C (S6, S7).

    No line separates the middle class (40 %) from both others. The cheapest its own machine can do
    is to keep the right class (35 %, far) out and to give up the left one (25 %, near): there it
    scores higher than the machine of the left class. Yet the scores −x, 1 and x − 7 name each
    class.

    Parameters
    ----------
    n : number of points, at least 3
    rng : draws the points, in discs of radius ½ about x = −4, 0 and 12

    Returns
    -------
    (n, 2) points and their class codes 0, 1, 2

    >>> X, codes = one_versus_rest_fails(20, np.random.default_rng(0))
    >>> X.shape, np.bincount(codes)
    ((20, 2), array([5, 8, 7]))
    """
    if n < 3:
        raise ValueError(f"n must be 3 or above, one point a class, got {n!r}")
    codes = np.searchsorted([0.25, 0.65], (np.arange(n) + 0.5) / n).astype(np.int64)
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n), 0.5 * np.sqrt(rng.uniform(0.0, 1.0, n))
    discs = np.column_stack((np.cos(angle), np.sin(angle))) * radius[:, None]
    return discs + np.column_stack((np.array([-4.0, 0.0, 12.0])[codes], np.zeros(n))), codes


def noisy_curve(
    n: int, rng: np.random.Generator, noise: float = 0.1, outliers: int = 0
) -> tuple[Matrix, Vector]:
    """Draw a regression problem on the line: y = sin(x)/x on [−6, 6], with noise (C18).

    The last ``outliers`` targets are raised by 2, to tell the absolute from the squared loss.

    >>> X, y = noisy_curve(50, np.random.default_rng(0), noise=0.0)
    >>> bool(np.allclose(y, np.sin(X[:, 0]) / X[:, 0]))
    True
    """
    check_count(n=n)
    check_nonnegative(noise=noise, outliers=outliers)
    if outliers > n:
        raise ValueError(f"outliers must be at most n = {n}, got {outliers!r}")
    x = rng.uniform(-6.0, 6.0, n)
    y = np.sinc(x / np.pi) + noise * rng.standard_normal(n)
    y[n - outliers :] += 2.0
    return x[:, None], y


def noisy_line(n: int, rng: np.random.Generator, noise: float = 0.2) -> tuple[Matrix, Vector]:
    """Draw a regression problem on the line: y = 2x + 1 on [0, 1], with Gaussian noise (C18).

    >>> X, y = noisy_line(5, np.random.default_rng(0), noise=0.0)
    >>> bool(np.allclose(y, 2.0 * X[:, 0] + 1.0))
    True
    """
    check_count(n=n)
    check_nonnegative(noise=noise)
    x = rng.uniform(0.0, 1.0, n)
    return x[:, None], 2.0 * x + 1.0 + noise * rng.standard_normal(n)


def spam_example() -> tuple[Matrix, Vector]:
    """Return three messages as rows of word occurrences, +1 for spam; words: SPAM_WORDS (M1).

    >>> X, y = spam_example()
    >>> [word for word, there in zip(SPAM_WORDS, X[0]) if there], float(y[0])
    (['viagra', 'the'], 1.0)
    """
    X = np.array([[1.0, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1]])
    return X, np.array([1.0, -1.0, 1.0])


def spam_messages(n: int, rng: np.random.Generator, positive: float = 0.4) -> tuple[Matrix, Vector]:
    """Draw messages as word occurrences, each word by its rate in ham or in spam (M1).

    >>> X, y = spam_messages(200, np.random.default_rng(0))
    >>> rates = X[y > 0].mean(axis=0)
    >>> bool(rates[0] > rates[1])  # "viagra" against "learning"
    True
    """
    check_count(n=n)
    y = _signs(n, positive, rng)
    rates = WORD_RATES[(y > 0).astype(int)]
    return (rng.random(rates.shape) < rates).astype(np.float64), y


def rcv1_like(
    n: int = RCV1_ROWS, d: int = RCV1_COLUMNS, *, rng: np.random.Generator, noise: float = 0.25
) -> tuple[CSR, Vector]:
    r"""Generate documents like those of RCV1, which is not here: synthetic text (M9, M12, S11).

    A document mixes the vocabulary, whose frequencies fall by Zipf's law, with the words of one
    topic in 60. The entries are (1 + log count) · idf, columns sorted in each row, rows of length 1
    with about 70 non-zeros. Labels are sgn(w·x + noise) for a hidden normal w.

    With the default size it takes about 1 GB. A test set is a slice of the same call.

    >>> X, y = rcv1_like(100, 2000, rng=np.random.default_rng(0))
    >>> X.shape, bool(np.allclose(np.add.reduceat(X.data**2, X.indptr[:-1]), 1.0))
    ((100, 2000), True)
    """
    check_count(n=n, d=d)
    check_nonnegative(noise=noise)
    frequency = 1.0 / (np.arange(d) + 20.0) ** 1.05  # stop words are gone: the head is flat
    cumulative = np.cumsum(frequency / frequency.sum())
    topics = rng.integers(0, d, (N_TOPICS, TOPIC_WORDS))
    idf = 1.0 - 0.1 * np.log(frequency / frequency[0])
    w = rng.standard_normal(d)
    lengths = np.clip(np.exp(4.175 + 0.55 * rng.standard_normal(n)), 8, 400).astype(np.int64)
    data, indices = np.empty(lengths.sum()), np.empty(lengths.sum(), dtype=np.int64)
    indptr, score = np.zeros(n + 1, dtype=np.int64), np.empty(n)
    for start in range(0, n, BLOCK_ROWS):  # bounds the memory of the temporaries
        stop = min(start + BLOCK_ROWS, n)
        words = _draw_words(lengths[start:stop], cumulative, topics, rng)
        row, column, value = _weigh(words, idf, lengths[start:stop])
        first = indptr[start]
        entries = slice(first, first + column.size)
        data[entries], indices[entries] = value, column
        indptr[start + 1 : stop + 1] = first + np.cumsum(np.bincount(row, minlength=stop - start))
        score[start:stop] = np.bincount(row, value * w[column], minlength=stop - start)
    y = np.where(score + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
    used = indptr[-1]
    return CSR(data[:used], indices[:used], indptr, (n, d)), y


def _draw_words(
    lengths: Indices, cumulative: Vector, topics: Indices, rng: np.random.Generator
) -> Indices:
    """Draw all words of a block of documents, repetitions included."""
    topic = np.repeat(rng.integers(0, len(topics), lengths.size), lengths)
    on_topic = rng.random(topic.size) < 0.5
    n_on, n_off = np.count_nonzero(on_topic), np.count_nonzero(~on_topic)
    rank = (topics.shape[1] * rng.random(n_on) ** 2).astype(np.int64)
    words = np.empty(topic.size, dtype=np.int64)
    words[on_topic] = topics[topic[on_topic], rank]
    words[~on_topic] = np.searchsorted(
        cumulative[:-1], rng.random(n_off)
    )  # the last word: the rest
    return words


def _weigh(words: Indices, idf: Vector, lengths: Indices) -> tuple[Indices, Indices, Vector]:
    """Count the words of each document; return row, column and value of rows of length 1."""
    keys = np.repeat(np.arange(lengths.size) * idf.size, lengths) + words
    keys, counts = np.unique(keys, return_counts=True)
    row, column = np.divmod(keys, idf.size)
    value = (1.0 + np.log(counts)) * idf[column]
    norms = np.sqrt(np.bincount(row, value**2, minlength=lengths.size))
    return row, column, value / norms[row]


def _signs(n: int, positive: float, rng: np.random.Generator) -> Vector:
    """Return n labels in random order, the share ``positive`` of them +1; both classes occur."""
    if n < 2:
        raise ValueError(f"n must be at least 2, one example a class, got {n}")
    if not 0.0 < positive < 1.0:
        raise ValueError(f"positive must be a share between 0 and 1, got {positive!r}")
    n_positive = min(max(round(positive * n), 1), n - 1)
    return rng.permutation(np.where(np.arange(n) < n_positive, 1.0, -1.0))
