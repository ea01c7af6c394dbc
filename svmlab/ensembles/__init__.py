"""Weak learners and how to combine them: trees, bagging, random forests, boosting (G6–G10)."""

from svmlab.ensembles.bagging import (
    Bagging,
    average,
    fit_bagging,
    majority_vote,
    out_of_bag_errors,
    predict_bagging,
)
from svmlab.ensembles.boosting import (
    Boosting,
    boosting_scores,
    exponential_bound,
    fit_adaboost,
    predict_boosting,
    reweight,
    stump_learner,
    vote_margins,
    vote_weight,
)
from svmlab.ensembles.bootstrap import (
    Interval,
    bootstrap_interval,
    bootstrap_rows,
    bootstrap_statistics,
)
from svmlab.ensembles.forest import (
    Forest,
    fit_forest,
    forest_values,
    importance_by_count,
    importance_by_impurity,
    predict_forest,
)
from svmlab.ensembles.growing import fit_stump, fit_tree
from svmlab.ensembles.impurity import (
    entropy_impurity,
    error_impurity,
    gini_impurity,
    impurity_decrease,
    variance_impurity,
)
from svmlab.ensembles.pruning import permutation_p_values, prune_tree, split_p_values
from svmlab.ensembles.trees import Growth, Tree, find_leaves, predict_tree, tree_values

__all__ = [
    "Bagging",
    "Boosting",
    "Forest",
    "Growth",
    "Interval",
    "Tree",
    "average",
    "boosting_scores",
    "bootstrap_interval",
    "bootstrap_rows",
    "bootstrap_statistics",
    "entropy_impurity",
    "error_impurity",
    "exponential_bound",
    "find_leaves",
    "fit_adaboost",
    "fit_bagging",
    "fit_forest",
    "fit_stump",
    "fit_tree",
    "forest_values",
    "gini_impurity",
    "importance_by_count",
    "importance_by_impurity",
    "impurity_decrease",
    "majority_vote",
    "out_of_bag_errors",
    "permutation_p_values",
    "predict_bagging",
    "predict_boosting",
    "predict_forest",
    "predict_tree",
    "prune_tree",
    "reweight",
    "split_p_values",
    "stump_learner",
    "tree_values",
    "variance_impurity",
    "vote_margins",
    "vote_weight",
]
