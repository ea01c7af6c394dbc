from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from svmlab import datasets
from svmlab.model_selection import compare, cross_validate, kfold_indices


def test_errors_are_those_of_scikit_learn_on_the_same_folds(rng):
    X, y = datasets.moons(120, rng)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    ours = cross_validate(model, X, y, 6, rng=np.random.default_rng(5))
    folds = kfold_indices(120, 6, np.random.default_rng(5), y)
    splits = [(np.setdiff1d(np.arange(120), fold), fold) for fold in folds]
    assert np.allclose(ours.errors, 1.0 - cross_val_score(model, X, y, cv=splits))


def test_scikit_learn_estimators_and_functions_stand_in_one_table_with_scipy_rows(rng):
    X, y = datasets.moons(80, rng)
    models = {
        "tree": DecisionTreeClassifier(random_state=0),
        "logistic": LogisticRegression(),
        "constant": lambda X, y: lambda Z: np.ones(Z.shape[0]),
    }
    dense, rows = (
        compare(models, Z, y, 4, rng=np.random.default_rng(2)) for Z in (X, sparse.csr_matrix(X))
    )
    for name in models:
        assert np.array_equal(dense.results[name].errors, rows.results[name].errors)
    assert dense.results["constant"].mean == pytest.approx(0.5)
