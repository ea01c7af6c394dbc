"""The loops of the joint multiclass problem: one pass over the examples, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmlab._jit import jit


@jit()
def best_row(scores: Any, row: Any, code: int, curvature: float, cost: float, new: Any) -> None:
    r"""Write to ``new`` the multipliers of one example that are best when all others stay (S7).

    .. math::
        a_c &= C\,[c = y] - \frac{\max(0,\ u_c - \psi)}{\|x\|^2},\\
        u_c &= f_c(x) + [c \ne y] + \|x\|^2 (C\,[c = y] - a_c^{\text{old}}),\\
        \sum_c \max(0,\ u_c - \psi) &= C \|x\|^2  \tag{eq-multiclass-step}

    ψ is first taken over all u, then over those above it, until these stay the same: it only
    rises, so that k rounds are enough. The row must not be zero.
    """
    k = len(scores)
    for c in range(k):
        new[c] = scores[c] + 1.0 - curvature * row[c]  # holds u until ψ is known
    new[code] += curvature * cost - 1.0
    before, psi = 0, -np.inf
    for _ in range(k + 1):  # more rounds than that only chase rounding errors
        total, count = -curvature * cost, 0
        for c in range(k):
            if new[c] >= psi:
                total += new[c]
                count += 1
        if count == before or count == 0:
            break
        before, psi = count, total / count
    for c in range(k):
        new[c] = -max(0.0, new[c] - psi) / curvature
    new[code] += cost


@jit()
def sweep_dense(
    X: Any, codes: Any, costs: Any, curvatures: Any, order: Any, coef: Any, W: Any
) -> None:
    """Visit the examples in the given order; coef (n, k) and W (k, d) change in place."""
    k = len(W)
    scores, new = np.zeros(k), np.zeros(k)
    for i in order:
        for c in range(k):
            scores[c] = np.sum(W[c] * X[i])
        best_row(scores, coef[i], codes[i], curvatures[i], costs[i], new)
        for c in range(k):
            if new[c] != coef[i, c]:
                W[c] += (new[c] - coef[i, c]) * X[i]  # keeps eq-multiclass-weights
                coef[i, c] = new[c]


@jit()
def sweep_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    codes: Any,
    costs: Any,
    curvatures: Any,
    order: Any,
    coef: Any,
    W: Any,
) -> None:
    """Do as :func:`sweep_dense` at the cost of the stored entries."""
    k = len(W)
    scores, new = np.zeros(k), np.zeros(k)
    for i in order:
        start, end = indptr[i], indptr[i + 1]
        for c in range(k):
            scores[c] = 0.0
            for p in range(start, end):
                scores[c] += data[p] * W[c, indices[p]]
        best_row(scores, coef[i], codes[i], curvatures[i], costs[i], new)
        for c in range(k):
            move = new[c] - coef[i, c]
            if move != 0.0:
                for p in range(start, end):
                    W[c, indices[p]] += move * data[p]
                coef[i, c] = new[c]
