"""SVC against scikit-learn on random problems: the same dual objective, and a certificate."""

from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping
from sklearn.svm import SVC as Peer

from svmlab import SVC
from svmlab.certificates import certify
from svmlab.dual import dual_objective
from svmlab.kernels import KERNELS, kernel_matrix
from svmlab.types import Vector

TOL = 1e-6


def full_alpha(machine: SVC | Peer, y: Vector) -> Vector:
    alpha = np.zeros(len(y))
    alpha[machine.support_] = machine.dual_coef_[0] * y[machine.support_]
    return alpha


def check_problem(seed: int) -> None:
    """Compare the two on one problem: n 20–300, C 0.05–100, the kernels in turn."""
    rng = np.random.default_rng(seed)
    X, y = overlapping(rng, n=int(rng.integers(20, 301)), d=int(rng.integers(2, 6)))
    C = float(np.exp(rng.uniform(np.log(0.05), np.log(100.0))))
    options = {"kernel": KERNELS[seed % 3], "gamma": 0.3, "degree": 2, "coef0": 1.0}
    ours = SVC(C=C, tol=TOL, **options).fit(X, y)
    peer = Peer(C=C, tol=TOL, **options).fit(X, y)
    K = kernel_matrix(options["kernel"], X, gamma=0.3, degree=2, coef0=1.0)

    proof = certify(full_alpha(ours, y), ours.intercept_[0], K, y, C)
    assert proof.box == 0.0
    assert proof.equality <= 1e-12 * C * len(y)
    assert proof.violation <= TOL * (1.0 + 1e-6)  # α is read back from dual_coef_: last digits
    assert 0.0 <= proof.gap + 1e-12 * proof.primal <= 1.001 * TOL * C * len(y)  # (eq-gap-bound)
    assert proof.dual == pytest.approx(dual_objective(full_alpha(peer, y), K, y), rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_SVC_has_the_dual_objective_of_scikit_learn_and_a_certificate(seed):
    check_problem(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20, 200))
def test_SVC_agrees_on_the_other_180_problems(seed):
    check_problem(seed)
