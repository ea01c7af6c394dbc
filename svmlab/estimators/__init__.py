"""scikit-learn estimators: thin shells over the functions of svmlab.

Names, parameters and attributes are scikit-learn's where it has the same model, so that changing
the import line is enough. Each class says where it differs.
"""

from svmlab.estimators._base import ConvergenceWarning
from svmlab.estimators.bagging import BaggingClassifier, BaggingRegressor
from svmlab.estimators.boosting import AdaBoostClassifier
from svmlab.estimators.forest import RandomForestClassifier, RandomForestRegressor
from svmlab.estimators.linear import SGDSVC, Pegasos, Perceptron
from svmlab.estimators.logistic import KernelLogisticRegression, LogisticRegression
from svmlab.estimators.multiclass import OneVsRestClassifier
from svmlab.estimators.regression import SVR, RegularizedRegression
from svmlab.estimators.svm import SVC, CrammerSingerSVC, LinearSVC
from svmlab.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor

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
    "KernelLogisticRegression",
    "LinearSVC",
    "LogisticRegression",
    "OneVsRestClassifier",
    "Pegasos",
    "Perceptron",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RegularizedRegression",
]
