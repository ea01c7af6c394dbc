# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown] nbgrader={"grade": false, "grade_id": "title", "locked": true, "schema_version": 3, "solution": false, "task": false}
# # Homework 4: kernels, many classes, and a vote
#
# A straight line is often not enough. This homework takes three ways out. *Kernels* (chapter 7) put
# the data into a space where a plane is enough, without ever going there. *Many classes* (chapter
# 10) need several machines and a rule that picks one. And *ensembles* (chapter 12) do something
# else altogether: many bad rules that vote. At the end your kernel machine and your ensemble meet
# on the same data, and you say what you see.
#
# There are **15 points** for nine functions, each checked as soon as you have written it, and
# **4 points** for two short answers in words, read by a person.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, then run the cell below each: it
# calls your function on problems that it draws itself and says what it found. The cells with text,
# data and pictures are locked; add cells of your own wherever you like. A function must get
# everything that it needs as arguments: when your work is graded, the variables of this notebook
# are not there. And it must leave the arrays that it is given as they are. Use numpy only.
#
# **Conventions**
#
# | | |
# |---|---|
# | `X`, `Z` | examples, one a row: shapes (n, d) and (m, d) |
# | `K` | K[i, j] = K(x_i, z_j): rows belong to the first argument, columns to the second |
# | `y` | labels −1 and +1 of a binary problem, shape (n,) |
# | `codes` | classes 0, 1, …, k − 1, shape (n,) |
# | `scores` | scores[i, c] is what machine c says about example i: shape (n, k) |

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import matplotlib.pyplot as plt
import numpy as np

from autograder import homework
from svmlab.datasets import circle_data, moons, one_versus_rest_fails
from svmlab.multiclass import joint_multiclass
from svmlab.plotting import plot_decision_surface
from svmlab.smo import solve_dual

check = homework("hw4-kernels-multiclass")

# %% [markdown] nbgrader={"grade": false, "grade_id": "map-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. A map into a larger space
#
# A circle in the plane is a plane in a larger space: what is quadratic in x is *linear* in a vector
# φ(x) that holds the entries of x, their products and a constant. For two entries it is
#
# $$\varphi(x) = (1,\ \sqrt2\,x_1,\ \sqrt2\,x_2,\ \sqrt2\,x_1 x_2,\ x_1^2,\ x_2^2)
# \qquad\text{(eq-quadratic-map, C11)}$$
#
# and in d dimensions: the 1, all √2·x_j, all √2·x_j·x_k with j < k, and all x_j². The √2 are there
# for a reason: with them
#
# $$\varphi(x) \cdot \varphi(z) = (1 + x \cdot z)^2$$
#
# That equation is what is checked, for any d. So the order of your features is up to you.


# %% nbgrader={"grade": false, "grade_id": "quadratic_map", "locked": false, "schema_version": 3, "solution": true, "task": false}
def quadratic_map(X):
    """Return φ(x) for each row of X, so that φ(x)·φ(z) = (1 + x·z)² (eq-quadratic-map, C11).

    X has shape (n, d), for any d ≥ 1. Returns an array with n rows; the columns are the features, in
    any order.
    """
    # Hint: collect the columns in a list and end with np.column_stack.
    ### BEGIN SOLUTION
    n, d = X.shape
    columns = [np.ones(n)]
    columns += [np.sqrt(2.0) * X[:, j] for j in range(d)]
    columns += [np.sqrt(2.0) * X[:, j] * X[:, k] for j in range(d) for k in range(j + 1, d)]
    columns += [X[:, j] ** 2 for j in range(d)]
    return np.column_stack(columns)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-map", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("map")

# %% [markdown] nbgrader={"grade": false, "grade_id": "polynomial-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. The same inner products, without the map
#
# Your φ has (d + 1)(d + 2)/2 entries: half a million for d = 1,000. But a support vector machine
# needs inner products only, and (1 + x·z)² takes no more than the d products of x·z. That is the
# kernel trick. The polynomial kernel, for any degree p and numbers γ > 0 and r ≥ 0, is
#
# $$K(x, z) = (\gamma\, x \cdot z + r)^p \qquad\text{(eq-polynomial-kernel, C12)}$$
#
# With γ = r = 1 and p = 2 it is the inner product of part 1.


# %% nbgrader={"grade": false, "grade_id": "polynomial_kernel", "locked": false, "schema_version": 3, "solution": true, "task": false}
def polynomial_kernel(X, Z, degree, gamma, coef0):
    """Return K[i, j] = (γ x_i·z_j + r)^degree with r = coef0 (eq-polynomial-kernel, C12).

    X has shape (n, d), Z has shape (m, d). Returns an array of shape (n, m).
    """
    ### BEGIN SOLUTION
    return (gamma * X @ Z.T + coef0) ** degree
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-polynomial", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("polynomial")

# %% [markdown] nbgrader={"grade": false, "grade_id": "map-picture-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Here are both on points inside and outside a circle. A solver of the course finds the multipliers
# α and b from the kernel values. On the left the machine is a plane in the space of your map: it
# has a w. On the right it never leaves the plane of the data. Blue circles are of class +1, orange
# squares of class −1.

# %% nbgrader={"grade": false, "grade_id": "map-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
if check.passed("map") and check.passed("polynomial"):
    Xc, yc = circle_data(60, np.random.default_rng(1))
    by_map = np.asarray(quadratic_map(Xc)) @ np.asarray(quadratic_map(Xc)).T
    by_kernel = np.asarray(polynomial_kernel(Xc, Xc, 2, 1.0, 1.0))
    solution = solve_dual(by_kernel, yc, 100.0)
    weights = solution.alpha * yc
    w = weights @ quadratic_map(Xc)
    rules = {
        f"w·φ(x) + b, w has {len(w)} entries": lambda Z: quadratic_map(Z) @ w + solution.b,
        "Σ α y (1 + x·z)² + b, no w": lambda Z: (
            np.asarray(polynomial_kernel(Z, Xc, 2, 1.0, 1.0)) @ weights + solution.b
        ),
    }
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 4.3), layout="constrained")
    for ax, (name, rule) in zip(axes, rules.items(), strict=True):
        plot_decision_surface(rule, Xc, yc, ax=ax)
        ax.get_legend().remove()
        ax.locator_params(nbins=5)
        ax.set_title(name)
    plt.show()
    difference = np.abs(by_map - by_kernel).max()
    print(f"largest difference of φ(x)·φ(z) and (1 + x·z)²: {difference:.1e}")
else:
    print("The picture appears once quadratic_map and polynomial_kernel work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "gaussian-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. The Gaussian kernel
#
# It measures how near two points are, and stands for a map into infinitely many dimensions:
#
# $$K(x, z) = \exp(-\gamma\,\|x - z\|^2) \qquad\text{(eq-gaussian-kernel, C12)}$$
#
# No list of features can check it this time. But a Gram matrix (X against itself) must be symmetric,
# have ones on its diagonal, and have no negative eigenvalue. ‖x − z‖² is the *square* of the
# distance. X and Z may have different numbers of rows, and points may be so far apart that
# K is 0 in floating point: nothing may overflow on the way.


# %% nbgrader={"grade": false, "grade_id": "gaussian_kernel", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gaussian_kernel(X, Z, gamma):
    """Return K[i, j] = exp(−γ‖x_i − z_j‖²) (eq-gaussian-kernel, C12).

    X has shape (n, d), Z has shape (m, d). Returns an array of shape (n, m).
    """
    # Hint: X[:, None, :] - Z[None, :, :] has shape (n, m, d).
    ### BEGIN SOLUTION
    differences = X[:, None, :] - Z[None, :, :]
    return np.exp(-gamma * np.sum(differences**2, axis=2))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-gaussian", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("gaussian")

# %% [markdown] nbgrader={"grade": false, "grade_id": "decision-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. The decision function without w
#
# The trained machine is a sum over the training examples x_1 … x_n, of which most have α_j = 0:
#
# $$f(x) = \sum_{j=1}^{n} \alpha_j\,y_j\,K(x, x_j) + b \qquad\text{(eq-kernel-decision, C10)}$$
#
# You get the kernel values as a block `K` of shape (m, n): row i belongs to the i-th *new* point,
# column j to training example j. One matrix product does it.


# %% nbgrader={"grade": false, "grade_id": "kernel_decision", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kernel_decision(K, alpha, y, b):
    """Return f at m new points (eq-kernel-decision, C10).

    K has shape (m, n): K[i, j] is the kernel of new point i and training example j. alpha and y have
    shape (n,), b is a number. Returns an array of shape (m,).
    """
    ### BEGIN SOLUTION
    return K @ (alpha * y) + b
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-kernel-decision", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("kernel-decision")

# %% [markdown] nbgrader={"grade": false, "grade_id": "machine-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# With both, you have a kernel machine. The multipliers α come from a solver (the course's own;
# yours of homework 2 would do). The picture shows what γ does: each support vector puts a hill into
# the landscape, of height α y (a pit where y = −1), and the larger γ is, the narrower they are. Rings
# mark the support vectors.


# %% nbgrader={"grade": false, "grade_id": "machine-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
class KernelMachine:
    """Your Gaussian kernel and decision function, with α and b from the course's solver."""

    def __init__(self, X, y, gamma, C=1.0):
        self.X, self.y, self.gamma = X, y, gamma
        self.solution = solve_dual(gaussian_kernel(X, X, gamma), y, C)
        self.support_ = np.flatnonzero(self.solution.alpha > 0)

    def decision_function(self, Z):
        K = np.asarray(gaussian_kernel(Z, self.X, self.gamma))
        return np.ravel(kernel_decision(K, self.solution.alpha, self.y, self.solution.b))


X, y = moons(60, np.random.default_rng(6), noise=0.25)
X_new, y_new = moons(1000, np.random.default_rng(4), noise=0.25)
if check.passed("gaussian") and check.passed("kernel-decision"):
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    for gamma, ax in zip((0.05, 1.0, 50.0), axes, strict=True):
        machine = KernelMachine(X, y, gamma)
        plot_decision_surface(machine, X, y, ax=ax)
        ax.get_legend().remove()
        ax.set_title(f"γ = {gamma:g}: {len(machine.support_)} support vectors")
    plt.show()
else:
    print("The picture appears once gaussian_kernel and kernel_decision work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "labels-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. Many classes: one machine against the rest
#
# With classes 0 … k − 1, machine c learns "class c or not". Its labels are
#
# $$y_i^c = +1 \text{ if example } i \text{ has class } c,\quad -1 \text{ otherwise}
# \qquad\text{(eq-one-versus-rest, S6)}$$
#
# With three classes an example of class 2 has the labels −1, −1, +1: one for each machine.


# %% nbgrader={"grade": false, "grade_id": "ovr_labels", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ovr_labels(codes, k):
    """Return the ±1 labels of all k machines, one a column (eq-one-versus-rest, S6).

    codes has shape (n,) with entries 0 … k − 1; a class may have no example. Returns an array of
    shape (n, k).
    """
    ### BEGIN SOLUTION
    return np.where(codes[:, None] == np.arange(k), 1.0, -1.0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-labels", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("labels")

# %% [markdown] nbgrader={"grade": false, "grade_id": "predict-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Who is right? The highest score
#
# Each machine gives a score; the class with the highest wins. If classes tie, take the smallest
# code.
#
# $$\hat y = \arg\max_c\ f_c(x) \qquad\text{(eq-argmax, S6)}$$


# %% nbgrader={"grade": false, "grade_id": "predict_codes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_codes(scores):
    """Return the class with the highest score in each row, the smallest code of a tie (eq-argmax, S6).

    scores has shape (n, k). Returns n class codes 0 … k − 1.
    """
    ### BEGIN SOLUTION
    return np.argmax(scores, axis=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-predict", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("predict")

# %% [markdown] nbgrader={"grade": false, "grade_id": "slack-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. All machines in one problem
#
# Machines that are trained one by one do not know of each other. The *joint* problem asks that for
# every example the score of its own class be larger than that of **every** other class by 1, and
# charges one slack an example, for the worst offender:
#
# $$\xi_i = \max_c\ \bigl(f_c(x_i) + [c \ne y_i]\bigr) - f_{y_i}(x_i)
# \qquad\text{(eq-multiclass-slack, S7)}$$
#
# The bracket [c ≠ y] is 1 for the wrong classes and 0 for the own class c = y, so ξ is never
# negative. Scores 3, 1, 2.5 of an example of class 0 give ξ = max(3, 2, 3.5) − 3 = 0.5.


# %% nbgrader={"grade": false, "grade_id": "multiclass_slack", "locked": false, "schema_version": 3, "solution": true, "task": false}
def multiclass_slack(scores, codes):
    """Return the one slack of each example in the joint problem (eq-multiclass-slack, S7).

    scores has shape (n, k), codes has shape (n,). Returns an array of shape (n,), never negative.
    """
    # Hint: scores[np.arange(n), codes] are the scores of the own classes.
    ### BEGIN SOLUTION
    own = np.arange(len(codes)), codes
    raised = scores + 1.0
    raised[own] = scores[own]
    return raised.max(axis=1) - scores[own]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-multiclass-slack", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("multiclass-slack")

# %% [markdown] nbgrader={"grade": false, "grade_id": "three-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Now a data set made to be nasty: three classes in a row, 0 (blue), 1 (orange) and 2 (green). In the
# left picture the machines were trained one by one, with the columns of your `ovr_labels`; in the
# right one in a single problem, whose slack is the one that you just wrote. Both predict by your
# `predict_codes`. Below are the mean scores: one line for the examples of each class, one column
# for each machine.


# %% nbgrader={"grade": false, "grade_id": "three-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Linear:
    """One linear machine a class, with your rule of prediction."""

    def __init__(self, W, b):
        self.W, self.b = np.asarray(W), np.asarray(b)

    def scores(self, Z):
        return Z @ self.W.T + self.b

    def predict(self, Z):
        return np.ravel(predict_codes(self.scores(Z))).astype(int)


X3, codes3 = one_versus_rest_fails(150, np.random.default_rng(0))
if all(check.passed(part) for part in ("labels", "predict", "multiclass-slack")):
    one_by_one = []
    for labels in np.asarray(ovr_labels(codes3, 3), dtype=float).T:
        result = solve_dual(X3 @ X3.T, labels, 1.0)
        one_by_one.append((X3.T @ (result.alpha * labels), result.b))
    joint = joint_multiclass(X3, codes3, 1.0)
    machines = {
        "one versus the rest": Linear([w for w, _ in one_by_one], [b for _, b in one_by_one]),
        "joint": Linear(joint.W, joint.b),
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 1.8), layout="constrained")
    for ax, (name, machine) in zip(axes, machines.items(), strict=True):
        plot_decision_surface(machine, X3, codes3, ax=ax)
        ax.get_legend().remove()
        xi = float(np.mean(multiclass_slack(machine.scores(X3), codes3)))
        wrong = np.mean(machine.predict(X3) != codes3)
        ax.set_title(f"{name}: {wrong:.0%} wrong, mean ξ {xi:.2f}")
    plt.show()
    for name, machine in machines.items():
        print(f"mean scores, {name}:")
        for c in range(3):
            means = machine.scores(X3)[codes3 == c].mean(axis=0)
            print(f"  examples of class {c}:", means.round(2))
else:
    print("The picture appears once ovr_labels, predict_codes and multiclass_slack work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "rest-question", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ### In words (2 points)
#
# **Which class do the separate machines lose, and to which machine? Why does that machine score so
# high there, and why can no choice of C help? Why can the joint problem learn the class, although
# its machines are linear too?**
#
# *One point* for the machine that is to blame, and what it would have to do that no line can; *one
# point* for what the joint problem asks instead (compare the scores: nobody needs to be positive).

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-rest", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# Class 0, on the left, is lost to the machine of class 1, the one in the middle. That machine should
# be positive on its class and negative on both neighbours, one on the left and one on the right, and no
# line does that. So it gives up one of them: it slopes down to the right, which keeps the larger and
# farther class 2 out, and then it must be even higher on the left (1.61) than on its own class (0.94).
# The machine of class 0 is right about its examples, but with 1.32 it is outvoted. C cannot help: it
# changes the price of slack, not what a line can do. The joint problem asks no machine to be positive.
# It asks that the score of the own class be higher by 1 than each other score, and lines can do that:
# one score rises steeply to the left, one to the right, the middle one changes slowly, and it is the
# highest exactly in the middle.

# %% [markdown] nbgrader={"grade": false, "grade_id": "stump-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. A stump
#
# Now something else. A *stump* looks at one feature and one threshold and knows nothing more:
#
# > predict `sign` where x[feature] > threshold, and −`sign` elsewhere; `sign` is −1 or +1.
#
# The rule is given below. You fit it: find the feature, threshold and sign with the **fewest training
# errors** (the error impurity of chapter 12, eq-impurity-error, G6). Any threshold is allowed: between
# two neighbouring values, or below all of them, which predicts the same class for all. Several
# stumps may be equally good, and any of the best is right: your stump is judged by its number of
# training errors. Features may have repeated values. There are never more than 60 examples, so
# trying everything is fast enough.


# %% nbgrader={"grade": false, "grade_id": "supplied-stump", "locked": true, "schema_version": 3, "solution": false, "task": false}
def predict_stump(X, feature, threshold, sign):
    """Return sign where the feature is above the threshold and −sign elsewhere."""
    return np.where(X[:, feature] > threshold, sign, -sign)


# %% nbgrader={"grade": false, "grade_id": "fit_stump", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fit_stump(X, y):
    """Return (feature, threshold, sign) with the fewest training errors (eq-impurity-error, G6).

    X has shape (n, d), y holds −1 and +1. Returns a column number, a number, and −1 or +1.
    """
    # Hint: np.unique gives the sorted values of a feature; sign −1 errs where sign +1 does not.
    ### BEGIN SOLUTION
    fewest, best = len(y) + 1, None
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature])
        thresholds = np.append(values[0] - 1.0, (values[:-1] + values[1:]) / 2.0)
        for threshold in thresholds:
            for sign in (1, -1):
                errors = np.sum(predict_stump(X, feature, threshold, sign) != y)
                if errors < fewest:
                    fewest, best = errors, (feature, threshold, sign)
    return best
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-stump", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("stump")

# %% [markdown] nbgrader={"grade": false, "grade_id": "vote-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. The vote
#
# A single stump is a poor rule. *Bagging* draws M samples of the data with replacement, fits a rule to
# each, and lets them vote:
#
# $$\hat h(x) = \arg\max_c \sum_{j=1}^{M} [\hat h^j(x) = c] \qquad\text{(eq-majority-vote, G8)}$$
#
# If classes tie, take the smallest code, as above.


# %% nbgrader={"grade": false, "grade_id": "majority_vote", "locked": false, "schema_version": 3, "solution": true, "task": false}
def majority_vote(predictions, n_classes):
    """Return the class that most rules predict, the smallest code of a tie (eq-majority-vote, G8).

    predictions has shape (M, n): one row a rule, entries 0 … n_classes − 1. Returns n class codes.
    """
    ### BEGIN SOLUTION
    votes = np.array([np.sum(predictions == c, axis=0) for c in range(n_classes)])
    return np.argmax(votes, axis=0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-vote", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("vote")

# %% [markdown] nbgrader={"grade": false, "grade_id": "ensemble-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## The comparison
#
# Your stumps, alone and in a bag, and your kernel machine, on the two moons from above. Errors are
# counted on the 60 training examples and on 1,000 fresh ones. A single stump depends on the sample
# that it was fitted to: two of ten are drawn, and the errors of all ten stand below the picture.


# %% nbgrader={"grade": false, "grade_id": "ensemble-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
class BaggedStumps:
    """Your stumps, each fitted to a sample of the data with replacement, and your vote."""

    def __init__(self, X, y, M, rng):
        self.stumps = []
        for _ in range(M):
            rows = rng.integers(len(y), size=len(y))
            self.stumps.append(fit_stump(X[rows], y[rows]))

    def predict(self, Z):
        signs = np.array([predict_stump(Z, int(j), t, s) for j, t, s in self.stumps])
        codes = (signs > 0).astype(int)
        return np.where(np.ravel(majority_vote(codes, 2)) == 1, 1, -1)


class KernelRule(KernelMachine):
    """Your kernel machine as a rule: the sign of its decision function."""

    def predict(self, Z):
        return np.where(self.decision_function(Z) > 0, 1, -1)


if all(check.passed(part) for part in ("gaussian", "kernel-decision", "stump", "vote")):
    singles = [BaggedStumps(X, y, 1, np.random.default_rng(seed)) for seed in range(10)]
    rules = {
        "a stump": singles[0],
        "a stump of another sample": singles[1],
        "101 bagged stumps": BaggedStumps(X, y, 101, np.random.default_rng(3)),
        "kernel machine, γ = 1": KernelRule(X, y, gamma=1.0),
    }
    figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    for ax, (name, rule) in zip(axes.flat, rules.items(), strict=True):
        plot_decision_surface(rule, X, y, ax=ax)
        ax.get_legend().remove()
        old, new = np.mean(rule.predict(X) != y), np.mean(rule.predict(X_new) != y_new)
        ax.set_title(f"{name}\nwrong: {old:.0%} (training), {new:.0%} (fresh)")
    plt.show()
    fresh = sorted(np.mean(rule.predict(X_new) != y_new) for rule in singles)
    print("ten single stumps, wrong on fresh ones:", ", ".join(f"{error:.0%}" for error in fresh))
else:
    print("The picture appears once the kernel machine, fit_stump and majority_vote work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "ensemble-question", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ### In words (2 points)
#
# **Describe the boundaries: what shapes can each kind of rule draw, and why? What did the vote of 101
# stumps improve over one stump, what not, and what would help?** Compare the errors on the training
# examples with those on fresh ones.
#
# *One point* for the shapes and where they come from; *one point* for what averaging can and cannot
# do (stability against what a single rule is able to express), with a way out.

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-ensemble", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# One stump cuts the plane once, parallel to an axis. A vote of stumps adds up such cuts: its boundary
# consists of pieces parallel to the axes, here hardly more than one cut. The kernel machine adds a
# smooth hill for each support vector, with height α y, and so follows the bend of the moons. Single
# stumps depend on the sample that they were fitted to: on fresh examples some are wrong on a sixth,
# others on a third. The vote is about as good as the best of them, whatever the sample: averaging
# makes a rule steadier. It does not make it more able: all stumps err on the same tips of the moons, and
# a majority of rules that err together errs too, so it stays at twice the errors of the kernel machine. What
# helps is a richer rule before the vote (deeper trees, as in a random forest), or a vote in which
# each stump attends to what the former ones got wrong (boosting).

# %% [markdown] nbgrader={"grade": false, "grade_id": "end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## All checks, and handing in
#
# The next cell runs all visible checks once more and prints a table. Some further checks run after
# you have handed in; they ask nothing that is not stated above. Before you hand in, choose
# *Restart kernel and run all cells*, look at the table, save, and submit this notebook under its
# own name.

# %% nbgrader={"grade": false, "grade_id": "all-checks", "locked": true, "schema_version": 3, "solution": false, "task": false}
check()
