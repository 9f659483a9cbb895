"""Anonymize a made-up table in memory and print how much memory that took at its highest: one line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import pandas as pd

from pydplib.anonymity import Hierarchy, KAnonymity, anonymize

SHAPES = {"age": (100, 4), "week": (50, 3), "ward": (40, 3), "zip": (1000, 5), "sex": (2, 2)}


def main(rows: int) -> None:
    rng = np.random.default_rng(1)
    columns = {}
    for name, (size, _) in SHAPES.items():
        share = 1 / np.arange(1, size + 1)
        columns[name] = rng.choice(size, rows, p=share / share.sum())
    table = pd.DataFrame(columns)
    del columns
    trees = {name: Hierarchy.order(list(range(size)), group=group) for name, (size, group) in SHAPES.items()}
    began = time.process_time()
    result = anonymize(table, trees, models=[KAnonymity(5)], suppression=0.02)
    assert result.certificate.holds
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"memory_gb": memory, "cpu": time.process_time() - began, "loss": result.loss.granularity}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
