"""Estimators are the numpy functions below them and nothing else, and work in company."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from problems import overlapping, three_classes
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmlab
from svmlab import estimators
from svmlab.certificates import certify
from svmlab.datasets import one_versus_rest_fails
from svmlab.ensembles import (
    Growth,
    boosting_scores,
    fit_adaboost,
    fit_forest,
    fit_tree,
    forest_values,
    predict_tree,
)
from svmlab.estimators import (
    SGDSVC,
    SVC,
    SVR,
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
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
from svmlab.estimators._base import check_sample_weight, generator, one_versus_rest_signs
from svmlab.estimators.linear import split_off_validation
from svmlab.estimators.logistic import class_probabilities
from svmlab.examples import worked_example
from svmlab.kernels import gaussian_kernel
from svmlab.logistic import sigmoid
from svmlab.pegasos import pegasos
from svmlab.perceptron import perceptron
from svmlab.rows import with_bias_column
from svmlab.sgd import svm_sgd
from svmlab.smo import solve_dual


def test_names_come_from_svmlab_and_are_loaded_lazily():
    for name in svmlab.__all__:
        assert getattr(svmlab, name).__name__ == name
    assert set(estimators.__all__) <= set(svmlab.__all__)
    assert set(svmlab.__all__) == set(svmlab._HOME_OF)
    assert set(svmlab.__all__) <= set(dir(svmlab))
    assert svmlab.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="no attribute 'NuSVC'"):
        svmlab.NuSVC  # noqa: B018


def test_no_lazy_name_hides_a_module():
    import svmlab.pegasos
    import svmlab.perceptron

    assert inspect.ismodule(svmlab.pegasos)
    modules = {path.stem for path in Path(svmlab.__file__).parent.iterdir()}
    assert not modules & set(svmlab.__all__)


def test_SVC_solves_the_worked_example():
    example = worked_example()
    X = np.array([[1], [2], [4], [5], [6]])
    machine = SVC(C=100.0, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-12)
    machine.fit(X, example.y)
    alpha = np.zeros(5)
    alpha[machine.support_] = machine.dual_coef_[0] * example.y[machine.support_]
    exact = np.array([0, 5 / 2, 0, 22 / 3, 29 / 6])
    best = certify(exact, 9.0, example.K, example.y, 100.0).dual
    found = certify(alpha, machine.intercept_[0], example.K, example.y, 100.0).dual
    assert abs(best - found) <= 1e-8 * best
    assert abs(machine.intercept_[0] - 9.0) <= 1e-6
    z = np.linspace(0.0, 7.0, 15)
    f = machine.decision_function(z[:, None])
    np.testing.assert_allclose(f, 2 / 3 * z**2 - 16 / 3 * z + 9, atol=1e-6)


def test_many_classes_are_one_machine_each(rng):
    X, codes = three_classes(rng)
    machine = SVC(gamma=0.5, tol=1e-10).fit(X, codes)
    K = gaussian_kernel(X, X, 0.5)
    for k in range(3):
        signs = np.where(codes == k, 1.0, -1.0)
        alone = solve_dual(K, signs, 1.0, tol=1e-10)
        np.testing.assert_allclose(
            machine.decision_function(X)[:, k], K @ (alone.alpha * signs) + alone.b, atol=1e-8
        )
    assert machine.dual_coef_.shape == (3, machine.support_.size)
    assert np.all(np.diff(codes[machine.support_]) >= 0)
    assert np.array_equal(machine.n_support_, np.bincount(codes[machine.support_]))
    np.testing.assert_array_equal(machine.predict(X), machine.decision_function(X).argmax(axis=1))


def test_a_kernel_may_be_a_name_a_function_or_a_Gram_matrix(rng):
    X, y = overlapping(rng)
    Z = rng.normal(size=(7, 3))
    by_name = SVC(gamma=0.3, tol=1e-9).fit(X, y)
    by_function = SVC(kernel=lambda A, B: gaussian_kernel(A, B, 0.3), tol=1e-9).fit(X, y)
    by_matrix = SVC(kernel="precomputed", tol=1e-9).fit(gaussian_kernel(X, X, 0.3), y)
    expected = by_name.decision_function(Z)
    np.testing.assert_allclose(by_function.decision_function(Z), expected, atol=1e-7)
    gram = gaussian_kernel(Z, X, 0.3)
    np.testing.assert_allclose(by_matrix.decision_function(gram), expected, atol=1e-7)
    assert by_matrix.support_vectors_.shape == (0, 0)


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(tol=1e-9),
        SVC(kernel="linear", tol=1e-9),
        SVC(kernel="poly", tol=1e-9),
        SVR(tol=1e-9),
        LinearSVC(tol=1e-9),
        LogisticRegression(tol=1e-9),
        KernelLogisticRegression(tol=1e-9),
        CrammerSingerSVC(tol=1e-9),
        RegularizedRegression(loss="squared", tol=1e-12),
        Pegasos(lam=0.1, n_steps=200, random_state=0),
        SGDSVC(lam=0.1, max_iter=5, random_state=0),
        Perceptron(max_iter=5, stop="max_passes"),
    ],
    ids=str,
)
def test_sparse_rows_give_the_machine_of_dense_rows(estimator, rng):
    X, y = overlapping(rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    dense = clone(estimator).fit(X, y)
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        thin = clone(estimator).fit(form(X), y)
        np.testing.assert_allclose(thin.predict(form(X)), dense.predict(X), atol=1e-6)
        np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=1e-6)
        if hasattr(dense, "coef_"):
            np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-6)
        if hasattr(dense, "dual_coef_"):
            assert isinstance(thin.dual_coef_, np.ndarray)
            np.testing.assert_allclose(thin.dual_coef_, dense.dual_coef_, atol=1e-5)
            np.testing.assert_array_equal(thin.support_vectors_.toarray(), dense.support_vectors_)


def test_coef_exists_for_the_linear_kernel_only(rng):
    X, y = overlapping(rng)
    machine = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(machine.coef_, machine.dual_coef_ @ machine.support_vectors_)
    assert not hasattr(SVC().fit(X, y), "coef_")


def test_linear_shells_return_what_their_functions_return(rng):
    X, y = overlapping(rng)
    rows = with_bias_column(X)
    pairs = [
        (Pegasos(lam=0.1, n_steps=300, random_state=3), pegasos(rows, y, 0.1, 300, generator(3))),
        (
            SGDSVC(lam=0.1, max_iter=4, random_state=3),
            svm_sgd(rows, y, 0.1, n_epochs=4, rng=generator(3)),
        ),
        (
            Perceptron(stop="max_passes", max_iter=4, random_state=3),
            perceptron(rows, y, stop="max_passes", max_passes=4, rng=generator(3)),
        ),
    ]
    for machine, result in pairs:
        machine.fit(X, y)
        np.testing.assert_array_equal(np.append(machine.coef_, machine.intercept_), result.w)
        assert machine.n_iter_ == result.n_iter


def test_tree_shells_return_what_their_functions_return(rng):
    X, codes = three_classes(rng)
    y = X[:, 0] ** 2
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=3).fit(X, codes)
    below = fit_tree(X, codes, Growth(criterion="entropy", max_depth=3))
    np.testing.assert_array_equal(tree.predict(X), predict_tree(below, X))
    assert (tree.get_depth(), tree.get_n_leaves()) == (below.depth, below.n_leaves)
    assert tree.apply(X).max() < len(below.feature)
    assert tree.feature_importances_.sum() == pytest.approx(1.0)

    forest = RandomForestClassifier(7, random_state=2, oob_score=True).fit(X, codes)
    below = fit_forest(X, codes, generator(2), n_trees=7)
    np.testing.assert_array_equal(forest.predict_proba(X), forest_values(below, X))
    assert forest.oob_score_ == 1.0 - below.out_of_bag_error
    growth = Growth(criterion="variance", max_features=1)
    regression = RandomForestRegressor(7, max_features=0.5, random_state=2).fit(X, y)
    below = fit_forest(X, y, generator(2), growth, n_trees=7)
    np.testing.assert_array_equal(regression.predict(X), forest_values(below, X)[:, 0])

    boosted = AdaBoostClassifier(n_estimators=8).fit(X, codes)
    below = fit_adaboost(X, codes, n_rounds=8)
    np.testing.assert_array_equal(boosted.decision_function(X), boosting_scores(below, X))
    np.testing.assert_array_equal(boosted.estimator_weights_, below.votes)


def test_pruning_leaves_the_splits_that_a_test_finds_significant(rng):
    X, y = overlapping(rng, n=80)
    noise = rng.choice([0, 1], size=80)
    assert DecisionTreeClassifier(significance=1e-4).fit(X, noise).get_n_leaves() == 1
    grown, pruned = DecisionTreeClassifier(), DecisionTreeClassifier(significance=1e-3)
    assert 1 < pruned.fit(X, y).get_n_leaves() < grown.fit(X, y).get_n_leaves()


def test_categories_split_into_subsets():
    X, y = np.arange(4)[:, None], np.array([1.0, 0.0, 1.0, 0.0])
    tree = DecisionTreeClassifier(max_depth=1, categorical_features=[0]).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert DecisionTreeClassifier(max_depth=1).fit(X, y).score(X, y) < 1.0


def test_bagging_takes_any_estimator_and_counts_votes(rng):
    X, codes = three_classes(rng)
    bag = BaggingClassifier(SVC(), 5, oob_score=True, random_state=0).fit(X, codes)
    assert all(isinstance(e, SVC) for e in bag.estimators_)
    votes = np.stack([e.predict(X) for e in bag.estimators_])
    shares = np.stack([np.mean(votes == k, axis=0) for k in range(3)], axis=1)
    np.testing.assert_array_equal(bag.predict_proba(X), shares)
    np.testing.assert_array_equal(bag.predict(X), shares.argmax(axis=1))
    assert bag.oob_score_ == 1.0 - bag.bagging_.out_of_bag_error
    mean = BaggingRegressor(SVR(), 5, oob_score=True, random_state=0).fit(X, X[:, 0])
    np.testing.assert_allclose(
        mean.predict(X), np.mean([e.predict(X) for e in mean.estimators_], axis=0)
    )
    error = mean.bagging_.out_of_bag_error
    assert mean.oob_score_ == pytest.approx(1.0 - error / X[:, 0].var())


def test_a_bag_with_one_class_makes_a_constant_rule():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 0, 1])
    bag = BaggingClassifier(SVC(), 20, random_state=0).fit(X, y)
    assert not all(isinstance(e, SVC) for e in bag.estimators_)
    assert bag.predict([[0.0]])[0] == 0


def test_the_joint_problem_learns_what_one_versus_rest_cannot(rng):
    X, codes = one_versus_rest_fails(90, rng)
    joint = CrammerSingerSVC(C=10.0).fit(X, codes)
    assert joint.score(X, codes) == 1.0
    one_each = SVC(kernel="linear", C=10.0)
    for machine in (one_each, OneVsRestClassifier(one_each)):
        assert machine.fit(X, codes).score(X, codes) < 0.9


def test_one_versus_rest_over_estimators_is_the_built_in_one(rng):
    X, codes = three_classes(rng)
    wrapped = OneVsRestClassifier(SVC(tol=1e-10)).fit(X, codes)
    built_in = SVC(tol=1e-10).fit(X, codes)
    np.testing.assert_allclose(
        wrapped.decision_function(X), built_in.decision_function(X), atol=1e-8
    )
    trees = OneVsRestClassifier(DecisionTreeClassifier()).fit(X, codes)  # no decision_function
    assert trees.score(X, codes) == 1.0


def test_signs_of_two_classes_are_those_of_the_second():
    (signs,) = one_versus_rest_signs(np.array([0, 1]), 2)
    assert np.array_equal(signs, [-1.0, 1.0])
    assert len(one_versus_rest_signs(np.arange(4), 4)) == 4


def test_probabilities_are_shares_of_the_sigmoids(rng):
    f = rng.normal(size=(5, 3))
    shares = class_probabilities(f)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[:, 0] * sigmoid(f[:, 1]), shares[:, 1] * sigmoid(f[:, 0]))
    assert np.array_equal(class_probabilities(np.full((1, 2), -1e9)), [[0.5, 0.5]])
    X, y = overlapping(rng)
    machine = KernelLogisticRegression(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        machine.predict_proba(X)[:, 1], sigmoid(machine.decision_function(X))
    )
    np.testing.assert_allclose(np.exp(machine.predict_log_proba(X)), machine.predict_proba(X))
    assert np.all(machine.dual_coef_ != 0.0)  # dense, unlike the SVM's


def test_a_validation_set_takes_its_share_of_each_class(rng):
    codes = np.repeat([0, 1, 2], [50, 20, 3])
    train, held_out = split_off_validation(codes, 0.2, rng)
    assert np.array_equal(np.bincount(codes[held_out]), [10, 4, 1])
    assert np.array_equal(np.sort(np.concatenate((train, held_out))), np.arange(73))


def test_a_validation_set_stops_training(rng):
    X, y = overlapping(rng, n=200)
    machine = SGDSVC(lam=1e-3, max_iter=300, early_stopping=True, n_iter_no_change=2)
    assert machine.set_params(random_state=0).fit(X, y).n_iter_ < 300
    machine = Perceptron(stop="validation_error", max_iter=300, n_iter_no_change=2).fit(X, y)
    assert machine.n_iter_ < 300
    rate = Perceptron(eta0=(1.0, 10.0), stop="rate", min_rate=1e-3).fit(X, y)
    assert rate.n_iter_ == 5  # 1/(200 p + 10) ≤ 1e-3 first at p = 5


def test_pipeline_and_grid_search_choose_C_and_gamma(rng, tmp_path):
    import joblib

    X, y = overlapping(rng, n=60)
    grid = {"svc__C": [1e-4, 1.0], "svc__gamma": ["scale", 0.1]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC(class_weight="balanced")), grid, cv=3)
    search.fit(1000.0 * X, y)
    assert search.best_params_["svc__C"] == 1.0
    joblib.dump(search, tmp_path / "search")
    again = joblib.load(tmp_path / "search")
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_grid_search_cuts_Gram_matrices_on_both_sides(rng):
    X, y = overlapping(rng, n=45)
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3, error_score="raise")
    assert search.fit(gaussian_kernel(X, X, 0.3), y).best_score_ > 0.6


def test_no_convergence_is_both_libraries_warning(rng):
    X, y = overlapping(rng)
    for caught in (SklearnConvergenceWarning, svmlab.types.ConvergenceWarning):
        with pytest.warns(caught, match="KKT violation"):
            machine = SVC(max_iter=3).fit(X, y)
    assert machine.fit_status_ == 1
    assert np.array_equal(machine.n_iter_, [3])
    assert SVC().fit(X, y).fit_status_ == 0


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVC(kernel="sigmoid"), "kernel must be one of 'linear', 'poly', 'rbf', 'precomputed'"),
        (SVC(C=0.0), "C must be a finite number above 0, got 0.0"),
        (SVC(gamma=-1.0), "gamma must be a finite number above 0, got -1.0"),
        (SVC(gamma="wide"), "gamma must be one of 'scale', 'auto', got 'wide'"),
        (SVC(degree=0, kernel="poly"), "degree must be a whole number"),
        (SVC(tol=-1.0), "tol must be"),
        (SVC(max_iter=0), "max_iter must be"),
        (SVC(class_weight="even"), "class_weight must be None, 'balanced' or a dict, got 'even'"),
        (LinearSVC(loss="log"), "loss must be one of 'hinge', 'squared_hinge', got 'log'"),
        (LinearSVC(multi_class="ovo"), "multi_class must be one of"),
        (LinearSVC(intercept_scaling=0.0), "intercept_scaling must be"),
        (SVR(epsilon=-0.1), "epsilon must be"),
        (RegularizedRegression(loss="huber"), "loss must be one of"),
        (LogisticRegression(C=-1.0), "C must be"),
        (KernelLogisticRegression(kernel="sigmoid"), "kernel must be one of"),
        (Pegasos(lam=0.0), "lam must be"),
        (Pegasos(average=True, batch_size=2), "average=True goes with batch_size=1"),
        (SGDSVC(early_stopping=True, validation_fraction=1.5), "validation_fraction must lie"),
        (Perceptron(stop="soon"), "stop must be one of"),
        (DecisionTreeClassifier(criterion="squared_error"), "is for regression"),
        (DecisionTreeRegressor(criterion="gini"), "criterion must be 'squared_error'"),
        (RandomForestClassifier(max_features=2.0), "max_features must be a share"),
        (RandomForestRegressor(n_estimators=0), "n_trees must be"),
        (BaggingClassifier(n_estimators=0), "n_rounds must be"),
        (AdaBoostClassifier(n_estimators=0), "n_rounds must be"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named_when_fit_is_called(estimator, message, rng):
    X, y = overlapping(rng, n=20)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)


def test_bad_data_are_named(rng):
    X, y = overlapping(rng, n=20)
    with pytest.raises(ValueError, match="one class"):
        SVC().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(np.where(X > 1.0, np.nan, X), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC().fit(X, y[:-1])
    with pytest.raises(ValueError, match="K must be symmetric"):
        SVC(kernel="precomputed").fit(rng.normal(size=(20, 20)), y)
    with pytest.raises(ValueError, match="sample_weight must be 0 or above, got -1"):
        SVC().fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="sample_weight must not be zero everywhere"):
        SVC().fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match="two examples of each class"):
        split_off_validation(np.array([0, 0, 1]), 0.5, rng)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        RandomForestClassifier().fit(sparse.csr_array(X), y)
    with pytest.raises(NotFittedError):
        SVC().predict(X)
    assert np.array_equal(check_sample_weight(2.0, 2), [2.0, 2.0])


def test_parameters_have_scikit_learns_names_and_defaults():
    from sklearn import ensemble, linear_model, multiclass, svm, tree

    for module in (ensemble, linear_model, multiclass, svm, tree):
        for name in set(estimators.__all__) & set(module.__all__) - {"ConvergenceWarning"}:
            ours = inspect.signature(getattr(estimators, name)).parameters
            theirs = inspect.signature(getattr(module, name)).parameters
            for key in set(ours) & set(theirs):
                assert ours[key].default == theirs[key].default, f"{name}({key})"
