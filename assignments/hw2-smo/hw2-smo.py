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
# # Homework 2: SMO, step by step
#
# Training a support vector machine means solving one quadratic problem, its dual:
#
# $$\max_\alpha\ D(\alpha) = \sum_i \alpha_i - \tfrac12 \sum_{i,j} \alpha_i\alpha_j y_i y_j K_{ij}
# \qquad\text{where } 0 \le \alpha_i \le C \text{ and } \sum_i \alpha_i y_i = 0
# \qquad\text{(eq-dual, eq-box, eq-equality)}$$
#
# *Sequential minimal optimisation* needs no library for quadratic problems. It takes two of the α
# at a time, solves the tiny problem in these two exactly, with pen and paper, and goes on to the
# next pair. Why two? Because of the sum: a single α cannot move without breaking Σ αy = 0, two can
# move together. In this homework you write each line of that calculation as a function of its own,
# put them together, and solve the lecture's example and a problem with a kernel by your own code.
#
# There are **20 points** for nine functions, each checked as soon as you have written it, and
# **4 points** for two answers in words, read by a person. Read chapter 8 beside it.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, then run the cell below each: it
# calls your function on problems that it draws itself and says what it found. Every step gets the
# results of the earlier ones as arguments, so that a mistake in one part costs that part only. The
# cells with text, data and pictures are locked; add cells of your own wherever you like. A function
# must get everything that it needs as arguments: when your work is graded, the variables of this
# notebook are not there. Use numpy and plain Python.
#
# **Conventions**, the same in the whole course:
#
# | | |
# |---|---|
# | `y` | the labels, shape (n,), each −1 or +1, perhaps as integers |
# | `K` | the Gram matrix, shape (n, n): `K[i, j]` is the kernel of examples i and j. SMO never sees the examples themselves |
# | `alpha`, `b` | the machine: an array of shape (n,) and a number |
# | f(x) = Σ α_j y_j K(x_j, x) **+** b | its decision function: plus b, never minus |
# | E_k = f(x_k) − y_k | its error on example k: decision minus label, not the other way round |
# | η = 2K_ij − K_ii − K_jj | negative, as in the lecture |
# | i, j | the two examples of a step: α_j moves first, α_i follows. Both count from 0 |

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

from autograder import homework
from svmlab.certificates import certify
from svmlab.datasets import rings
from svmlab.kernels import gaussian_kernel, polynomial_kernel
from svmlab.plotting import plot_decision_surface

check = homework("hw2-smo")

# %% [markdown] nbgrader={"grade": false, "grade_id": "pair-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **An example for pen and paper.** Two points on the line, x = 2 with y = +1 and x = −1 with
# y = −1, and the linear kernel. With two examples one step of SMO must solve the whole problem, so
# you can follow every function below by hand. The widest street between the points has its middle
# at x = ½; the answer is α = (2/9, 2/9) and b = −1/3, for every C ≥ 2/9.

# %% nbgrader={"grade": false, "grade_id": "pair", "locked": true, "schema_version": 3, "solution": false, "task": false}
x_pair = np.array([2.0, -1.0])
y_pair = np.array([1.0, -1.0])
K_pair = np.outer(x_pair, x_pair)
print(K_pair)

# %% [markdown] nbgrader={"grade": false, "grade_id": "error-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 1. The error
#
# Everything that SMO knows about an example is how wrong the machine is on it right now:
#
# $$E_k = f(x_k) - y_k = \sum_j \alpha_j y_j K_{kj} + b - y_k \qquad\text{(eq-smo-error, B6)}$$
#
# An example outside the street on its right side also has an error: f(x) = 3 with y = 1 gives
# E = 2. So E is no count of mistakes, and f is the real number, not its sign.
#
# By hand: at the start, with α = 0 and b = 0, the errors of the pair are E₀ = −1 and E₁ = +1.


# %% nbgrader={"grade": false, "grade_id": "error", "locked": false, "schema_version": 3, "solution": true, "task": false}
def error(k, alpha, b, K, y):
    """Return E_k = Σ_j α_j y_j K_kj + b − y_k, a number (eq-smo-error, B6).

    k is the number of an example, alpha and y have shape (n,), K has shape (n, n).
    """
    # Row k of K holds all kernels that you need: one dot product is enough.
    ### BEGIN SOLUTION
    return K[k] @ (alpha * y) + b - y[k]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-error", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("error")

# %% [markdown] nbgrader={"grade": false, "grade_id": "bounds-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 2. How far may α_j move?
#
# All other α stay where they are, so Σ αy = 0 says that y_i α_i + y_j α_j must keep its value:
# the two may only move along a line in the (α_i, α_j) plane.
#
# - Unequal labels: α_j − α_i is constant. Both grow, or both shrink.
# - Equal labels: α_i + α_j is constant. What one gains the other loses.
#
# Both must stay in the box from 0 to C. What the box leaves of the line is a segment, and on it
# α_j runs from L to H:
#
# $$\begin{aligned}
# y_i \ne y_j:&\quad L = \max(0,\ \alpha_j - \alpha_i),\quad & H = \min(C,\ C + \alpha_j - \alpha_i)\\
# y_i = y_j:&\quad L = \max(0,\ \alpha_i + \alpha_j - C),\quad & H = \min(C,\ \alpha_i + \alpha_j)
# \end{aligned}\qquad\text{(eq-smo-bounds, B5)}$$
#
# By hand: for the pair with α = (0, 0) and C = 10 the labels differ, and (L, H) = (0, 10).


# %% nbgrader={"grade": false, "grade_id": "bounds", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bounds(alpha_i, alpha_j, y_i, y_j, C):
    """Return (L, H), the smallest and the largest α_j on the line inside the box (eq-smo-bounds, B5).

    y_i ≠ y_j:  L = max(0, α_j − α_i),      H = min(C, C + α_j − α_i)
    y_i = y_j:  L = max(0, α_i + α_j − C),  H = min(C, α_i + α_j)
    """
    ### BEGIN SOLUTION
    if y_i != y_j:
        return max(0.0, alpha_j - alpha_i), min(C, C + alpha_j - alpha_i)
    return max(0.0, alpha_i + alpha_j - C), min(C, alpha_i + alpha_j)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-bounds", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bounds")

# %% [markdown] nbgrader={"grade": false, "grade_id": "bounds-picture-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Look at it.** The square is the box for C = 1, the dot is where the two α are now, and the thick
# piece is where your L and H let them go. It must end where the line leaves the box, on both sides.

# %% nbgrader={"grade": false, "grade_id": "bounds-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
if check.passed("bounds"):
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    cases = (("unequal labels", 0.3, 0.5, -1.0), ("equal labels", 0.8, 0.45, 1.0))
    for ax, (title, a_i, a_j, sign) in zip(axes, cases, strict=True):
        L, H = bounds(a_i, a_j, 1.0, sign, 1.0)
        ends = np.array([L, H])
        ax.axline((a_i, a_j), slope=-sign, color="0.7", linewidth=1)
        ax.plot(a_i - sign * (ends - a_j), ends, linewidth=4, label=f"L = {L:.2f}, H = {H:.2f}")
        ax.plot(a_i, a_j, "o", color="black", label="now")
        ax.add_patch(plt.Rectangle((0, 0), 1, 1, fill=False))
        ax.set(title=title, xlabel="α_i", ylabel="α_j", xlim=(-0.3, 1.3), ylim=(-0.3, 1.3))
        ax.set_aspect("equal")
        ax.legend(loc="upper left")
    plt.show()
else:
    print("the picture appears once bounds works")

# %% [markdown] nbgrader={"grade": false, "grade_id": "eta-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 3. The curvature
#
# Along that line the dual objective is a parabola. Its second derivative is
#
# $$\eta = 2K_{ij} - K_{ii} - K_{jj} \qquad\text{(eq-smo-eta, B6)}$$
#
# This is minus the squared distance between the two examples in feature space, −‖φ(x_i) − φ(x_j)‖²:
# never positive, and 0 only where the two coincide there. The parabola opens downwards, so it has a
# highest point. The diagonal of K is 1 for the Gaussian kernel, but not for others: use `K[i, i]`.
#
# By hand: for the pair, η = 2·(−2) − 4 − 1 = −9, and the distance of 2 and −1 is 3.


# %% nbgrader={"grade": false, "grade_id": "eta", "locked": false, "schema_version": 3, "solution": true, "task": false}
def eta(i, j, K):
    """Return η = 2 K_ij − K_ii − K_jj, a number ≤ 0 (eq-smo-eta, B6)."""
    ### BEGIN SOLUTION
    return 2.0 * K[i, j] - K[i, i] - K[j, j]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-eta", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("eta")

# %% [markdown] nbgrader={"grade": false, "grade_id": "new-alpha-j-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 4. The new α_j
#
# The highest point of the parabola is at α_j − y_j (E_i − E_j)/η. If it lies outside the segment,
# the parabola only rises (or only falls) on the segment, and the best point is the nearer end:
#
# $$\operatorname{clip}(a, L, H) = \begin{cases} H & a > H\\ a & L \le a \le H\\ L & a < L\end{cases}
# \qquad\text{(eq-smo-clip, B6)}$$
#
# $$\alpha_j^{new} = \operatorname{clip}\Bigl(\alpha_j - \frac{y_j (E_i - E_j)}{\eta},\ L,\ H\Bigr)
# \qquad\text{(eq-smo-alpha-j, B6)}$$
#
# η is an argument here, and it is negative: with the minus sign in front, the step goes uphill.
#
# By hand: for the pair 0 − (−1)·(−1 − 1)/(−9) = 2/9, which lies between L = 0 and H = 10.


# %% nbgrader={"grade": false, "grade_id": "clip", "locked": false, "schema_version": 3, "solution": true, "task": false}
def clip(a, L, H):
    """Return the point of the interval from L to H that is nearest to a (eq-smo-clip, B6)."""
    ### BEGIN SOLUTION
    return min(H, max(L, a))
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "new_alpha_j", "locked": false, "schema_version": 3, "solution": true, "task": false}
def new_alpha_j(alpha_j, y_j, E_i, E_j, eta, L, H):
    """Return the best α_j between L and H (eq-smo-alpha-j, B6).

    It is clip(α_j − y_j (E_i − E_j)/η, L, H). All arguments are numbers, η < 0.
    """
    ### BEGIN SOLUTION
    return clip(alpha_j - y_j * (E_i - E_j) / eta, L, H)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-new_alpha_j", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("new_alpha_j")

# %% [markdown] nbgrader={"grade": false, "grade_id": "new-alpha-i-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 5. α_i follows
#
# α_j has moved, so Σ αy is no longer 0. α_i puts it right:
#
# $$\alpha_i^{new} = \alpha_i + y_i y_j\,(\alpha_j - \alpha_j^{new}) \qquad\text{(eq-smo-alpha-i, B7)}$$
#
# Note the order: *old minus new*. Both labels count: with equal ones α_i moves against α_j, with
# unequal ones it moves along.
#
# By hand: for the pair 0 + (1)(−1)(0 − 2/9) = 2/9.


# %% nbgrader={"grade": false, "grade_id": "new_alpha_i", "locked": false, "schema_version": 3, "solution": true, "task": false}
def new_alpha_i(alpha_i, alpha_j, alpha_j_new, y_i, y_j):
    """Return α_i + y_i y_j (α_j − α_j_new), which keeps Σ αy as it was (eq-smo-alpha-i, B7).

    alpha_i and alpha_j are the values before the step. All arguments are numbers.
    """
    ### BEGIN SOLUTION
    return alpha_i + y_i * y_j * (alpha_j - alpha_j_new)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-new_alpha_i", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("new_alpha_i")

# %% [markdown] nbgrader={"grade": false, "grade_id": "line-picture-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Look at it.** The curve is D(α) while two α of a small problem move along their line; the grey
# part lies outside the box. Your step must land on the highest point that the box allows: on the
# left that is the top of the parabola, on the right the end of the segment.

# %% nbgrader={"grade": false, "grade_id": "line-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
if all(check.passed(part) for part in ("error", "bounds", "eta", "new_alpha_j", "new_alpha_i")):
    x_line = np.array([0.0, 1.0, 2.0, 2.5])
    y_line = np.array([-1.0, 1.0, -1.0, 1.0])
    K_line = gaussian_kernel(x_line[:, None], x_line[:, None], gamma=1.0)
    alpha_line = np.array([0.4, 0.4, 0.5, 0.5])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, (i, j), limit in zip(axes, ((0, 1), (2, 3)), (2.0, 1.0), strict=True):
        ends = bounds(alpha_line[i], alpha_line[j], y_line[i], y_line[j], limit)
        E_i, E_j = (error(k, alpha_line, 0.0, K_line, y_line) for k in (i, j))
        best = new_alpha_j(alpha_line[j], y_line[j], E_i, E_j, eta(i, j, K_line), *ends)
        reach = np.linspace(ends[0] - 0.3, ends[1] + 0.3, 201)
        heights = []
        for value in (*reach, best):
            moved = alpha_line.copy()
            moved[i] = new_alpha_i(alpha_line[i], alpha_line[j], value, y_line[i], y_line[j])
            moved[j] = value
            heights.append(moved.sum() - 0.5 * (moved * y_line) @ K_line @ (moved * y_line))
        inside = (reach >= ends[0]) & (reach <= ends[1])
        ax.plot(reach, heights[:-1], color="0.75")
        ax.plot(reach[inside], np.array(heights[:-1])[inside], linewidth=2.5)
        ax.plot(best, heights[-1], "o", color="black", label=f"your new α_j = {best:.3f}")
        ax.set(title=f"C = {limit:g}", xlabel="α_j", ylabel="D(α) along the line")
        ax.legend(loc="lower center")
    plt.show()
else:
    print("the picture appears once error, bounds, eta, new_alpha_j and new_alpha_i work")

# %% [markdown] nbgrader={"grade": false, "grade_id": "thresholds-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 6. The new b
#
# After the step the machine has changed, so b must be chosen anew. An example with 0 < α < C is
# called *free*; at the optimum it lies exactly on the edge of the street, f(x) = y. So choose b
# such that a free example of the pair has the error 0. For i and for j that would be
#
# $$\begin{aligned}
# b_1 &= b - E_i - y_i\,(\alpha_i^{new} - \alpha_i) K_{ii} - y_j\,(\alpha_j^{new} - \alpha_j) K_{ij}\\
# b_2 &= b - E_j - y_i\,(\alpha_i^{new} - \alpha_i) K_{ij} - y_j\,(\alpha_j^{new} - \alpha_j) K_{jj}
# \end{aligned}\qquad\text{(eq-smo-b, B8)}$$
#
# where b, E_i and E_j belong to the machine before the step. Return
#
# - b₁ if α_i is free after the step,
# - else b₂ if α_j is free after the step,
# - else their mean: then any number between b₁ and b₂ will do.
#
# You can test it yourself: with the new α and the new b, the error of the free example is 0.
#
# By hand: for the pair b₁ = 0 + 1 − (2/9)·4 − (−1)(2/9)(−2) = −1/3, and b₂ is the same.


# %% nbgrader={"grade": false, "grade_id": "thresholds", "locked": false, "schema_version": 3, "solution": true, "task": false}
def thresholds(i, j, alpha_old, alpha_new, E_i, E_j, b, K, y, C):
    """Return the new b: b₁ if 0 < α_i < C, else b₂ if 0 < α_j < C, else their mean (eq-smo-b, B8).

    alpha_old and alpha_new, shape (n,), are all α before and after the step; they differ in the
    entries i and j only. E_i, E_j and b belong to alpha_old. "Free" is asked of alpha_new.

    b₁ = b − E_i − y_i (α_i_new − α_i_old) K_ii − y_j (α_j_new − α_j_old) K_ij
    b₂ = b − E_j − y_i (α_i_new − α_i_old) K_ij − y_j (α_j_new − α_j_old) K_jj
    """
    ### BEGIN SOLUTION
    move_i = y[i] * (alpha_new[i] - alpha_old[i])
    move_j = y[j] * (alpha_new[j] - alpha_old[j])
    b1 = b - E_i - move_i * K[i, i] - move_j * K[i, j]
    b2 = b - E_j - move_i * K[i, j] - move_j * K[j, j]
    if 0.0 < alpha_new[i] < C:
        return b1
    if 0.0 < alpha_new[j] < C:
        return b2
    return (b1 + b2) / 2.0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-thresholds", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("thresholds")

# %% [markdown] nbgrader={"grade": false, "grade_id": "kkt-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7. Which examples need work?
#
# The KKT conditions say where an example must lie at the optimum: with α = 0 outside the street
# (y f ≥ 1), with α = C inside or on the wrong side (y f ≤ 1), free ones on its edge. Since
# y_k E_k = y_k f(x_k) − 1, an example violates its condition by more than a tolerance τ exactly if
#
# $$(y_k E_k < -\tau \text{ and } \alpha_k < C)\quad\text{or}\quad(y_k E_k > \tau \text{ and } \alpha_k > 0)
# \qquad\text{(eq-smo-kkt, B3, B9)}$$
#
# In words: it lies too far in and its α could still grow, or it lies too far out and its α could
# still shrink. Both halves are needed: without the second, an α that grew too much never comes back.


# %% nbgrader={"grade": false, "grade_id": "violates_kkt", "locked": false, "schema_version": 3, "solution": true, "task": false}
def violates_kkt(alpha_k, E_k, y_k, C, tol):
    """Tell whether example k breaks its KKT condition by more than tol: True or False (eq-smo-kkt, B9).

    (y_k E_k < −tol and α_k < C) or (y_k E_k > tol and α_k > 0). All arguments are numbers.
    """
    ### BEGIN SOLUTION
    too_near = y_k * E_k < -tol and alpha_k < C
    too_far = y_k * E_k > tol and alpha_k > 0.0
    return too_near or too_far
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-violates_kkt", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("violates_kkt")

# %% [markdown] nbgrader={"grade": false, "grade_id": "smo-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8. The loop
#
# Now the parts go together. Start with α = 0 and b = 0 and *sweep* over the examples again and
# again. In one sweep, for each i = 0, 1, …, n − 1 in this order:
#
# 1. compute E_i; if example i does not violate its KKT condition, go on to the next i;
# 2. draw its partner by `j = select_j(i, n, rng)`, given below (B4);
# 3. compute E_j, then L and H; if L = H nothing can move: next i;
# 4. compute η; if η ≥ 0 there is no highest point: next i;
# 5. compute the new α_j; if it differs from the old one by less than 10⁻⁵, leave everything as it
#    is, α_j too: next i;
# 6. compute the new α_i and the new b, and store all three.
#
# A sweep in which no pair moved is *quiet*. A quiet sweep proves little, since the partners are
# random: another draw may find a pair that moves. Therefore stop after `max_passes` quiet sweeps
# **in a row**, and in any case after `max_sweeps` sweeps altogether; then return what you have.
#
# Return `(alpha, b)`. Do not change `K` and `y`, they belong to the caller; and mind that `y` may be
# an array of integers, while α must hold fractions.
#
# *This is the lecture's order, and one of your points is for following it exactly. You may choose
# pairs in another way if you like: an answer that is optimal on all problems also earns that point.*


# %% nbgrader={"grade": false, "grade_id": "supplied-select-j", "locked": true, "schema_version": 3, "solution": false, "task": false}
def select_j(i, n, rng):
    """Draw a partner for example i from the n − 1 others (B4). rng is a numpy Generator."""
    j = int(rng.integers(0, n - 1))
    return j if j < i else j + 1


# %% nbgrader={"grade": false, "grade_id": "smo", "locked": false, "schema_version": 3, "solution": true, "task": false}
def smo(K, y, C, tol, max_passes, rng, max_sweeps):
    """Solve the dual by sweeps over i with a random partner j; return (alpha, b) (B2–B9).

    K : (n, n) Gram matrix          y : (n,) labels −1 and +1       C : upper end of the box
    tol : for violates_kkt          rng : numpy Generator, for select_j
    max_passes : stop after so many sweeps in a row without a change
    max_sweeps : stop after so many sweeps in any case
    """
    # A numpy array on the left of `old = alpha` is a second name, not a copy: use alpha.copy().
    ### BEGIN SOLUTION
    n = len(y)
    alpha = np.zeros(n)
    b = 0.0
    passes = 0
    sweeps = 0
    while passes < max_passes and sweeps < max_sweeps:
        changed = False
        for i in range(n):
            E_i = error(i, alpha, b, K, y)
            if not violates_kkt(alpha[i], E_i, y[i], C, tol):
                continue
            j = select_j(i, n, rng)
            E_j = error(j, alpha, b, K, y)
            L, H = bounds(alpha[i], alpha[j], y[i], y[j], C)
            curvature = eta(i, j, K)
            if L == H or curvature >= 0.0:
                continue
            alpha_j = new_alpha_j(alpha[j], y[j], E_i, E_j, curvature, L, H)
            if abs(alpha_j - alpha[j]) < 1e-5:
                continue
            old = alpha.copy()
            alpha[j] = alpha_j
            alpha[i] = new_alpha_i(old[i], old[j], alpha_j, y[i], y[j])
            b = thresholds(i, j, old, alpha, E_i, E_j, b, K, y, C)
            changed = True
        sweeps += 1
        passes = 0 if changed else passes + 1
    return alpha, b
    ### END SOLUTION


# %% [markdown] nbgrader={"grade": false, "grade_id": "smo-pair-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The pair from the beginning first: it should give α = (2/9, 2/9) = (0.2222, 0.2222) and
# b = −1/3. The check below then judges your answer as one judges an answer without knowing it: is
# α feasible, is D(α) as large as it can be, does every example satisfy its KKT condition?

# %% nbgrader={"grade": false, "grade_id": "smo-pair", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    print(smo(K_pair, y_pair, 10.0, 1e-3, 100, np.random.default_rng(0), 1000))
except NotImplementedError:
    print("the answer appears once smo and its steps are written")

# %% nbgrader={"grade": true, "grade_id": "test-smo", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check("smo")

# %% [markdown] nbgrader={"grade": false, "grade_id": "example-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9. The lecture's worked example
#
# Five points on a line: x = 1, 2 are positive, 4, 5 negative, 6 positive again. No threshold on x
# separates them, but a parabola does, and the kernel K(x, z) = (xz + 1)² has all parabolas in its
# feature space. Its exact solution (C15, eq-worked-example) is
#
# $$\alpha = \bigl(0,\ \tfrac52,\ 0,\ \tfrac{22}3,\ \tfrac{29}6\bigr),\qquad b = 9,\qquad
# f(z) = \tfrac23 z^2 - \tfrac{16}3 z + 9.$$

# %% nbgrader={"grade": false, "grade_id": "example", "locked": true, "schema_version": 3, "solution": false, "task": false}
x_example = np.array([1.0, 2.0, 4.0, 5.0, 6.0])
y_example = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
K_example = polynomial_kernel(x_example[:, None], x_example[:, None], degree=2)

if check.passed("smo"):
    alpha, b = smo(K_example, y_example, 10.0, 1e-3, 100, np.random.default_rng(0), 100_000)
    print("your α:", np.round(alpha, 4), "  your b:", round(float(b), 4))
    z = np.linspace(0.5, 6.5, 200)
    f = polynomial_kernel(z[:, None], x_example[:, None], degree=2) @ (alpha * y_example) + b
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.plot(z, 2 / 3 * z**2 - 16 / 3 * z + 9, color="0.8", linewidth=6, label="exact")
    ax.plot(z, f, color="black", label="yours")
    for level in (-1.0, 0.0, 1.0):
        ax.axhline(level, color="0.6", linewidth=0.8, linestyle=":" if level else "-")
    for sign, marker in ((1.0, "o"), (-1.0, "s")):
        ax.plot(x_example[y_example == sign], sign * np.ones(sum(y_example == sign)), marker)
    ax.set(xlabel="z", ylabel="f(z)")
    ax.legend()
    plt.show()
else:
    print("the example appears once smo works")

# %% [markdown] nbgrader={"grade": false, "grade_id": "example-explained", "locked": true, "schema_version": 3, "solution": false, "task": false}
# What you see:
#
# - x = 1 and x = 4 have α = 0: f is beyond ±1 there, and the machine would be the same without
#   them. The three support vectors have f(x) = y, and three conditions fix a parabola.
# - All exact α are below 22/3 ≈ 7.33, so every C from there on gives the same answer: the data can
#   be separated, and C = 10 is as good as infinity.
# - Your numbers are not exact: b is off by about 0.01. The kernel values reach 37² = 1369, so a
#   step that is good for α is tiny, and at 10⁻⁵ we stop to look. D(α) is right to six digits all
#   the same: near its top a parabola is flat.
# - It took your loop some 7,500 sweeps for five points. A random partner is a poor choice when K is
#   badly scaled; chapter 13 shows what a good one gains.
#
# ## 10. Rings
#
# Now data in the plane that no line separates, with the Gaussian kernel. You have everything: SMO
# only needs the Gram matrix. Below, your own machine for a small and for a large C. Ringed points
# are support vectors, the dark line is f = 0.

# %% nbgrader={"grade": false, "grade_id": "rings", "locked": true, "schema_version": 3, "solution": false, "task": false}
X_rings, y_rings = rings(60, np.random.default_rng(3), noise=0.15)
K_rings = gaussian_kernel(X_rings, X_rings, gamma=2.0)


def machine(alpha, b, X, y):
    """Return an object that the picture function can draw."""
    return SimpleNamespace(
        decision_function=lambda Z: gaussian_kernel(Z, X, gamma=2.0) @ (alpha * y) + b,
        support_=np.flatnonzero(alpha > 1e-6),
    )


if check.passed("smo"):
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
    for ax, C in zip(axes, (0.2, 10.0), strict=True):
        alpha, b = smo(K_rings, y_rings, C, 1e-3, 100, np.random.default_rng(0), 5000)
        plot_decision_surface(machine(alpha, b, X_rings, y_rings), X_rings, y_rings, ax=ax)
        ax.set_title(f"C = {C:g}: {np.sum(alpha > 1e-6)} support vectors", y=1.08)
    plt.show()
else:
    print("the picture appears once smo works")

# %% [markdown] nbgrader={"grade": false, "grade_id": "proof-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **How good is the answer?** The primal objective of your machine,
# P = ½ Σ α_i α_j y_i y_j K_ij + C Σ max(0, 1 − y_i f(x_i)) (eq-kernel-primal), and the dual
# objective D(α) (eq-dual), both computed from your (α, b) alone:

# %% nbgrader={"grade": false, "grade_id": "proof", "locked": true, "schema_version": 3, "solution": false, "task": false}
if check.passed("smo"):
    alpha, b = smo(K_rings, y_rings, 1.0, 1e-3, 100, np.random.default_rng(0), 5000)
    proof = certify(alpha, float(b), K_rings, y_rings, C=1.0)
    errors = np.array([error(k, alpha, b, K_rings, y_rings) for k in range(60)])
    free = (alpha > 1e-4) & (alpha < 1.0 - 1e-4)
    smallest, largest = np.round((alpha.min(), alpha.max()), 6) + 0.0
    print(f"smallest and largest α     {smallest:.6f}  {largest:.6f}")
    print(f"|Σ αy|                     {proof.equality:.1e}")
    print(f"largest |E|, free examples {np.abs(errors[free]).max():.1e}")
    print(f"dual objective D           {proof.dual:.6f}")
    print(f"primal objective P         {proof.primal:.6f}")
    print(f"gap P − D                  {proof.gap:.1e}")
else:
    print("the figures appear once smo works")

# %% [markdown] nbgrader={"grade": false, "grade_id": "certificate-question", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ### Answer in words: how do you know?
#
# Nobody told you the optimal α for the rings. **How can you know that your answer is nearly
# optimal, and how near?** Use the numbers that were printed. (About five sentences.)
#
# *2 points: 1 for an argument that holds without knowing the optimum (KKT conditions, or the duality
# gap, with the reason why it proves optimality and what must hold of α for that), 1 for applying
# it to your numbers, with a bound on how far D(α) can be from the optimum.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-certificate", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# Every feasible α gives a lower bound: D(α) ≤ D* = P* ≤ P(w, b) for every machine (weak duality, and
# strong duality in the middle). My α is feasible: it lies in [0, 1] and |Σ αy| is zero up to
# rounding. So the optimum lies between my D and my P, and neither can be farther from it than their
# difference. Here D ≈ 18.520 and P is larger by about 0.002, so D(α) is within 0.002, or one part in
# 10,000, of the optimum. The KKT conditions say the same example by example: they are
# sufficient because the problem is convex, and all free examples have |E| of about the tolerance
# 10⁻³. Without feasibility the argument fails: an α outside the box can have a D above the optimum.

# %% [markdown] nbgrader={"grade": false, "grade_id": "twins-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Twins.** Now six of the free support vectors occur twice, and your program runs with two different
# generators. Look at the α of the twins, and at what is the same in both runs.

# %% nbgrader={"grade": false, "grade_id": "twins", "locked": true, "schema_version": 3, "solution": false, "task": false}
if check.passed("smo"):
    twins = np.flatnonzero((alpha > 0.05) & (alpha < 0.95))[:6]
    rows = np.concatenate((np.arange(60), twins))
    X_twins, y_twins = X_rings[rows], y_rings[rows]
    K_twins = gaussian_kernel(X_twins, X_twins, gamma=2.0)
    runs = [smo(K_twins, y_twins, 1.0, 1e-3, 100, np.random.default_rng(s), 5000) for s in (1, 2)]
    for number, (alpha, b) in enumerate(runs, 1):
        dual = certify(alpha, float(b), K_twins, y_twins, C=1.0).dual
        print(f"run {number}: D = {dual:.5f}, b = {float(b):.3f}, α of the twins:")
        print("   first ", np.round(alpha[twins], 3) + 0.0)
        print("   second", np.round(alpha[60:], 3) + 0.0)
        print("   sum   ", np.round(alpha[twins] + alpha[60:], 3) + 0.0)
    first, second = (K_twins @ (alpha * y_twins) + b for alpha, b in runs)
    print(f"largest difference of α: {np.abs(runs[0][0] - runs[1][0]).max():.3f}")
    print(f"largest difference of f: {np.abs(first - second).max():.1e}")
else:
    print("the figures appear once smo works")

# %% [markdown] nbgrader={"grade": false, "grade_id": "unique-question", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ### Answer in words: two right answers
#
# **Why may two correct programs return different α for the same data, and what must agree
# nevertheless?** Explain it with the twins, and say what follows for judging a program, yours too.
# (About five sentences.)
#
# *2 points: 1 for the reason why α is not unique (which changes of α leave D as it is), 1 for what
# agrees, and for how one should therefore compare two answers.*

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-unique", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# D depends on α only through Σ α_i and through the vector w = Σ α_i y_i φ(x_i). Twins have the same
# φ(x) and the same y, so shifting a bit of α from one to the other changes neither of them, nor Σ αy:
# as long as both stay in the box, every such α is just as optimal. In general this happens whenever
# the matrix of the y_i y_j K_ij is singular; then the dual is concave but not strictly so, and a
# program ends wherever its random partners led it. The primal ½‖w‖² + C Σ ξ is strictly convex in w,
# so w is unique, hence also D, P, Σ over twins of α, and f up to the choice of b (b itself is unique
# as soon as one example is free). So two answers are compared by D, the gap, the KKT conditions or
# by f, never by α entry for entry.

# %% [markdown] nbgrader={"grade": false, "grade_id": "end", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Hand in
#
# Restart the kernel and run all cells, then look at the table below. It shows the checks that you
# can see; a few more run after you have handed in, on other problems of the same kind. Outside of
# the notebook `autograder check hw2-smo.ipynb` prints the same table.

# %% nbgrader={"grade": false, "grade_id": "all-checks", "locked": true, "schema_version": 3, "solution": false, "task": false}
check()
