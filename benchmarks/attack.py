"""How much faster the vectorised attacks, audit and experiment are than the same work in a plain Python loop.

One ratio per line, in the same run:

- reconstruction: 4 n counts over random groups of n people, solved for every secret bit; the loop sums and solves
  (conjugate gradients on the same equations) number by number;
- audit: every mechanism and one-line release of the library; the loop calls the release once per output, on fewer
  outputs, and is compared by the time per output;
- experiment: the second paper's three methods at n records and k repetitions; the loop draws record by record.

    python benchmarks/attack.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from _lines import Line, finish
from pydplib.attack import ExactAnswers, audit, reconstruction, subjects
from pydplib.attack.audits.audit import DRAWS
from pydplib.attack.audits.neighbours import mechanism_neighbours
from pydplib.attack.audits.protocols import plain_output
from pydplib.experiments.inference import METHODS, Theory, noisy_means


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def line(what: str, ours: float, loop: float, check: str) -> Line:
    return Line(f"{what}, times faster than a loop", ours, loop, "s", loop / ours, note=check)


# -- reconstruction ----------------------------------------------------------------------------------------


def loop_reconstruction(secrets: list[int], questions: int, seed: int) -> float:
    """Return the share of secrets found by plain Python: sums, then conjugate gradients on the normal equations."""
    dice = random.Random(seed)
    people = len(secrets)
    groups = [[i for i in range(people) if dice.random() < 0.5] for _ in range(questions)]
    answers = [sum(secrets[i] for i in group) for group in groups]

    def back(residual: list[float]) -> list[float]:
        out = [0.0] * people
        for group, value in zip(groups, residual, strict=True):
            for i in group:
                out[i] += value
        return out

    guess = [0.5] * people
    residual = [answer - 0.5 * len(group) for group, answer in zip(groups, answers, strict=True)]
    gradient = back(residual)
    direction = gradient[:]
    size = sum(value * value for value in gradient)
    for _ in range(40):
        moved = [sum(direction[i] for i in group) for group in groups]
        step = size / sum(value * value for value in moved)
        guess = [value + step * towards for value, towards in zip(guess, direction, strict=True)]
        residual = [value - step * change for value, change in zip(residual, moved, strict=True)]
        gradient = back(residual)
        before, size = size, sum(value * value for value in gradient)
        if size < 1e-6:
            break
        direction = [value + size / before * old for value, old in zip(gradient, direction, strict=True)]
    return sum((value > 0.5) == bool(bit) for value, bit in zip(guess, secrets, strict=True)) / people


def measure_reconstruction(people: int) -> Line:
    secrets = np.random.default_rng(1).random(people) < 0.5
    ours, result = timed(lambda: reconstruction(ExactAnswers(), secrets, seed=1))
    loop, found = timed(lambda: loop_reconstruction(secrets.astype(int).tolist(), 4 * people, 1))
    check = f"{result.success:.0%} of the bits found, by the loop {found:.0%}"
    return line(f"reconstruction of {people:,} bits", ours, loop, check)


# -- audit -------------------------------------------------------------------------------------------------


def measure_audit(draws: int, loop_draws: int) -> Line:
    everything = subjects(1.0)

    def fast() -> list[float]:
        return [
            audit(one.mechanism, one.claim, neighbours=one.neighbours, draws=draws, seed=1).tightness
            for one in everything
        ]

    def slow() -> None:
        for one in everything:
            pair = (list(one.neighbours()) if one.neighbours else mechanism_neighbours(one.mechanism))[0]
            for data in (pair.first, pair.second):
                release = getattr(one.mechanism, "release", None) or (lambda x, m=one.mechanism: m.sample(x, 1))
                for _ in range(loop_draws):
                    plain_output(release(data))

    ours, tightness = timed(fast)
    loop, _ = timed(slow)
    tight = [share for share, one in zip(tightness, everything, strict=True) if one.tight]
    check = f"tight ones certified to at least {min(tight):.0%} of epsilon"
    return line(f"audit of {len(everything)} mechanisms", ours, loop * draws / loop_draws, check)


# -- experiment --------------------------------------------------------------------------------------------


def loop_experiment(values: list[float], repetitions: int) -> dict[str, float]:
    """Return the mean squared errors of the three methods, record by record, in plain Python."""
    dice = random.Random(1)
    truth = sum(values) / len(values)
    scale = 40 / len(values)
    errors = dict.fromkeys(METHODS, 0.0)
    for _ in range(repetitions):
        uniform = sum(value + dice.uniform(-1, 1) for value in values) / len(values)
        gaussian = sum(value + dice.gauss(0, 1) for value in values) / len(values)
        laplace = sum(values) / len(values) + dice.expovariate(1 / scale) * dice.choice((-1, 1))
        for method, noisy in zip(METHODS, (uniform, gaussian, laplace), strict=True):
            errors[method] += (noisy - truth) ** 2 / repetitions
    return errors


def measure_experiment(n: int, repetitions: int) -> Line:
    rng = np.random.default_rng(1)
    values = rng.uniform(5, 45, n)

    def fast() -> dict[str, float]:
        return {
            method: float(
                np.mean(
                    (noisy_means(method, values, epsilon=1.0, repetitions=repetitions, rng=rng) - values.mean()) ** 2
                )
            )
            for method in METHODS
        }

    fast()  # so that no import is timed
    ours, errors = timed(fast)
    loop, _ = timed(lambda: loop_experiment(values.tolist(), repetitions))
    far = max(
        abs(errors[method] - theory.mse) / theory.standard_error
        for method in METHODS
        for theory in [Theory.of(method, n=n, epsilon=1.0, repetitions=repetitions)]
    )
    return line(
        f"experiment, n = {n:,}, k = {repetitions}", ours, loop, f"at most {far:.1f} standard errors from theory"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    quick = options.quick
    reconstruction(ExactAnswers(), [True, False] * 5)  # so that no import is timed
    lines = []
    for work in (
        lambda: measure_reconstruction(60 if quick else 1_000),
        lambda: measure_audit(500 if quick else DRAWS, 5 if quick else 200),
        lambda: measure_experiment(500 if quick else 100_000, 5 if quick else 50),
    ):
        lines.append(work())
        print(lines[-1].text(judged=not quick), flush=True)
    return finish("attack", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
