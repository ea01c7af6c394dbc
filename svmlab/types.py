"""The shapes of things: arrays, sparse rows, and what solvers return."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Entries: TypeAlias = NDArray[np.floating[Any]]  # float64 or float32
Columns: TypeAlias = NDArray[np.signedinteger[Any]]  # int64 or int32


class CSRLike(Protocol):
    """Anything with the three arrays of compressed sparse rows, such as scipy's ``csr_matrix``."""

    @property
    def data(self) -> Entries: ...  # noqa: D102
    @property
    def indices(self) -> NDArray[np.integer]: ...  # noqa: D102
    @property
    def indptr(self) -> NDArray[np.integer]: ...  # noqa: D102
    @property
    def shape(self) -> tuple[int, int]: ...  # noqa: D102


class CSR(NamedTuple):
    """Compressed sparse rows (M12).

    Row i holds ``data[k]`` in column ``indices[k]`` for k in ``indptr[i]:indptr[i + 1]``. Columns
    are int32 or int64, as the caller has them: large data are not copied. For the same reason some
    solvers also take float32, which they multiply and add up in float64.
    """

    data: Entries
    indices: Columns
    indptr: Indices
    shape: tuple[int, int]


Rows: TypeAlias = Matrix | CSR


class ConvergenceWarning(UserWarning):
    """A solver stopped at its limit of work; the message states the violation reached."""


# svmlab.estimators puts a subclass here that is scikit-learn's ConvergenceWarning too.
convergence_warning: type[ConvergenceWarning] = ConvergenceWarning


def warn_not_converged(solver: str, measure: str, reached: float, tol: float, advice: str) -> None:
    """Warn that ``solver`` stopped with ``measure`` at ``reached``, above ``tol``.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_not_converged("solve_dual", "KKT violation", 0.02, 1e-3, "raise max_iter")
    >>> print(caught[0].message)
    solve_dual did not converge: KKT violation 0.02 is above tol = 0.001; raise max_iter
    """
    warnings.warn(
        f"{solver} did not converge: {measure} {reached:.3g} is above tol = {tol:g}; {advice}",
        convergence_warning,
        stacklevel=3,
    )


@dataclass(frozen=True, kw_only=True)
class Result:
    """What every solver returns.

    Attributes
    ----------
    objective : float
        Value of the objective that the solver minimises, at the returned point.
    bound : float
        Certified lower bound on the optimum (a dual value); ``-inf`` where the method has none.
    violation : float
        What the stopping rule measured last, computed in float64.
    converged : bool
        Whether ``violation`` met the tolerance.
    n_iter : int
        Steps taken (passes, updates or rounds: the solver's docstring says which).
    history : dict of arrays
        Progress, one array a quantity; ``history["step"]`` counts steps where others are recorded.
    """

    objective: float
    bound: float = -np.inf
    violation: float = np.inf
    converged: bool
    n_iter: int
    history: dict[str, Vector] = field(default_factory=dict, repr=False)

    @property
    def gap(self) -> float:
        """Primal minus dual objective: how far from the optimum at most."""
        return self.objective - self.bound


@dataclass(frozen=True, kw_only=True)
class DualResult(Result):
    """A kernel machine f(x) = Σ αᵢ yᵢ K(xᵢ, x) + b.

    ``objective`` is the primal's, ``bound`` the dual's.
    """

    alpha: Vector
    b: float

    @property
    def support(self) -> Indices:
        """Indices of the support vectors, αᵢ > 0 (C14)."""
        return np.flatnonzero(self.alpha > 0.0)


@dataclass(frozen=True, kw_only=True)
class PrimalResult(Result):
    """A linear machine f(x) = w·x + b; ``alpha`` is there where the method works in the dual."""

    w: Vector
    b: float = 0.0
    alpha: Vector | None = None
