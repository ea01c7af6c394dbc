"""The primal methods against solvers that share no code with them."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from problems import overlapping
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from svmlab.gradient import conjugate_gradient, gradient_descent, stochastic_gradient_descent
from svmlab.losses import MARGIN_LOSSES
from svmlab.pegasos import pegasos, soft_svm_sgd
from svmlab.perceptron import perceptron
from svmlab.primal import lam_from_C, primal_objective
from svmlab.sgd import svm_sgd
from svmlab.types import Matrix, Vector


def hinge_optimum(X: Matrix, y: Vector, C: float, intercept: bool) -> float:
    """Solve min ½‖w‖² + C Σ ξ where y(w·x + b) ≥ 1 − ξ, ξ ≥ 0 as a quadratic program."""
    n, d = X.shape
    quadratic = sparse.diags_array(np.repeat([1.0, 0.0], [d, n + 1]), format="csc")
    linear = np.repeat([0.0, C], [d + 1, n])
    signed = np.column_stack((y[:, None] * X, y * intercept))
    G = sparse.block_array([[-signed, -sparse.eye_array(n)], [None, -sparse.eye_array(n)]])
    h = np.repeat([-1.0, 0.0], n)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(2 * n)]
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic), linear, sparse.csc_matrix(G), h, cones, settings
    ).solve()
    return float(solution.obj_val)


@pytest.mark.parametrize("C", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_subgradient_descent_encloses_the_optimum_of_the_quadratic_program(
    C: float, intercept: bool, rng: np.random.Generator
) -> None:
    X, y = overlapping(rng, n=80, d=4)
    best = hinge_optimum(X, y, C, intercept)
    result = gradient_descent(X, y, C, fit_intercept=intercept)
    assert result.bound <= best * (1.0 + 1e-7)
    assert best * (1.0 - 1e-7) <= result.objective <= 1.001 * best


def test_stochastic_gradient_descent_with_intercept_reaches_it_too(
    rng: np.random.Generator,
) -> None:
    X, y = overlapping(rng, n=80, d=4)
    best = hinge_optimum(X, y, 0.5, intercept=True)
    result = stochastic_gradient_descent(X, y, 0.5, n_epochs=80, rng=rng)
    assert best * (1.0 - 1e-7) <= result.objective <= 1.02 * best


def test_the_three_forms_of_sgd_solve_the_problem_of_liblinear(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=80, d=4)
    C, n = 0.25, 80
    lam = lam_from_C(C, n)  # 0.05: λT = 2000 at T = 40,000
    peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    w = peer.fit(X, y).coef_[0]
    best = primal_objective(w, 0.0, X, y, C)
    for result in (
        pegasos(X, y, lam, 40_000, rng),
        soft_svm_sgd(X, y, lam, 40_000, rng),
        svm_sgd(X, y, lam, n_epochs=500, rng=rng),
    ):
        assert lam * best * (1.0 - 1e-6) <= result.objective <= 1.02 * lam * best
        assert result.bound <= lam * best
        assert np.linalg.norm(result.w - w) < 0.1 * np.linalg.norm(w)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_conjugate_gradients_agree_with_scipy(loss: str, rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=80, d=4)
    result = conjugate_gradient(X, y, 2.0, loss=loss, tol=1e-9)
    peer = minimize(
        lambda z: primal_objective(z[:-1], z[-1], X, y, 2.0, MARGIN_LOSSES[loss]),
        np.zeros(5),
        method="BFGS",
        options={"gtol": 1e-4},
    )
    assert result.objective == pytest.approx(peer.fun, rel=1e-8)
    np.testing.assert_allclose(np.append(result.w, result.b), peer.x, atol=1e-3)


def test_conjugate_gradients_agree_with_logistic_regression(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=80, d=4)
    result = conjugate_gradient(X, y, 2.0, loss="logistic", tol=1e-10)
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(result.w, peer.coef_[0], rtol=1e-5)
    assert result.b == pytest.approx(peer.intercept_[0], rel=1e-5)


def test_scipy_matrices_are_read_as_they_are(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    X[np.abs(X) < 0.5] = 0.0
    for form in (sparse.csr_matrix(X), sparse.csr_array(X)):
        pairs = [
            (pegasos(Z, y, 0.1, 50, np.random.default_rng(0)).w for Z in (X, form)),
            (svm_sgd(Z, y, 0.1, n_epochs=2, rng=np.random.default_rng(0)).w for Z in (X, form)),
            (perceptron(Z, y, max_passes=5).w for Z in (X, form)),
        ]
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-10)
    with pytest.raises(ValueError, match="X is sparse but not CSR"):
        pegasos(sparse.csc_matrix(X), y, 0.1, 5, rng)
