"""Solve the lecture's worked example with every solver of the dual, and draw it."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from svmlab.decomposition import decomposition
from svmlab.dual import dual_objective
from svmlab.examples import WorkedExample, worked_example
from svmlab.qp import solve_dual_qp
from svmlab.smo import simplified_smo, solve_dual
from svmlab.types import Vector

C = 10.0  # the solution is the same for every C from 22/3 on


def answers(example: WorkedExample) -> dict[str, tuple[Vector, float]]:
    """Return α and b of each solver (C15)."""
    from svmlab.estimators import SVC

    K, y = example.K, example.y
    svc = SVC(C=C, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-9).fit(example.X, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    results = {
        "solve_dual": solve_dual(K, y, C, tol=1e-9),
        "decomposition": decomposition(K, y, C, tol=1e-9),
        "QP (Clarabel)": solve_dual_qp(K, y, C),
        "simplified_smo": simplified_smo(K, y, C),
    }
    found = {name: (result.alpha, result.b) for name, result in results.items()}
    return found | {"SVC": (alpha, float(svc.intercept_[0]))}


def table(example: WorkedExample) -> str:
    """Return the answers of all solvers beside the exact one (C15)."""
    exact = example.solution
    names = "".join(f"{f'α({x:g})':>10}" for x in example.X[:, 0])
    values = "".join(f"{a!s:>10}" for a in exact.alpha)
    lines = [f"{'':<16}{names}{'b':>11}{'(D* − D)/D*':>14}"]
    lines.append(f"{'exact':<16}{values}{exact.b!s:>11}{0:>14}")
    for name, (alpha, b) in answers(example).items():
        deficit = 1.0 - dual_objective(alpha, example.K, example.y) / float(exact.dual)
        values = "".join(f"{a:>10.5f}" for a in alpha)
        lines.append(f"{name:<16}{values}{b:>11.6f}{deficit:>14.0e}")
    return "\n".join(lines)


def draw(example: WorkedExample, path: Path) -> None:
    """Write the figure of the worked example (C15)."""
    from matplotlib.figure import Figure

    from svmlab.plotting import plot_worked_example, save_figure

    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    plot_worked_example(example, ax=figure.subplots())
    save_figure(figure, path)


def main() -> None:
    """Print the table and write the figure."""
    parser = argparse.ArgumentParser(prog="python -m svmlab", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the figure")
    out = parser.parse_args().out
    example = worked_example()
    a2, a1, a0 = example.polynomial
    print("The worked example of the lecture (C15): x = 1, 2, 4, 5, 6 with y = + + − − +,")
    print(f"kernel (xz + 1)², C = {C:g}. The exact solution f(z) = {a2} z² − {-a1} z + {a0}")
    print(f"is valid for every C ≥ {example.solution.smallest_C}.\n")
    print(table(example))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "worked-example.svg"
    draw(example, path)
    print(f"\nFigure: {path}")


if __name__ == "__main__":
    main()
