"""Figures 2 to 5 against the paper's captions: picture, axes, what gets noise, parameters, levels, and its claims."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pydplib as dp
from pydplib.datasets import pirads, pirads_schema
from pydplib.errors import ParameterError
from pydplib.noise.testing import record, seeded
from pydplib.plot.catalogue import FORMS, figure_entries
from pydplib.plot.recipes import paper
from pydplib.plot.recipes.paper import paper_figure
from pydplib.plot.recipes.sound import draw_sound_figures, sound_figure

ALL_LEVELS = ("low", "medium", "high")
KINDS = ("chr", "y", "n", "acute", "acute on chronic")


@dataclass(frozen=True)
class Caption:
    """What the paper's caption and text say about a figure."""

    picture: str
    x: str
    y: str
    noised: str
    query_type: int
    data_type: str
    levels: tuple[str, ...] = ALL_LEVELS
    is_range: bool = True


CAPTIONS = {
    "2": Caption("histograms", "age", "reports", "counts", 1, "int"),
    "3": Caption("points", "average age", "PI-RADS score", "ages", 2, "float"),
    "4": Caption("box plot", "prostatitis", "median age", "prostatitis", 3, "int"),
    "4-noised-ages": Caption("box plot", "prostatitis", "median age", "ages", 3, "float"),
    "5": Caption("histogram", "age", "reports", "ages", 1, "float", ("high",)),
    "5-from-counts": Caption("histogram", "age", "reports", "counts", 1, "int", ("high",)),
}
TRACES = {"2": "bar", "3": "scatter", "4": "box", "4-noised-ages": "box", "5": "bar", "5-from-counts": "bar"}
AXES = {
    "2": ("age in years", "reports"),
    "3": ("average age in years", ""),
    "4": ("prostatitis", "age in years"),
    "5": ("age in years", "reports"),
}
QUERIES = {1: "count", 2: "mean", 3: "median"}


@pytest.fixture(scope="module")
def cohort() -> Any:
    return pirads(backend="numpy")


@pytest.fixture(scope="module")
def scored(cohort: Any) -> tuple[np.ndarray, np.ndarray]:
    known = ~np.isnan(cohort["pirads"].astype(float))
    return cohort["age"][known].astype(float), cohort["pirads"][known].astype(int)


@pytest.fixture(scope="module")
def sound(cohort: Any) -> Any:
    return draw_sound_figures(cohort, ["2", "3", "4", "5"], epsilon=1.0)


def what_gets_noise(name: str, cohort: Any, scored: Any) -> np.ndarray:
    """Return the exact values that must reach the noise, and nothing else."""
    ages, scores = scored
    if name == "2":
        years = np.floor(ages).astype(int)
        table = np.zeros((years.max() - years.min() + 1, 5), dtype=int)
        np.add.at(table, (years - years.min(), scores - 1), 1)
        return table.ravel()
    if name == "3":
        return ages
    if name == "4":
        return np.array([KINDS.index(kind) for kind in cohort["prostatitis"]])
    if name == "5-from-counts":
        return np.histogram(cohort["age"].astype(float), np.arange(18, 103, 2))[0]
    return cohort["age"].astype(float)


@pytest.mark.parametrize("name", CAPTIONS)
def test_paper_form_noises_what_the_caption_says_with_its_parameters(name, cohort, scored, monkeypatch):
    caption, calls = CAPTIONS[name], []
    for function in ("dp_calculate", "dp_calculate_levels"):
        real = getattr(paper, function)

        def spy(values: Any, query: Any, *args: Any, _real: Any = real, **options: Any) -> Any:
            calls.append((np.asarray(values), query, options))
            return _real(values, query, *args, **options)

        monkeypatch.setattr(paper, function, spy)
    with record() as trace:
        drawn = paper_figure(name, cohort)
    ((values, query, options),) = calls  # one column gets noise, in one draw
    assert np.array_equal(values, what_gets_noise(name, cohort, scored))
    assert (query, options["is_range"], options["data_type"]) == (caption.query_type, True, caption.data_type)
    assert tuple(drawn.results) == caption.levels
    for (result,) in drawn.results.values():
        assert result.query_type == QUERIES[caption.query_type] and result.data_type.endswith(caption.data_type)
        assert result.size == values.size and type(result.guarantee).__name__ == "NoGuarantee"
    # Scales are found with noise on zeros; besides these, only the column itself meets noise.
    assert all(passed.exact.size == values.size for passed in trace.passed if passed.exact.any())


@pytest.mark.parametrize("name", CAPTIONS)
def test_paper_form_has_the_picture_axes_and_levels_of_the_caption(name, cohort):
    caption, drawn = CAPTIONS[name], paper_figure(name, cohort)
    figure = drawn.figure
    assert {trace.type for trace in figure.data} == {TRACES[name]}
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text or "") == AXES[name[0]]
    panels = 1 if name == "3" else len(caption.levels)  # dots of all levels lie in one panel
    assert len({trace.xaxis or "x" for trace in figure.data}) == panels
    heads = [str(row[0]) for row in drawn.table.rows] if name != "3" else list(drawn.table.columns[1:])
    assert tuple(dict.fromkeys(heads)) == caption.levels
    words, several = figure.words[1], len(caption.levels) > 1
    assert ("in this draw" in words) == several == drawn.owner_only, "the drawn share is for the owner"
    for level, (result, *_) in drawn.results.items():
        expected, here = f"{result.noise_percent:.2g}", f"{result.drawn_percent:.2g}"
        if several:  # next to the picture, so that nobody has to look for it in the caption
            titles = (
                [trace.name for trace in figure.data] if name == "3" else [n.text for n in figure.layout.annotations]
            )
            text = " ".join(titles)
            assert f"{level.capitalize()} noise" in text and f"about {expected} %, here {here} %" in text
            assert "on average over many draws" in words
        else:
            assert f"Noise: about {expected} % on average." in words
    assert ("Eq. 4" in words and "follows the most extreme noisy value" in words) == (name != "4")
    assert "No privacy guarantee" in words
    assert len(words) < 680, "a caption that is read"


@pytest.mark.parametrize("name", ["2", "3", "4", "5"])
def test_original_form_shows_the_cohort_as_it_is_without_noise(name, cohort, scored):
    with record() as trace:
        drawn = paper_figure(name, cohort, form="original")
    assert not trace.passed and drawn.owner_only and not drawn.results
    assert "for the data owner only" in drawn.figure.words[1]
    figure, (ages, scores) = drawn.figure, scored
    assert {trace.type for trace in figure.data} == {TRACES[name]}
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text or "") == AXES[name]
    if name == "2":
        assert [trace.name for trace in figure.data] == [f"PI-RADS {score}" for score in range(1, 6)]
        assert [sum(trace.y) for trace in figure.data] == [np.sum(scores == score) for score in range(1, 6)]
        assert figure.layout.barmode == "stack"
    elif name == "3":
        assert figure.data[0].x == pytest.approx([ages[scores == score].mean() for score in range(1, 6)])
    elif name == "4":
        whole = cohort["age"].astype(float)
        expected = [np.median(whole[cohort["prostatitis"] == kind]) for kind in KINDS]
        assert list(figure.data[0].median) == expected
    else:
        assert sum(figure.data[0].y) == cohort["age"].size


@pytest.mark.parametrize("name", ["2", "3", "4", "5"])
def test_sound_form_comes_from_one_private_table(name, cohort, sound):
    (question,) = sound_figure(name).ask(pirads_schema())
    fields = {"2": {"age", "pirads"}, "3": {"age", "pirads"}, "4": {"age", "prostatitis"}, "5": {"age"}}[name]
    assert question.fields == fields and type(question).__name__ == ("Histogram" if name == "5" else "Crosstab")
    with record() as trace:
        draw_sound_figures(cohort, [name], epsilon=1.0)
    (passed,) = trace.passed
    cells = 8 * {"2": 6, "3": 6, "4": 6, "5": 1}[name]
    assert passed.exact.size == cells, "a table of counts, and nothing else, meets noise"
    figure = sound[name].figure
    words = figure.words[1]
    assert "Differentially private with epsilon 1" in words and "Cost: epsilon 1." in words and "owner" not in words
    assert {trace.type for trace in figure.data} == {TRACES[name]}
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text or "") == AXES[name]
    if name == "2":
        titles = [note.text for note in figure.layout.annotations]
        assert titles == [f"PI-RADS {score}" for score in range(1, 6)]
    if name in ("2", "5"):
        assert all(trace.error_y.array is not None for trace in figure.data)
    if name == "3":
        assert figure.data[0].error_x.array is not None


@pytest.mark.parametrize("name", [name for name in CAPTIONS if name != "3"])
def test_titles_of_panels_fit_a_phone(name, cohort):
    narrow = (paper_figure(name, cohort).figure.layout.meta.get("narrow") or {}).get("annotations", ())
    assert len(narrow) == 2 * len(CAPTIONS[name].levels) or len(CAPTIONS[name].levels) == 1
    # 390 pixels without the card's and the axis' margins, at 8 pixels a letter.
    assert all(len(title["text"]) * 8 <= 270 for title in narrow)


def test_figure_3_is_wide_enough_for_its_error_bars():
    figure = paper.average_dots({"released": [71.0, 60, 65, 66, np.nan]}, {"released": [9.0, 8, 1, 1, np.nan]})
    low, high = figure.layout.xaxis.range
    assert low <= 52 and 80 <= high <= 100
    wild = paper.average_dots({"released": [71.0] * 5}, {"released": [90.0] * 5}).layout.xaxis.range
    assert tuple(wild) == (18, 100), "no wider than ages are"


def test_figures_2_and_3_share_one_table():
    asked = [sound_figure(name).ask(pirads_schema()) for name in ("2", "3")]
    assert asked[0] == asked[1]


def test_list_of_figures_is_the_table_of_captions():
    keys = {"number", "form", "picture", "x", "y", "noised", "query_type", "data_type", "is_range", "levels"}
    entries = figure_entries()
    assert all(keys <= set(entry) for entry in entries)
    assert json.loads(json.dumps(entries)) == entries
    for name, caption in CAPTIONS.items():
        found = {entry["form"]: entry for entry in entries if entry["name"] == name}
        assert tuple(found) == (FORMS if name.isdigit() else ("paper",))
        for form, entry in found.items():
            shown = (entry["picture"], entry["x"], entry["y"], entry["query_type"], entry["data_type"])
            assert shown == (caption.picture, caption.x, caption.y, caption.query_type, caption.data_type)
            assert entry["is_range"] is caption.is_range and entry["number"] == int(name[0])
            assert entry["noised"] == {"original": None, "paper": caption.noised, "sound": "table of counts"}[form]
            assert entry["levels"] == (list(caption.levels) if form == "paper" else [])
    assert all(entry["number"] is None for entry in entries if entry["name"] not in CAPTIONS)


def test_the_papers_claims_about_ages_and_scores_hold_for_the_original(cohort, scored):
    ages, scores = scored
    assert np.mean((ages >= 50) & (ages <= 80)) > 0.9, "most reports at 50 to 80"
    decades = {start: scores[(ages >= start) & (ages < start + 10)] for start in (50, 60, 70)}
    assert max(decades, key=lambda start: np.sum(decades[start] >= 4)) == 60, "the highest scores at 60 to 70"
    means = paper_figure("3", cohort, form="original").figure.data[0].x
    assert all(60 < mean < 70 for mean in means)
    rows = paper_figure("2", cohort, form="original").table.rows
    by_year = {row[1]: row[-1] for row in rows}
    assert 60 <= max(by_year, key=by_year.get) < 70


@pytest.fixture(scope="module")
def hundred(cohort: Any) -> dict[str, list[Any]]:
    """A hundred draws of the figures with three panels; seeded, so that the counts below are always the same."""
    found: dict[str, list[Any]] = {}
    for name in ("2", "3", "4", "4-noised-ages"):
        with seeded(100):
            found[name] = [paper_figure(name, cohort) for _ in range(100)]
    return found


def ordered(figures: list[Any]) -> int:
    shares = [[figure.results[level][0].drawn_percent for level in ALL_LEVELS] for figure in figures]
    return sum(low < medium < high for low, medium, high in shares)


@pytest.mark.slow
def test_drawn_shares_of_three_panels_are_ordered(hundred):
    assert ordered(hundred["2"]) == 100
    assert ordered(hundred["4"]) == 100
    assert ordered(hundred["3"]) >= 90
    assert ordered(hundred["4-noised-ages"]) >= 90


@pytest.mark.slow
def test_average_ages_stay_between_60_and_70_as_often_as_the_paper_says(hundred):
    def inside(level: str) -> int:
        place = 1 + ALL_LEVELS.index(level)
        return sum(all(60 <= row[place].value <= 70 for row in drawn.table.rows) for drawn in hundred["3"])

    assert inside("low") == 100
    assert inside("medium") >= 70 and inside("high") >= 70


@pytest.mark.slow
def test_shape_of_figure_2_survives_every_level(hundred, cohort):
    exact = paper_figure("2", cohort, form="original").table.rows
    true = np.array([row[-1] for row in exact], dtype=float)
    for drawn in hundred["2"]:
        for level in ALL_LEVELS:
            noisy = np.array([row[-1] for row in drawn.table.rows if row[0] == level], dtype=float)
            assert np.corrcoef(true, noisy)[0, 1] > 0.8, level


def test_a_partner_gets_one_level_no_private_axis_and_no_drawn_share(cohort):
    for name in CAPTIONS:
        drawn = paper_figure(name, cohort, levels=["high"])
        words = drawn.figure.words[1]
        assert not drawn.owner_only and "owner" not in words and "in this draw" not in words
        assert words.count("No privacy guarantee") == 1, "two noisy columns, one sentence"
        text = json.dumps(drawn.figure.to_plotly_json(), default=str)
        assert "here " not in text and "riginal" not in text
    # An exact age next to a noisy finding would be an exact age.
    assert len(paper_figure("4", cohort, levels=["high"]).results["high"]) == 2
    years = [row[1] for row in paper_figure("2", cohort, levels=["high"]).table.rows]
    assert (years[0], years[-1]) == (18, 100), "public bounds, not the youngest and the oldest patient"


def test_an_absent_finding_moves_no_other(cohort):
    keep = cohort["prostatitis"] != "acute on chronic"
    some = {"age": cohort["age"][keep], "prostatitis": cohort["prostatitis"][keep]}
    for _ in range(5):
        drawn = paper_figure("4", some)
        (low,) = drawn.results["low"]
        codes = np.array([KINDS.index(kind) for kind in some["prostatitis"]])
        assert np.mean(np.asarray(low.dp_data) != codes) < 0.10


def test_a_form_that_a_figure_lacks_is_refused(cohort):
    with pytest.raises(ParameterError, match="has no form"):
        paper_figure("4-noised-ages", cohort, form="original")
    with pytest.raises(ParameterError, match="has no form"):
        paper_figure("2", cohort, form="sound")


def test_sound_figure_4_says_which_findings_noise_could_have_made():
    with dp.load(pirads(), pirads_schema()) as table, seeded(3):
        session = dp.Session(table, recipient="x", budget=dp.PureDP(9.0), ledger=dp.MemoryLedger())
        release = session.release(sound_figure("4").ask(table.schema)[0], epsilon=0.25)
    drawn = sound_figure("4").draw([release], None)
    assert "noise alone could have made them" in drawn.figure.words[1]
    named = drawn.figure.words[1].split("could have made them: ")[1].split(".")[0].split(", ")
    faint = {label for trace in drawn.figure.data if trace.opacity is not None for label in trace.x}
    strong = {label for trace in drawn.figure.data if trace.opacity is None for label in trace.x}
    assert faint <= set(named) and not strong & set(named) and "none" in strong
    assert sum("may be noise" in text for text in drawn.figure.layout.xaxis.ticktext) == len(faint)
