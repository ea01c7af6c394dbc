from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest

from svmlab import datasets
from svmlab.coordinate import dual_coordinate_descent
from svmlab.kernels import circle_map
from svmlab.margins import functional_margins
from svmlab.rows import squared_norms
from svmlab.validation import check_rows

pytestmark = pytest.mark.core

BINARY = [
    datasets.blobs,
    datasets.separable_blobs,
    datasets.circle_data,
    datasets.rings,
    datasets.moons,
    datasets.checkerboard,
    datasets.spam_messages,
]
OTHER = [datasets.three_blobs, datasets.noisy_curve, datasets.noisy_line]


@pytest.mark.parametrize("make", BINARY + OTHER)
def test_the_same_seed_gives_the_same_data_and_another_seed_does_not(make):
    first, again, other = (make(60, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("make", BINARY)
def test_labels_are_signs_of_both_classes_in_no_order(make, rng):
    X, y = make(60, rng)
    assert X.shape[0] == 60
    assert X.dtype == y.dtype == np.float64
    assert set(y) == {-1.0, 1.0}
    assert np.sum(np.diff(y) != 0) > 5


def test_the_best_classifier_of_blobs_errs_as_often_as_the_normal_tail_says(rng):
    X, y = datasets.blobs(40_000, rng, d=5, distance=3.0)
    tail = 0.5 * (1.0 - erf(1.5 / sqrt(2.0)))
    error = np.mean(y * X.sum(axis=1) <= 0)
    assert abs(error - tail) < 5.0 * sqrt(tail / 40_000)


def test_imbalanced_blobs_hold_the_share_asked_for(rng):
    assert (datasets.blobs(200, rng, positive=0.05)[1] > 0).sum() == 10
    assert (datasets.blobs(10, rng, positive=0.001)[1] > 0).sum() == 1


@pytest.mark.parametrize("d", [1, 2, 7])
def test_separable_blobs_keep_their_margin_from_the_diagonal_plane(d, rng):
    X, y = datasets.separable_blobs(500, rng, d=d, margin=0.7)
    distances = y * X.sum(axis=1) / np.sqrt(d)
    assert distances.min() >= 0.7
    assert distances.min() < 0.75


def test_the_circle_is_a_plane_after_lifting_and_no_line_before(rng):
    X, y = datasets.circle_data(400, rng, gap=0.05)
    height = circle_map(X)[:, 2]
    assert np.all(y * (0.36 - height) > 0)
    assert np.abs(np.sqrt(height) - 0.6).min() >= 0.05
    # The origin's neighbourhood is +1 and points all around it are -1: in their convex hull.
    angles = np.sort(np.arctan2(X[y < 0, 1], X[y < 0, 0]))
    assert np.diff(angles, append=angles[0] + 2.0 * np.pi).max() < np.pi


def test_regression_outliers_are_two_above_the_curve(rng):
    X, y = datasets.noisy_curve(30, rng, noise=0.0, outliers=3)
    residuals = y - np.sin(X[:, 0]) / X[:, 0]
    assert np.allclose(residuals[:27], 0.0)
    assert np.allclose(residuals[27:], 2.0)


def test_three_blobs_sit_on_a_circle_of_radius_two(rng):
    X, y = datasets.three_blobs(300, rng, spread=0.0)
    assert np.allclose(np.hypot(*X.T), 2.0)
    assert len(np.unique(X.round(9), axis=0)) == 3
    assert np.array_equal(np.unique(y), [0.0, 1.0, 2.0])


def test_the_spam_example_is_the_lectures_table():
    X, y = datasets.spam_example()
    assert [list(row) for row in X] == [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1]]
    assert list(y) == [1, -1, 1]
    assert len(datasets.SPAM_WORDS) == X.shape[1]


def test_rcv1_like_rows_are_sorted_unit_vectors_with_about_seventy_words(rng):
    X, y = datasets.rcv1_like(3000, rng=rng)
    check_rows(X)
    assert X.shape == (3000, 47_236)
    assert set(y) == {-1.0, 1.0}
    assert 0.35 < np.mean(y > 0) < 0.65
    lengths = np.diff(X.indptr)
    assert 65 < lengths.mean() < 75
    assert lengths.min() >= 1
    assert np.allclose(squared_norms(X), 1.0)
    within = np.ones(X.indices.size, dtype=bool)
    within[X.indptr[:-1]] = False
    assert np.all(np.diff(X.indices, prepend=0)[within] > 0)
    assert X.data.min() > 0


def test_rcv1_like_word_frequencies_fall_by_a_power_law(rng):
    X, _ = datasets.rcv1_like(5000, rng=rng)
    frequency = np.sort(np.bincount(X.indices, minlength=X.shape[1]))[::-1]
    ranks = np.array([100, 200, 400, 800, 1600, 3200])
    slope = np.polyfit(np.log(ranks), np.log(frequency[ranks]), 1)[0]
    assert -1.4 < slope < -0.4


def test_rcv1_like_does_not_depend_on_the_size_of_its_blocks_for_validity(rng, monkeypatch):
    monkeypatch.setattr(datasets, "BLOCK_ROWS", 7)
    X, _ = datasets.rcv1_like(50, 500, rng=rng)
    check_rows(X)
    assert np.allclose(squared_norms(X), 1.0)


def test_rcv1_like_labels_without_noise_are_those_of_a_line_through_the_origin(rng):
    X, y = datasets.rcv1_like(
        150, 40, rng=rng, noise=0.0
    )  # random labels: separable at n < 2d only
    w = dual_coordinate_descent(X, y, np.inf, tol=1e-2, rng=rng).w
    assert functional_margins(X, y, w).min() > 0


@pytest.mark.full
def test_rcv1_like_at_the_lectures_size(rng):
    X, y = datasets.rcv1_like(rng=rng)
    assert X.shape == (781_265, 47_236)
    assert y.shape == (781_265,)
    assert 65 < X.data.size / X.shape[0] < 75
    assert np.allclose(np.add.reduceat(X.data**2, X.indptr[:-1]), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: datasets.blobs(1, rng), "n must be at least 2"),
        (lambda rng: datasets.blobs(10, rng, positive=1.0), "positive must be a share"),
        (lambda rng: datasets.blobs(10.5, rng), "n must be a whole number"),
        (lambda rng: datasets.separable_blobs(10, rng, margin=0.0), "margin must be"),
        (lambda rng: datasets.circle_data(10, rng, gap=0.6), "gap must be below"),
        (lambda rng: datasets.rings(10, rng, noise=np.nan), "noise must be"),
        (lambda rng: datasets.noisy_curve(5, rng, outliers=6), "outliers must be at most"),
        (lambda rng: datasets.rcv1_like(0, rng=rng), "n must be a whole number"),
    ],
)
def test_bad_sizes_are_refused_by_name(call, message, rng):
    with pytest.raises(ValueError, match=message):
        call(rng)
