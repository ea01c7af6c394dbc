"""The loops of dual coordinate descent: one pass over the examples, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmlab._jit import jit


@jit()
def best_alpha(alpha: float, gradient: float, curvature: float, upper: float) -> float:
    r"""Return the αᵢ that maximises the dual when all others stay (C21).

    .. math:: \alpha_i \leftarrow \min(\max(\alpha_i - G_i / Q_{ii},\ 0),\ U_i)
        \tag{eq-dcd-step}

    A row of zeros has no curvature: its αᵢ goes to the bound that its gradient points to.
    """
    if curvature == 0.0:
        return upper if gradient < 0.0 else 0.0
    return min(max(alpha - gradient / curvature, 0.0), upper)


@jit()
def sweep_dense(
    X: Any, y: Any, upper: Any, ridge: Any, curvature: Any, order: Any, alpha: Any, w: Any
) -> None:
    """Visit the examples in the given order; update alpha and w in place."""
    for i in order:
        gradient = y[i] * np.sum(X[i] * w) - 1.0 + ridge[i] * alpha[i]
        new = best_alpha(alpha[i], gradient, curvature[i], upper[i])
        if new != alpha[i]:
            w += (new - alpha[i]) * y[i] * X[i]  # keeps w = Σ αyx (eq-weights)
            alpha[i] = new


@jit()
def sweep_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    y: Any,
    upper: Any,
    ridge: Any,
    curvature: Any,
    order: Any,
    alpha: Any,
    w: Any,
) -> None:
    """Do as :func:`sweep_dense` at the cost of the stored entries."""
    for i in order:
        f = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            f += data[k] * w[indices[k]]
        gradient = y[i] * f - 1.0 + ridge[i] * alpha[i]
        new = best_alpha(alpha[i], gradient, curvature[i], upper[i])
        if new != alpha[i]:
            step = (new - alpha[i]) * y[i]
            for k in range(indptr[i], indptr[i + 1]):
                w[indices[k]] += step * data[k]
            alpha[i] = new
