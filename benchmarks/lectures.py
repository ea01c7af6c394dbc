"""The lectures' tables about training time, run on this machine: S8, S11, M9 and M10.

The lectures' own figures come from other machines and from data that is not here. These compare
the same families of solvers side by side, on a synthetic stand-in for RCV1 and on sets that
scikit-learn ships. Times include everything that a solver does, compilation excepted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from record import Row, table, timed, write_json
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC as LibSVM

from svmlab import SVC
from svmlab.coordinate import dual_coordinate_descent
from svmlab.cutting_plane import cutting_plane
from svmlab.datasets import RCV1_COLUMNS, rcv1_like
from svmlab.decomposition import decomposition
from svmlab.dual import weights_from_alpha
from svmlab.gradient import conjugate_gradient
from svmlab.kernels import linear_kernel
from svmlab.margins import functional_margins
from svmlab.pegasos import pegasos
from svmlab.primal import lam_from_C, regularized_risk
from svmlab.rows import take
from svmlab.sgd import svm_sgd
from svmlab.types import Rows, Vector

C = 1.0  # λ = 1/(nC): 1.25e-4 at 8,000 rows, about what the paper on Pegasos takes for such text
ACCURACY = 0.01  # relative: the objective is within 1 % of the optimum


def split_text(n: int, seed: int = 0) -> tuple[Rows, Vector, Rows, Vector]:
    """Return n training rows of the stand-in, and a fifth as many to test on."""
    X, y = rcv1_like(n + n // 5, d=min(RCV1_COLUMNS, n), rng=np.random.default_rng(seed))
    train, test = np.arange(n), np.arange(n, n + n // 5)
    return take(X, train), y[train], take(X, test), y[test]


def test_error(w: Vector, b: float, X: Rows, y: Vector) -> float:
    return float(np.mean(functional_margins(X, y, w, b) <= 0.0))


def compare_with_libsvm(repeats: int = 3) -> list[Row]:
    """S8: weighted and many-class problems, ours beside LIBSVM through scikit-learn."""
    cancer, digits = load_breast_cancer(), load_digits()
    problems = {
        "breast cancer, balanced weights": (scale(cancer.data), cancer.target, "balanced"),
        "digits, one against the rest": (digits.data / 16.0, digits.target, None),
    }
    rows = []
    for name, (X, y, weight) in problems.items():
        options = {"C": 1.0, "gamma": 1.0 / X.shape[1], "tol": 1e-3, "class_weight": weight}
        ours, theirs = SVC(**options), OneVsRestClassifier(LibSVM(**options))
        ours.fit(X, y)  # compiles
        times = [
            (timed(lambda: ours.fit(X, y))[0], timed(lambda: theirs.fit(X, y))[0])  # noqa: B023
            for _ in range(repeats)
        ]
        rows.append(
            {
                "problem": name,
                "svmlab s": median(t[0] for t in times),
                "LIBSVM s": median(t[1] for t in times),
                "same predictions": float(np.mean(ours.predict(X) == theirs.predict(X))),
            }
        )
    return rows


def training_times(n: int) -> list[Row]:
    """S11, M9: seconds, objective and test error of the lectures' kinds of solver."""
    X, y, X_test, y_test = split_text(n)
    lam = lam_from_C(C, n)
    best = dual_coordinate_descent(X, y, C, tol=1e-4, max_iter=2000).bound * lam
    good_enough = (1.0 + ACCURACY) * best

    def pegasos_until_good() -> Vector:
        steps = n
        while True:
            result = pegasos(X, y, lam, steps, np.random.default_rng(0))
            if result.objective <= good_enough:
                return result.w
            steps *= 2

    def sgd_until_good() -> Vector:
        epochs = 1
        while True:
            result = svm_sgd(X, y, lam, n_epochs=epochs, rng=np.random.default_rng(0))
            if result.objective <= good_enough:
                return result.w
            epochs *= 2

    def svm_light() -> tuple[Vector, float]:
        result = decomposition(linear_kernel(X, X), y, C, tol=1e-2)
        return weights_from_alpha(result.alpha, X, y), result.b

    solvers: dict[str, Callable[[], Vector]] = {
        "Pegasos": pegasos_until_good,
        "SVM-SGD": sgd_until_good,
        "dual coordinate descent": lambda: dual_coordinate_descent(X, y, C, tol=0.01).w,
        "SVM-Perf (cutting plane)": lambda: cutting_plane(X, y, C, tol=ACCURACY * best).w,
    }
    rows = []
    for name, solve in solvers.items():
        solve()  # compiles
        seconds, w = timed(solve)
        rows.append(
            {
                "solver": name,
                "rows": n,
                "seconds": seconds,
                "objective / optimum": regularized_risk(w, X, y, lam) / best,
                "test error": test_error(w, 0.0, X_test, y_test),
            }
        )
    seconds, (w, b) = timed(svm_light)
    rows.append(
        {
            "solver": "SVM-light (with intercept)",
            "rows": n,
            "seconds": seconds,
            "objective / optimum": float("nan"),
            "test error": test_error(w, b, X_test, y_test),
        }
    )
    return rows


def stochastic_or_batch(n: int) -> list[Row]:
    """M10: SGD on all rows against conjugate gradients on samples, by the error on fresh rows.

    SGD minimises the hinge, conjugate gradients its square, so losses would not compare.
    """
    X, y, X_test, y_test = split_text(n)
    lam, rng = lam_from_C(C, n), np.random.default_rng(0)
    svm_sgd(X, y, lam, n_epochs=1, rng=rng)  # compiles
    seconds, result = timed(lambda: svm_sgd(X, y, lam, n_epochs=5, rng=np.random.default_rng(0)))
    rows = [
        {
            "method": "SGD, 5 epochs",
            "rows": n,
            "seconds": seconds,
            "test error": test_error(result.w, 0.0, X_test, y_test),
        }
    ]
    for share in (100, 10, 1):
        sample = rng.permutation(n)[: n // share]
        part, signs = take(X, sample), y[sample]
        seconds, result = timed(
            lambda: conjugate_gradient(part, signs, C * share, fit_intercept=False, tol=1e-3)  # noqa: B023
        )
        rows.append(
            {
                "method": "conjugate gradients",
                "rows": len(sample),
                "seconds": seconds,
                "test error": test_error(result.w, 0.0, X_test, y_test),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    n = 2_000 if options.quick else 20_000
    parts: dict[str, tuple[str, Callable[[], list[Row]]]] = {
        "S8": ("ours and LIBSVM on the same data", compare_with_libsvm),
        "S11 M9": ("training time (synthetic text)", lambda: training_times(min(n, 8_000))),
        "M10": ("SGD on all rows, CG on samples (synthetic text)", lambda: stochastic_or_batch(n)),
    }
    results = {}
    for ids, (title, run) in parts.items():
        print(f"\n{ids}: {title} …", flush=True)
        results[ids] = run()
        print(table(results[ids]))
    if options.json:
        write_json(options.json, {"tables": results})
        print(f"\nwritten: {options.json}")


if __name__ == "__main__":
    main()
