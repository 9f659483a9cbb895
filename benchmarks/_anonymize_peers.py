"""anjana and pycanon on the benchmark's table, in their own environment; prints one line of JSON.

python _anonymize_peers.py FOLDER anjana | pycanon
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

CHECKS = (
    "k_anonymity",
    "alpha_k_anonymity",
    "l_diversity",
    "entropy_l_diversity",
    "recursive_c_l_diversity",
    "basic_beta_likeness",
    "enhanced_beta_likeness",
    "t_closeness",
    "delta_disclosure",
)


def load(folder: Path) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    table = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    trees = {
        name: pd.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
        for name in table.columns
    }
    return table, trees


def granularity(released: pd.DataFrame, rows: int, trees: dict[str, pd.DataFrame]) -> float:
    """Return the granularity loss of a released table; rows that are gone count as fully lost."""
    total = float((rows - len(released)) * len(trees))
    for name, tree in trees.items():
        leaves = len(tree)
        covered: dict[str, int] = {}
        for level in tree.columns:
            for label, count in tree[level].value_counts().items():
                covered.setdefault(label, int(count))
        share = released[name].map(covered) / leaves
        total += float(((share - 1 / leaves) / (1 - 1 / leaves)).sum())
    return total / (rows * len(trees))


def run_anjana(folder: Path) -> dict[str, float]:
    from anjana.anonymity import k_anonymity

    table, trees = load(folder)
    levels = {name: {i: tree[i].to_numpy() for i in tree.columns} for name, tree in trees.items()}
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        released = k_anonymity(table.copy(), [], list(table.columns), 5, 2, levels)
    seconds = time.process_time() - start
    return {"seconds": seconds, "loss": granularity(released, len(table), trees)}


def run_pycanon(folder: Path) -> dict[str, float]:
    from pycanon import anonymity

    table, _ = load(folder)
    quasi = [name for name in table.columns if name != "salary-class"]
    start = time.process_time()
    for check in CHECKS:
        more = [] if check == "k_anonymity" else [["salary-class"]]
        getattr(anonymity, check)(table, quasi, *more)
    return {"seconds": time.process_time() - start}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place, which = Path(sys.argv[1]), sys.argv[2]
    print(json.dumps(run_anjana(place) if which == "anjana" else run_pycanon(place)))
