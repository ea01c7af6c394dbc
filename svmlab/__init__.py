"""Support vector machines to read, to do and to grade.

Estimators and the main functions can be imported from here: ``from svmlab import SVC, solve_dual``.
Each is loaded at first use, so that ``import svmlab`` costs nothing and needs nothing. A function
named like its module is imported from that: ``from svmlab.pegasos import pegasos``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmlab.certificates import certify, duality_gap, kkt_violation
    from svmlab.coordinate import dual_coordinate_descent
    from svmlab.dual import dual_objective
    from svmlab.estimators import (
        SGDSVC,
        SVC,
        SVR,
        AdaBoostClassifier,
        BaggingClassifier,
        BaggingRegressor,
        ConvergenceWarning,
        CrammerSingerSVC,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        KernelLogisticRegression,
        LinearSVC,
        LogisticRegression,
        OneVsRestClassifier,
        Pegasos,
        Perceptron,
        RandomForestClassifier,
        RandomForestRegressor,
        RegularizedRegression,
    )
    from svmlab.examples import worked_example
    from svmlab.gradient import conjugate_gradient, gradient_descent, stochastic_gradient_descent
    from svmlab.kernels import gaussian_kernel, kernel_matrix, linear_kernel, polynomial_kernel
    from svmlab.logistic import kernel_logistic_regression, logistic_regression
    from svmlab.losses import hinge_loss
    from svmlab.model_selection import choose_C, compare, cross_validate
    from svmlab.multiclass import joint_multiclass, one_versus_rest
    from svmlab.pegasos import soft_svm_sgd
    from svmlab.primal import lam_from_C, primal_objective
    from svmlab.regression import regularized_regression, svr
    from svmlab.sgd import svm_sgd
    from svmlab.smo import simplified_smo, solve_dual
    from svmlab.types import DualResult, PrimalResult

_HOMES = {
    "svmlab.certificates": ["certify", "duality_gap", "kkt_violation"],
    "svmlab.coordinate": ["dual_coordinate_descent"],
    "svmlab.dual": ["dual_objective"],
    "svmlab.estimators": [
        "AdaBoostClassifier",
        "BaggingClassifier",
        "BaggingRegressor",
        "ConvergenceWarning",
        "CrammerSingerSVC",
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "KernelLogisticRegression",
        "LinearSVC",
        "LogisticRegression",
        "OneVsRestClassifier",
        "Pegasos",
        "Perceptron",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "RegularizedRegression",
        "SGDSVC",
        "SVC",
        "SVR",
    ],
    "svmlab.examples": ["worked_example"],
    "svmlab.gradient": ["conjugate_gradient", "gradient_descent", "stochastic_gradient_descent"],
    "svmlab.kernels": ["gaussian_kernel", "kernel_matrix", "linear_kernel", "polynomial_kernel"],
    "svmlab.logistic": ["kernel_logistic_regression", "logistic_regression"],
    "svmlab.losses": ["hinge_loss"],
    "svmlab.model_selection": ["choose_C", "compare", "cross_validate"],
    "svmlab.multiclass": ["joint_multiclass", "one_versus_rest"],
    "svmlab.pegasos": ["soft_svm_sgd"],
    "svmlab.primal": ["lam_from_C", "primal_objective"],
    "svmlab.regression": ["regularized_regression", "svr"],
    "svmlab.sgd": ["svm_sgd"],
    "svmlab.smo": ["simplified_smo", "solve_dual"],
    "svmlab.types": ["DualResult", "PrimalResult"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "SGDSVC",
    "SVC",
    "SVR",
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "ConvergenceWarning",
    "CrammerSingerSVC",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "DualResult",
    "KernelLogisticRegression",
    "LinearSVC",
    "LogisticRegression",
    "OneVsRestClassifier",
    "Pegasos",
    "Perceptron",
    "PrimalResult",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RegularizedRegression",
    "certify",
    "choose_C",
    "compare",
    "conjugate_gradient",
    "cross_validate",
    "dual_coordinate_descent",
    "dual_objective",
    "duality_gap",
    "gaussian_kernel",
    "gradient_descent",
    "hinge_loss",
    "joint_multiclass",
    "kernel_logistic_regression",
    "kernel_matrix",
    "kkt_violation",
    "lam_from_C",
    "linear_kernel",
    "logistic_regression",
    "one_versus_rest",
    "polynomial_kernel",
    "primal_objective",
    "regularized_regression",
    "simplified_smo",
    "soft_svm_sgd",
    "solve_dual",
    "stochastic_gradient_descent",
    "svm_sgd",
    "svr",
    "worked_example",
]


def __getattr__(name: str) -> Any:
    """Load a name at its first use (PEP 562)."""
    if name == "__version__":
        return _version()
    if name not in _HOME_OF:
        raise AttributeError(f"module 'svmlab' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("svmlab")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"
