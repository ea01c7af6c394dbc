"""Kernel machines side by side: training to the same tolerance, prediction, both sides proved."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from compare import Timing, alternate, ratio, spread, verdict
from record import Progress, Row
from sets import KernelProblem, as_scipy, width
from sides import KERNEL, OURS, TOL, is_installed, kernel_machine
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from svmlab.certificates import box_violation, equality_violation
from svmlab.dual import intercept_interval, movable
from svmlab.loaders import load
from svmlab.types import Vector

PEERS = [side for side in KERNEL if side != OURS]
BLOCK_ENTRIES = 8_000_000  # 64 MB of kernel values at a time
AT_BOUND = 1e-9  # α this near to 0 or C, as a share of C, counts as being there
ROUNDING = 1e-6  # of the violation, which is computed here in another order than there
FEW_ROWS, FITS_OF_FEW = 2_000, 20  # fits of milliseconds: a run is so many, its time that of one
PREDICT_ROWS = (6_500, None)  # trained on: about 2,500 support vectors, and all


class Proof(NamedTuple):
    """What α proves, in float64: the violation, the dual value, how far it leaves its box."""

    violation: float
    dual: float
    infeasible: float
    n_support: int


def prove(machine: Any, X: Any, y: Vector, C: float, gamma: float) -> Proof:
    """Compute from the data and α alone how good a trained machine is (eq-violation, eq-dual).

    Nothing that a solver says of itself is used but ``support_`` and ``dual_coef_``; the kernel is
    scikit-learn's, in float64, a block of rows at a time.
    """
    coefficients = machine.dual_coef_
    coefficients = getattr(coefficients, "toarray", lambda: coefficients)().ravel()
    signed = np.zeros(y.size)
    signed[machine.support_] = coefficients
    f = decision(X, X[machine.support_], coefficients, gamma)
    alpha = signed * y
    snapped = np.where(alpha > C * (1.0 - AT_BOUND), C, np.where(alpha < C * AT_BOUND, 0.0, alpha))
    highest, lowest = intercept_interval(y - f, *movable(snapped, y, C))
    return Proof(
        violation=highest - lowest,
        dual=float(alpha.sum() - 0.5 * signed @ f),
        infeasible=max(box_violation(alpha, C), equality_violation(alpha, y)) / C,
        n_support=len(machine.support_),
    )


def decision(X: Any, support_vectors: Any, coefficients: Vector, gamma: float) -> Vector:
    """Return Σ αᵢyᵢ K(xᵢ, x) of each row in float64, block by block (eq-kernel-decision)."""
    Z = _dense(support_vectors)
    rows = max(1, BLOCK_ENTRIES // max(len(Z), 1))
    blocks = range(0, X.shape[0], rows)
    return np.concatenate(
        [rbf_kernel(_dense(X[k : k + rows]), Z, gamma=gamma) @ coefficients for k in blocks]
    )


def train(
    problem: KernelProblem, folder: Any, repeats: int, progress: Progress, n_jobs: int = 1
) -> list[Row]:
    """Return a row a peer: the same problem trained by us and by it.

    ``n_jobs`` threads are given to the sides that can use them.
    """
    X, y = problem.prepare(load(problem.data, folder))
    gamma = width(X, problem.gamma)

    calls = FITS_OF_FEW if X.shape[0] < FEW_ROWS else 1

    def fit(machine: Any, _: int) -> Any:
        return machine.fit(X, y)

    works = {
        side: partial(fit, kernel_machine(side, problem.C, gamma, n_jobs))
        for side in filter(is_installed, KERNEL)
    }
    with threadpool_limits(n_jobs):
        timings = alternate(works, repeats, progress.tell, calls)
    proofs = {}
    for side, timing in timings.items():
        progress.tell(f"{side}, proving")
        proofs[side] = prove(timing.answers[-1], X, y, problem.C, gamma)
    start = {
        "set": problem.name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "C": problem.C,
        "gamma": gamma,
        "threads": n_jobs,
        "fits a run": calls,
    }
    return [start | _beside(peer, problem.case, timings, proofs) for peer in PEERS]


def objection(proof: Proof) -> str:
    """Say what is wrong with our answer, if anything: then its time does not count."""
    if proof.violation > TOL * (1.0 + ROUNDING):
        return f"violation {proof.violation:.2g}"
    return f"infeasible by {proof.infeasible:.2g} C" if proof.infeasible > AT_BOUND else ""


def predict(train_rows: int | None, folder: Any, repeats: int, progress: Progress) -> list[Row]:
    """Return rows about predicting the test part of adult, each side with its own machine."""
    data = load("adult", folder)
    assert data.X_test is not None
    return predict_rows(
        as_scipy(data.X)[:train_rows],
        data.y[:train_rows],
        as_scipy(data.X_test),
        1.0 / 123.0,
        repeats,
        progress,
    )


def predict_rows(
    X: Any, y: Vector, X_test: Any, gamma: float, repeats: int, progress: Progress
) -> list[Row]:
    """Train every side on (X, y), then let them predict X_test in turn."""
    machines = {}
    for side in filter(is_installed, KERNEL):
        progress.tell(f"{side}, training")
        machines[side] = kernel_machine(side, 1.0, gamma).fit(X, y)

    def predict_all(machine: Any, _: int) -> Any:
        return machine.predict(X_test)

    works = {side: partial(predict_all, machine) for side, machine in machines.items()}
    timings = alternate(works, repeats, progress.tell)
    rows = []
    for peer in PEERS:
        row = {"rows": X_test.shape[0], "trained on": X.shape[0], "peer": peer}
        row |= _times(peer, timings)
        row["target"] = verdict(peer, "predict", row["ratio"]) or _absent(peer)
        same = timings[peer].answers[-1] == timings[OURS].answers[-1] if peer in timings else [0.0]
        row["svmlab SVs"] = len(machines[OURS].support_)
        row["peer SVs"] = len(machines[peer].support_) if peer in machines else None
        row["same predictions"] = float(np.mean(same)) if peer in timings else None
        rows.append(row)
    return rows


def show_training(row: Row) -> Row:
    """Return the columns of a printed table."""
    return {
        "set": row["set"],
        "n × d": f"{row['rows']:,} × {row['columns']}",
        "C": f"{row['C']:g}",
        "γ": f"{row['gamma']:.3g}",
        "svmlab s": spread(row, "svmlab"),
        "peer": row["peer"],
        "peer s": spread(row, "peer"),
        "ratio": row["ratio"],
        "target": row["target"],
        "true violation": _pair(row, "violation", ".1e"),
        "dual objective": _pair(row, "dual", ".9g"),
    }


def show_prediction(row: Row) -> Row:
    """Return the columns of a printed table."""
    return {
        "rows": row["rows"],
        "support vectors": _pair(row, "SVs", "d"),
        "svmlab s": spread(row, "svmlab"),
        "peer": row["peer"],
        "peer s": spread(row, "peer"),
        "ratio": row["ratio"],
        "target": row["target"],
        "same predictions": row["same predictions"],
    }


def _beside(peer: str, case: str, timings: dict[str, Timing], proofs: dict[str, Proof]) -> Row:
    row: Row = {"peer": peer} | _times(peer, timings)
    row["target"] = verdict(peer, case, row["ratio"], objection(proofs[OURS])) or _absent(peer)
    for side, name in ((OURS, OURS), (peer, "peer")):
        proof = proofs.get(side)
        row[f"{name} violation"] = proof.violation if proof else None
        row[f"{name} dual"] = proof.dual if proof else None
        row[f"{name} infeasible"] = proof.infeasible if proof else None
        row[f"{name} SVs"] = proof.n_support if proof else None
    return row


def _times(peer: str, timings: dict[str, Timing]) -> Row:
    row = timings[OURS].row(OURS)
    there = timings.get(peer)
    row |= there.row("peer") if there else dict.fromkeys(Timing([0.0], [0.0]).row("peer"))
    row["ratio"] = ratio(there, timings[OURS]) if there else None
    row["ratio of cpu"] = row["peer cpu s"] / row["svmlab cpu s"] if there else None
    return row


def _absent(peer: str) -> str:
    return "" if is_installed(peer) else "not installed (`make bench` installs it)"


def _pair(row: Row, name: str, form: str) -> str:
    """Return our figure and the peer's in one cell."""
    ours, theirs = row[f"svmlab {name}"], row[f"peer {name}"]
    return f"{ours:{form}} | " + ("–" if theirs is None else f"{theirs:{form}}")


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X
