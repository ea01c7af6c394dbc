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
# # Homework 3: stochastic gradient descent
#
# A support vector machine is the minimum of one function. With a million examples even *one* look at
# that function costs a pass over all of them, and a dual solver needs their pairs. Pegasos looks at
# one example, or at a handful, takes a step, and forgets it. How near it comes to the minimum depends
# on the number of steps, not on the number of examples (chapter 5). In this homework you write it:
# first its steps, each one line or two, then the loop, and in the end a form for text, in which a
# document with 70 words out of 50,000 costs 70 operations and not 50,000.
#
# There are **15 points** for seven functions, each checked as soon as you have written it, and
# **4 points** for two short answers in words, read by a person. An eighth function has a check but no
# points of its own: it is what the second answer is about.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, then run the cell below each: it calls
# your function on problems that it draws itself and says what it found. The cells with text, data
# and pictures are locked; add cells of your own wherever you like. A function must get everything that
# it needs as arguments: when your work is graded, the variables of this notebook are not there.
#
# **Conventions.** They decide between variants that are all correct; here it is always
#
# | | |
# |---|---|
# | `X`, `y` | examples, one a row, shape (n, d); labels −1 and +1, shape (n,). Both may hold integers. They belong to the caller: leave them unchanged. |
# | f(x) = w·x | the decision function: **no bias**, so `w` has d entries and nothing is appended to `X` |
# | λ/2 ‖w‖² + mean hinge loss | the objective: with the ½, and with the *mean* (not the sum) of the losses |
# | η = 1/(λt) | the step size; `t` counts the updates, **from 1**, and is never set back |
# | the answer | the **last** w, after T updates, starting from w = 0 (not the mean of all w, not the best) |

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

import matplotlib.pyplot as plt
import numpy as np

from autograder import homework
from svmlab.coordinate import dual_coordinate_descent
from svmlab.datasets import blobs, rcv1_like
from svmlab.plotting import plot_margin

check = homework("hw3-sgd")

# %% [markdown] nbgrader={"grade": false, "grade_id": "example-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two points on a line are enough to try things on: x = 2 of class +1 and x = −1 of class −1. Here w
# is one number, and everything can be done by hand.

# %% nbgrader={"grade": false, "grade_id": "example", "locked": true, "schema_version": 3, "solution": false, "task": false}
X = np.array([[2.0], [-1.0]])
y = np.array([1.0, -1.0])
lam = 0.1

# %% [markdown] nbgrader={"grade": false, "grade_id": "objective-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. The objective
#
# $$F(w) = \frac\lambda2 \|w\|^2 + \frac1n \sum_{i=1}^n \max(0,\ 1 - y_i\, w \cdot x_i)
# \qquad\text{(eq-regularized-risk, S9)}$$
#
# The first term keeps w small, the second makes the margins at least 1. Because the second is a mean,
# it does not grow with the number of examples, and that is what lets a few of them speak for all.
#
# By hand: for the two points and w = 1 both margins are at least 1, so F(1) = 0.1/2 · 1² + 0 = 0.05.
# For w = 0 both losses are 1, and F(0) = 1, on these and on all other data.


# %% nbgrader={"grade": false, "grade_id": "objective", "locked": false, "schema_version": 3, "solution": true, "task": false}
def objective(w, X, y, lam):
    """Return F(w) = λ/2 ‖w‖² + mean of max(0, 1 − y_i w·x_i) (eq-regularized-risk, S9).

    w has shape (d,), X shape (n, d), y shape (n,) with labels −1 and +1. Returns one number.
    """
    # Hint: np.maximum(0, …) takes the larger one entry by entry.
    ### BEGIN SOLUTION
    hinge = np.maximum(0.0, 1.0 - y * (X @ w))
    return 0.5 * lam * (w @ w) + hinge.mean()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-objective", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("objective")

# %% [markdown] nbgrader={"grade": false, "grade_id": "subgradient-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. A subgradient of one loss
#
# The picture below will show you F for the two points: straight pieces, bent a little by λ/2 ‖w‖²,
# with a corner wherever a margin is exactly 1. At a corner there is no derivative, but there are lines
# that touch F there and stay below it. The slope of any such line is a *subgradient*, and it is all
# that the method needs. For the loss of one example (without the regulariser),
#
# $$v = \begin{cases} -y\,x & \text{if } y\, w \cdot x < 1 \\ 0 & \text{else}\end{cases}
# \qquad\text{(eq-pegasos-subgradient, S9)}$$
#
# If the margin is exactly 1, both values (and all between them) are right.


# %% nbgrader={"grade": false, "grade_id": "subgradient", "locked": false, "schema_version": 3, "solution": true, "task": false}
def subgradient(w, x, y):
    """Return a subgradient of max(0, 1 − y w·x) at w (eq-pegasos-subgradient, S9).

    One example: w and x have shape (d,), y is −1 or +1. Returns an array of shape (d,): −y x where
    the margin y w·x is below 1, zeros elsewhere.
    """
    ### BEGIN SOLUTION
    if y * (w @ x) < 1.0:
        return -y * x
    return np.zeros(len(w))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-subgradient", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("subgradient")

# %% nbgrader={"grade": false, "grade_id": "subgradient-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
if check.passed("objective") and check.passed("subgradient"):
    grid = np.linspace(-0.5, 2.5, 301)
    values = [float(objective(np.array([w]), X, y, lam)) for w in grid]
    plt.plot(grid, values, label="F(w)")
    for w in (0.25, 0.75, 1.8):
        at = np.array([w])
        losses = [np.ravel(subgradient(at, X[i], y[i]))[0] for i in range(2)]
        slope = lam * w + np.mean(losses)
        line = float(objective(at, X, y, lam)) + slope * (grid - w)
        plt.plot(grid, line, "--", lw=1, label=f"from your subgradient at w = {w}")
    plt.ylim(-0.2, 2)
    plt.xlabel("w")
    plt.legend()
    plt.title("F for the two points, and lines that touch it from below")
    plt.show()
else:
    print("The picture appears once objective and subgradient work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "step_size-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The corners are where the margins are 1, at w = 0.5 and w = 1. F is smallest at the second one:
# w\* = 1, F\* = 0.05.
#
# ## 3. The step size
#
# $$\eta_t = \frac{1}{\lambda\, t} \qquad\text{(eq-pegasos-rate, S9)}$$
#
# Long steps first, to get near; short ones later, to come to rest. With λ = 0.1 the first step has size
# 10, the tenth size 1.


# %% nbgrader={"grade": false, "grade_id": "step_size", "locked": false, "schema_version": 3, "solution": true, "task": false}
def step_size(t, lam):
    """Return η_t = 1/(λ t) (eq-pegasos-rate, S9).

    t = 1, 2, 3, … is the number of the update. Returns one number.
    """
    ### BEGIN SOLUTION
    return 1.0 / (lam * t)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step_size", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("step_size")

# %% [markdown] nbgrader={"grade": false, "grade_id": "update-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. One update
#
# Take a batch of k examples. The gradient of the regulariser, λw, and the mean of the k subgradients
# together point uphill, so step the other way:
#
# $$w_{t+1} = w_t - \eta_t \Big(\lambda w_t + \frac1k \sum_{i \in A_t} v_i\Big)
# = (1 - \eta_t \lambda)\, w_t + \frac{\eta_t}{k} \sum_{i \in A_t} [\,y_i\, w_t \cdot x_i < 1\,]\; y_i x_i
# \qquad\text{(eq-pegasos-update, S9)}$$
#
# Three things to see in it:
#
# - all k margins are those of the *old* w;
# - the factor 1 − ηλ = 1 − 1/t shrinks w in **every** step, whether a margin is violated or not;
# - the sum is divided by k, the size of the batch, even if only one of its examples is violated.
#
# By hand: λ = 0.5, t = 2 (so η = 1), w = 1, and a batch with x = 0.5 and x = 3, both of class +1. Only
# the first has a margin below 1. The new w is ½ · 1 + ½ · 0.5 = 0.75.


# %% nbgrader={"grade": false, "grade_id": "update", "locked": false, "schema_version": 3, "solution": true, "task": false}
def update(w, X_batch, y_batch, lam, t):
    """Return the weights after update number t on a batch (eq-pegasos-update, S9).

    w has shape (d,), X_batch shape (k, d), y_batch shape (k,). Returns a new array of shape (d,) and
    leaves w as it is.
    """
    # Hint: a comparison of arrays gives True and False, which count as 1 and 0 in a product.
    ### BEGIN SOLUTION
    eta = step_size(t, lam)
    violated = y_batch * (X_batch @ w) < 1.0
    gain = (violated * y_batch) @ X_batch / len(y_batch)
    return (1.0 - eta * lam) * w + eta * gain
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-update", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("update")

# %% [markdown] nbgrader={"grade": false, "grade_id": "project-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. The ball
#
# The first step is a leap: η = 1/λ. But one knows in advance where *not* to look. From F(w\*) ≤ F(0) = 1
# follows ‖w\*‖ ≤ √(2/λ), and duality sharpens this to 1/√λ (chapter 5): the minimum lies in the ball of
# that radius. Going back to the nearest point of the ball brings w closer to it, wherever it is:
#
# $$w \leftarrow \min\Big(1,\ \frac{1/\sqrt\lambda}{\|w\|}\Big)\, w
# \qquad\text{(eq-pegasos-projection, S9)}$$
#
# What is inside stays where it is, and w = 0 is inside.


# %% nbgrader={"grade": false, "grade_id": "project", "locked": false, "schema_version": 3, "solution": true, "task": false}
def project(w, lam):
    """Return the point of the ball of radius 1/√λ nearest to w (eq-pegasos-projection, S9).

    w has shape (d,), perhaps all zeros. Returns an array of shape (d,) and leaves w as it is.
    """
    ### BEGIN SOLUTION
    radius = 1.0 / np.sqrt(lam)
    length = np.sqrt(w @ w)
    if length > radius:
        return w * (radius / length)
    return w
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-project", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("project")

# %% [markdown] nbgrader={"grade": false, "grade_id": "pegasos-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. Pegasos
#
# Now put the steps together. Start from w = 0; for t = 1, 2, …, T draw a batch of k rows, update, and (if
# you like) project. Return the last w.
#
# - Draw the rows of each step with the function `draw_batch` below and the generator `rng` that you are
#   given, never with `np.random` itself: then whoever calls you decides about the randomness, and the
#   same seed gives the same answer. (Going through the rows in an order shuffled with `rng` is right too.)
# - The projection is **optional** here; with or without it the points are the same.
# - `X` may hold integers (grey values do). `w` must not: an array of integers cuts off every update.
#
# Your function is judged by what it reaches: (F(w) − F\*)/F\* ≤ 2 % and ‖w‖ within 5 % of ‖w\*‖ for λT = 2,000
# on two sets of real data. They are sorted by class, and one class is much larger than the other.


# %% nbgrader={"grade": false, "grade_id": "supplied-draw_batch", "locked": true, "schema_version": 3, "solution": false, "task": false}
def draw_batch(n, k, rng):
    """Return k row numbers out of 0, …, n − 1, drawn with replacement."""
    return rng.integers(0, n, k)


# %% nbgrader={"grade": false, "grade_id": "pegasos", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pegasos(X, y, lam, T, rng, k=1):
    """Return w after T updates on batches of k rows, from w = 0 (eq-pegasos-update, S9).

    X has shape (n, d), y shape (n,), rng is a numpy Generator. Returns an array of shape (d,).
    """
    # Hint: X[batch] are the rows whose numbers are in batch; t = 1, …, T is range(1, T + 1).
    ### BEGIN SOLUTION
    n, d = X.shape
    w = np.zeros(d)
    for t in range(1, T + 1):
        batch = draw_batch(n, k, rng)
        w = project(update(w, X[batch], y[batch], lam, t), lam)
    return w
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-pegasos", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check("pegasos")

# %% [markdown] nbgrader={"grade": false, "grade_id": "progress-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# How fast does it come near? Below are two overlapping clouds, the smallest possible F from an exact
# solver, and your function with T = 1, 2, 4, …, with one row a step and with ten. The excess F(w) − F\*
# falls like 1/T, up and down, since what a step sees is chance; ten rows a step are ten times as much
# work and make it quieter.

# %% nbgrader={"grade": false, "grade_id": "progress-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
X_blobs, y_blobs = blobs(400, np.random.default_rng(1), distance=2.0, positive=0.2)
exact = dual_coordinate_descent(X_blobs, y_blobs, 1 / (400 * lam), tol=1e-8)

if check.passed("objective") and check.passed("pegasos"):
    steps = [2**j for j in range(14)]
    for k in (1, 10):
        excess = []
        for T in steps:
            w = np.ravel(pegasos(X_blobs, y_blobs, lam, T, np.random.default_rng(0), k))
            excess.append(float(objective(w, X_blobs, y_blobs, lam)) - lam * exact.objective)
        plt.loglog(steps, excess, "o-", ms=4, label=f"k = {k}")
    plt.loglog(steps, 0.5 / (lam * np.array(steps)), ":", color="gray", label="1/(2λT)")
    plt.xlabel("steps T")
    plt.ylabel("F(w) − F*")
    plt.legend()
    plt.title("The excess falls like 1/T")
    plt.show()
    plot_margin(lambda points: points @ w, X_blobs, y_blobs)
    plt.title("The last of these machines: f(x) = w·x, no bias")
    plt.show()
else:
    print("The pictures appear once objective and pegasos work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "noise-question", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ### Question 1 (2 points): the noise
#
# Run your `pegasos` with several seeds, and look at the picture above. In 5 to 8 sentences:
#
# - The excess that is left after T steps depends on the product λT, not on T alone. Why? (Think of what
#   w is made of after T steps, and how much one more example can move it.) *1 point*
# - What does a mini-batch of k rows change, and what would it change to return the mean of the last
#   iterates in place of the last one? What does each of the two cost? *1 point*
#
# Give at least one figure that you measured yourself.

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-noise", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# **Model answer.** After T steps without projection w = (1/(λT)) Σ y_i x_i, the sum over the steps that saw a
# margin below 1: a mean of at most T random terms, divided by λ. One more example moves w by η_T‖x‖ = ‖x‖/(λT),
# and this length is what w keeps trembling by near the minimum. So the excess is of the order R²/(λT): with λ ten
# times smaller the steps are ten times longer and it takes ten times as many of them for the same
# excess. *(1 point: the step length, or the weight of one example, is 1/(λT).)*
#
# A batch of k rows takes the mean of k subgradients: the variance of a step is k times smaller, its cost k
# times larger, so that k = 10 with T/10 steps is as good as k = 1 with T steps for the same number of examples
# (it pays because numpy is faster on ten rows at once than ten times on one). The mean of the last
# iterates averages the trembling away as well, at the cost of one more vector and one addition
# a step, but a mean over *all* iterates also keeps the bad first ones. *(1 point: both reduce the
# variance; what each costs. A figure of one's own is asked for: without it 1½ points at most.)* For example: over
# 20 seeds on the clouds above with T = 2,000 the mean excess was 2.6e-3 for k = 1 and 3.1e-4 for k = 10.

# %% [markdown] nbgrader={"grade": false, "grade_id": "lam_from_C-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. From C to λ
#
# The other chapters write the same machine with C: ½‖w‖² + C Σ ξ. Divide by nC and compare with F:
#
# $$\lambda = \frac{1}{n\,C} \qquad\text{(eq-lambda, S9)}$$
#
# The more examples, the smaller λ for the same C: the sum grows with n, the mean does not.


# %% nbgrader={"grade": false, "grade_id": "lam_from_C", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lam_from_C(C, n):
    """Return the λ for which F has the same minimiser as ½‖w‖² + C Σ ξ (eq-lambda, S9).

    C is a number above 0, n the number of examples. Returns one number.
    """
    ### BEGIN SOLUTION
    return 1.0 / (n * C)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-lam_from_C", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lam_from_C")

# %% [markdown] nbgrader={"grade": false, "grade_id": "agreement-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# So your SGD and an exact solver that knows nothing of λ must agree. This one solves the dual, one
# variable at a time (chapter 13):

# %% nbgrader={"grade": false, "grade_id": "agreement", "locked": true, "schema_version": 3, "solution": false, "task": false}
if all(check.passed(part) for part in ("objective", "pegasos", "lam_from_C")):
    for C in (0.01, 0.1, 1.0):
        own_lam = float(lam_from_C(C, len(y_blobs)))
        w_exact = dual_coordinate_descent(X_blobs, y_blobs, C, tol=1e-8).w
        T = int(min(20_000, 200 / own_lam))
        w_own = np.ravel(pegasos(X_blobs, y_blobs, own_lam, T, np.random.default_rng(0), 10))
        figures = [float(objective(w, X_blobs, y_blobs, own_lam)) for w in (w_own, w_exact)]
        print(f"C = {C:<5} λ = {own_lam:<7.4g} {T:6} steps: F = {figures[0]:.5f}", end="   ")
        print(f"exact solver: F = {figures[1]:.5f}")
else:
    print("The comparison appears once objective, pegasos and lam_from_C work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "sparse-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. Text: pay for the words that are there
#
# A document is a row with as many columns as the vocabulary has words, and nearly all of its entries are
# 0. Such rows are kept as three arrays (*CSR*): all non-zero values one after the other in `data`, their columns
# in `indices`, and in `indptr` where each row begins. Row i is
#
# ```
# data[indptr[i]:indptr[i + 1]]        its values
# indices[indptr[i]:indptr[i + 1]]     the columns in which they stand
# ```
#
# For example the rows (0, 5, 0, 7) and (0, 0, 3, 0) are `data = [5, 7, 3]`, `indices = [1, 3, 2]`, `indptr = [0, 2, 3]`.
#
# A product w·x costs only the non-zeros of x, and so does adding y·x. What spoils it is the factor 1 − 1/t, which
# touches all d entries of w in every step. The way out is to keep w as a product of a number and a vector,
#
# $$w = s\,v:\qquad s \leftarrow (1 - \eta\lambda)\, s,\qquad
# v \leftarrow v + \frac{\eta}{s}\, y_i x_i \ \text{ if } y_i\, w \cdot x_i < 1
# \qquad\text{(eq-scaled-weights, M12)}$$
#
# The condition is that of the old w, the division is by the new s. One trap: in step 1 the factor is
# 1 − 1/1 = 0. Since w = 0 then, nothing needs to shrink; leave s = 1 in this step.
#
# Each step draws one row, `draw_batch(n, 1, rng)[0]`; no projection. The check has no points of its own, but your
# answer to question 2 needs the function.


# %% nbgrader={"grade": false, "grade_id": "sparse_pegasos", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sparse_pegasos(data, indices, indptr, d, y, lam, T, rng):
    """Return w after T updates on one row each, at the cost of its non-zeros (eq-scaled-weights, M12).

    data, indices, indptr are the n rows as CSR arrays, d is the number of columns, y has shape (n,).
    Returns w = s·v, an array of shape (d,).
    """
    # Hint: v[columns] picks entries of v, and v[columns] += … changes only these.
    ### BEGIN SOLUTION
    n = len(y)
    v, s = np.zeros(d), 1.0
    for t in range(1, T + 1):
        i = draw_batch(n, 1, rng)[0]
        x = data[indptr[i] : indptr[i + 1]]
        columns = indices[indptr[i] : indptr[i + 1]]
        violated = y[i] * s * (x @ v[columns]) < 1.0
        if t > 1:
            s *= 1.0 - 1.0 / t
        if violated:
            v[columns] += step_size(t, lam) / s * y[i] * x
    return s * v
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-sparse_pegasos", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
check("sparse_pegasos")

# %% [markdown] nbgrader={"grade": false, "grade_id": "text-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Now some text: documents drawn at random with word frequencies as in newspapers, about 70 different words
# each. The vocabulary grows, the documents do not. Watch the microseconds.

# %% nbgrader={"grade": false, "grade_id": "text-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
if check.passed("pegasos") and check.passed("sparse_pegasos"):
    print("   words     one step, X as an array    one step, X as CSR")
    for d in (1_000, 10_000, 50_000):
        rows, labels = rcv1_like(200, d, rng=np.random.default_rng(0))
        table = np.zeros((200, d))
        table[np.repeat(np.arange(200), np.diff(rows.indptr)), rows.indices] = rows.data
        start = time.perf_counter()
        pegasos(table, labels, 0.01, 500, np.random.default_rng(0))
        middle = time.perf_counter()
        sparse_pegasos(*rows[:3], d, labels, 0.01, 500, np.random.default_rng(0))
        end = time.perf_counter()
        dense, sparse = (1e6 / 500 * seconds for seconds in (middle - start, end - middle))
        print(f"{d:8,} {dense:20.0f} µs {sparse:20.0f} µs")
else:
    print("The table appears once pegasos and sparse_pegasos work.")

# %% [markdown] nbgrader={"grade": false, "grade_id": "sparse-question", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ### Question 2 (2 points): why w = s·v
#
# In 5 to 8 sentences:
#
# - Why does a step of `sparse_pegasos` cost only the non-zeros of its row? Count the operations of a step with w
#   and of a step with s and v, for a row with m non-zeros out of d. *1 point*
# - Why must the new term be divided by s, and by the new s? What is s after step t, and can it become so small that
#   this is a problem? *1 point*

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-sparse", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# **Model answer.** With w itself a step costs d multiplications for the factor 1 − 1/t, which changes every entry, however
# short the row: O(d). With w = s·v the factor changes the single number s: one multiplication. The margin y·s·(v·x)
# needs only the m entries of v in the columns of x, and so does adding a multiple of x to v. Together it is
# O(m), here about 70 in place of 50,000; only at the end s·v costs d once. *(1 point: the decay is O(1), the rest
# O(m), compared with O(d).)*
#
# The update adds η y x to w = s·v, that is (η/s) y x to v. The decay does not act on the new term, so s must already be the
# new one: with the old s the term would be shrunk once too often, by 1 − 1/t. Since s starts at 1 and step 1 leaves it,
# s = ½ · ⅔ · … · (t−1)/t = 1/t. That is 1e-6 after a million steps, far from the smallest float of 1e-308, so nothing is
# lost; v grows as s falls. (With a constant rate s would fall exponentially: then one multiplies s into v from
# time to time and sets it to 1.) *(1 point: the new term must not decay, hence the new s; s = 1/t is harmless.)*

# %% [markdown] nbgrader={"grade": false, "grade_id": "end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## All checks, and handing in
#
# The next cell runs all visible checks once more and prints a table. Further checks, with other data, run
# after you have handed in; they ask nothing that is not stated above. Before you hand in, choose *Restart
# kernel and run all cells*, look at the table, save, and submit this notebook under its own name.

# %% nbgrader={"grade": false, "grade_id": "all-checks", "locked": true, "schema_version": 3, "solution": false, "task": false}
check()
