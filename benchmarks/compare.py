"""Side by side: the same work by several solvers in one process, in changing order."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from record import Row

Work = Callable[[int], Any]  # takes the number of the round, which serves as seed


@dataclass
class Timing:
    """What one side took: seconds of the clock and of the processor, and its answers."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def row(self, side: str) -> Row:
        """Return median and spread as columns of that side.

        >>> Timing(wall=[3.0, 1.0, 2.0], cpu=[1.0, 1.0, 1.0]).row("svmlab")["svmlab max s"]
        3.0
        """
        return {
            f"{side} s": median(self.wall),
            f"{side} min s": min(self.wall),
            f"{side} max s": max(self.wall),
            f"{side} cpu s": median(self.cpu),
        }


class Target(NamedTuple):
    """How many times as fast as the peer a case should be: at least, and better."""

    at_least: float
    aim: float

    def verdict(self, ratio: float, objection: str = "") -> str:
        """Say whether a ratio meets the target; an objection to our answer says no at once.

        >>> Target(15, 30).verdict(21.0), Target(15, 30).verdict(9.0)
        ('at least 15, aim 30: met', 'at least 15, aim 30: missed')
        >>> Target(1, 2).verdict(5.0, "violation 0.1")
        'at least 1, aim 2: missed (violation 0.1)'
        """
        wanted = f"at least {self.at_least:g}, aim {self.aim:g}"
        if objection:
            return f"{wanted}: missed ({objection})"
        if ratio >= self.aim:
            return f"{wanted}: aim met"
        return f"{wanted}: {'met' if ratio >= self.at_least else 'missed'}"


TARGETS = {
    ("scikit-learn", "adult"): Target(15, 30),
    ("scikit-learn", "ijcnn1"): Target(5, 10),
    ("scikit-learn", "small"): Target(2, 4),
    ("scikit-learn", "large C"): Target(1, 2),
    ("scikit-learn", "predict"): Target(10, 20),
    ("scikit-learn-intelex", "adult"): Target(1.5, 4),
    ("scikit-learn-intelex", "ijcnn1"): Target(1.5, 4),
    ("LinearSVC", "20news 0.001"): Target(1, 2),
    ("LinearSVC", "rcv1 0.001"): Target(3, 5),
    ("SGDClassifier", "20news 0.01"): Target(4, 7),
    ("SGDClassifier", "rcv1 0.01"): Target(1.3, 2.5),
    ("SGDClassifier", "rcv1 0.001"): Target(1.3, 2.5),
}


def verdict(peer: str, case: str, ratio: float | None, objection: str = "") -> str:
    """Return the target of a case beside what was measured; empty where there is none.

    >>> verdict("scikit-learn", "adult", 31.0)
    'at least 15, aim 30: aim met'
    """
    target = TARGETS.get((peer, case))
    return "" if target is None or ratio is None else target.verdict(ratio, objection)


def order_of_round(sides: Sequence[str], k: int) -> list[str]:
    """Return who runs first, second, … in round k: each side comes first equally often.

    >>> order_of_round(["a", "b"], 0), order_of_round(["a", "b"], 1)
    (['a', 'b'], ['b', 'a'])
    """
    first = k % len(sides)
    return [*sides[first:], *sides[:first]]


def alternate(
    works: Mapping[str, Work],
    repeats: int,
    tell: Callable[[str], None] = lambda what: None,
    calls: int = 1,
) -> dict[str, Timing]:
    """Run each work once untimed, then ``repeats`` times in changing order, and time these.

    The untimed run compiles and fills caches of the processor and the allocator for every side.
    Short work is called several times a run; its time is that of one call.
    """
    for name, work in works.items():
        tell(f"{name}, warming up")
        work(0)
    timings = {name: Timing() for name in works}
    for k in range(repeats):
        for name in order_of_round(list(works), k):
            tell(f"{name}, run {k + 1} of {repeats}")
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                answer = works[name](k)
            timings[name].wall.append((time.perf_counter() - wall) / calls)
            timings[name].cpu.append((time.process_time() - cpu) / calls)
            timings[name].answers.append(answer)
    return timings


def ratio(peer: Timing, ours: Timing) -> float:
    """Return how many times as long as ours the peer took, by the medians.

    >>> ratio(Timing(wall=[8.0, 4.0, 6.0]), Timing(wall=[2.0, 1.0, 9.0]))
    3.0
    """
    return median(peer.wall) / median(ours.wall)


def spread(row: Row, side: str) -> str:
    """Return median and range of a side for a table.

    >>> spread({"peer s": 1.5, "peer min s": 1.25, "peer max s": 2.0}, "peer")
    '1.5 (1.25…2)'
    """
    if row.get(f"{side} s") is None:
        return "–"
    return f"{row[f'{side} s']:.3g} ({row[f'{side} min s']:.3g}…{row[f'{side} max s']:.3g})"
