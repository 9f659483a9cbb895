"""The how-to page runs as it is printed: Matplotlib, Seaborn, Altair and Plotly draw dp_data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "any-plotting-library.md"


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run all blocks in one namespace, in a folder of their own."""
    import os

    import matplotlib as mpl

    folder = tmp_path_factory.mktemp("how-to")
    before, backend = Path.cwd(), mpl.get_backend()
    mpl.use("Agg")
    os.chdir(folder)
    names: dict[str, object] = {}
    try:
        for number, block in enumerate(blocks(), start=1):
            exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    finally:
        os.chdir(before)
        mpl.use(backend)
    return folder, names


def test_page_has_a_block_for_every_library_it_names():
    text = "\n".join(blocks())
    for word in ("matplotlib", "seaborn", "altair", "plot.to_html", "to_csv"):
        assert word in text


@pytest.mark.parametrize("name", ["ages-matplotlib.png", "ages-seaborn.png", "scores-altair.png"])
def test_pictures_are_real_and_not_blank(name, ran):
    import matplotlib.image as image

    pixels = image.imread(ran[0] / name)
    assert min(pixels.shape[:2]) > 300
    shades = pixels[..., :3].reshape(-1, 3)
    assert len(np.unique((shades * 15).astype(int), axis=0)) > 10
    assert 0.02 < np.mean(np.any(shades < 0.9, axis=1)) < 0.9


def test_plotly_page_and_file_are_written(ran):
    folder, _ = ran
    assert "No privacy guarantee" in (folder / "ages-plotly.html").read_text(encoding="utf-8")
    assert len((folder / "noisy.csv").read_text().splitlines()) == len(ran[1]["noisy"]) + 1


def test_what_is_drawn_is_noisy_and_never_the_original(ran):
    names = ran[1]
    noisy, reports = names["noisy"], names["reports"]
    assert (noisy["age"].to_numpy() != reports["age"].to_numpy()).mean() > 0.8
    assert set(noisy["PI-RADS score"]) <= {1, 2, 3, 4, 5}
    assert noisy.index.equals(reports.index)
    assert sorted(names["shuffled"].index) == sorted(noisy.index) and not names["shuffled"].index.equals(noisy.index)
    # Altair's file holds the counts, not the rows.
    stored = names["chart"].to_dict()["datasets"]
    assert all(len(rows) <= 10 for rows in stored.values())


def test_correction_of_the_flips_comes_near_the_truth(ran):
    names = ran[1]
    truth, n, flips = names["reports"]["bph"].sum(), len(names["reports"]), names["flips"]
    # Five standard deviations of the corrected count.
    assert abs(names["estimate"] - truth) < 5 * np.sqrt(n * flips * (1 - flips)) / (1 - 2 * flips)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", "numpy"])
def test_dp_data_of_every_kind_of_column_goes_straight_into_matplotlib_seaborn_and_altair(backend):
    import altair as alt
    import matplotlib as mpl
    import pandas as pd
    import seaborn as sns

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    import pydplib as dp

    data = dp.dp_calculate(dp.datasets.pirads(n=200, backend=backend)["age"], "mean", "high").dp_data
    figure, (left, right) = plt.subplots(1, 2)
    counts, _, _ = left.hist(np.asarray(data), bins=10)
    sns.histplot(x=np.asarray(data), bins=10, ax=right)
    assert counts.sum() == sum(bar.get_height() for bar in right.patches) == 200
    plt.close(figure)
    chart = alt.Chart(pd.DataFrame({"age": np.asarray(data)})).mark_tick().encode(x="age:Q")
    (rows,) = chart.to_dict()["datasets"].values()
    assert sorted(row["age"] for row in rows) == sorted(np.asarray(data).tolist())
