"""Rules of synthetic tables: nobody is dropped, one person moves one cell, and no row breaks a rule."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pydplib as dp
from pydplib.capture import Condition, Evaluator, Option, Question, Template, builtin, to_schema
from pydplib.engine import Bins
from pydplib.noise.testing import SeededSource
from pydplib.synthesis.counters import EngineCounter
from pydplib.synthesis.domain import variables_of
from pydplib.synthesis.draws import draw_codes, whole_weights
from pydplib.synthesis.model import NoisyTable, fit_model
from pydplib.synthesis.posterior import draw_model
from pydplib.synthesis.purchase import bound_of
from pydplib.synthesis.rules import (
    CellRule,
    cell_rules,
    edges_of,
    keep_codes,
    keep_rules,
    possible_cells,
    with_deciding,
    with_edges,
)

SCHEMA = dp.Schema(
    {
        "tumour": dp.Flag(),
        "gleason": dp.Category([6, 7, 8]),
        "grade": dp.Category([1, 2]),
        "id": dp.Text(label="identifier"),
    },
    person="id",
    max_rows_per_person=1,
    name="made",
)
NO_TUMOUR = dp.synthesis.Impossible("gleason", when={"tumour": [False, None]})
LOW_GRADE = dp.synthesis.Impossible("grade", when={"gleason": [6, None]}, values=[2])
RULES = [NO_TUMOUR, LOW_GRADE]
VARIABLES = variables_of(SCHEMA, None)
CELLS, _ = cell_rules(RULES, VARIABLES)
SHAPE = tuple(variable.size for variable in VARIABLES)
EVERYBODY = list(itertools.product([True, False, None], [6, 7, 8, None], [1, 2, None]))
TABLES = [c for k in (1, 2, 3) for c in itertools.combinations(range(3), k)]


def frame(people: list[tuple]) -> pd.DataFrame:
    found = pd.DataFrame(people, columns=["tumour", "gleason", "grade"])
    found["tumour"] = found["tumour"].astype("boolean")
    return found.assign(id=[f"p{i}" for i in range(len(found))])


def counts(people: list[tuple]) -> dict[tuple[int, ...], np.ndarray]:
    with dp.load(frame(people), SCHEMA) as table:
        counter = EngineCounter(table, VARIABLES, bound_of(SCHEMA, "persons", VARIABLES), CELLS)
        counter.prepare(TABLES)
        return {columns: counter.counts(columns) for columns in TABLES}


def breaks(tumour: object, gleason: object, grade: object) -> bool:
    no_tumour = tumour is not True and gleason is not None
    return no_tumour or (grade == 2 and gleason in (6, None))


def test_every_person_has_one_cell_of_every_table_and_counts_as_the_row_that_keeps_the_rules():
    """Brute force: each of all 36 possible persons, added to a table, moves every table of counts by one."""
    others = EVERYBODY[::5]
    before = counts(others)
    for person in EVERYBODY:
        after = counts([*others, person])
        pairs = zip(VARIABLES, person, strict=True)
        codes = np.array([[v.cells.index(own) if own is not None else v.size - 1] for v, own in pairs])
        kept = keep_codes(codes, CELLS)[:, 0]
        for columns in TABLES:
            moved = after[columns] - before[columns]
            assert np.abs(moved).sum() == 1 and moved[tuple(kept[c] for c in columns)] == 1
        assert (kept != codes[:, 0]).any() == breaks(*person)


def test_tables_with_rules_agree_in_their_totals_and_their_shared_columns():
    found = counts(EVERYBODY * 3)
    for columns in TABLES:
        assert found[columns].sum() == 3 * len(EVERYBODY)
        for place, column in enumerate(columns):
            others = tuple(axis for axis in range(len(columns)) if axis != place)
            assert (found[columns].sum(axis=others) == found[(column,)]).all()
    assert all((found[rule.columns][rule.possible == 0] == 0).all() for rule in CELLS)


@settings(max_examples=50)
@given(data=st.data())
def test_moving_people_is_a_function_of_each_row(data):
    shape = data.draw(st.tuples(*[st.integers(2, 4)] * 3))
    bits = st.lists(st.booleans(), min_size=64, max_size=64)
    rules = []
    for target, drivers in ((1, (0,)), (2, (0, 1))):
        columns = tuple(sorted((target, *drivers)))
        sizes = [shape[c] for c in columns]
        possible = np.array(data.draw(bits)[: int(np.prod(sizes))], dtype=float).reshape(sizes)
        np.moveaxis(possible, columns.index(target), -1)[..., -1] = 1
        rules.append(CellRule(target, drivers, possible))
    for cell in itertools.product(*map(range, shape)):
        alone = np.zeros(shape, dtype=np.int64)
        alone[cell] = 1
        moved = keep_rules(alone, (0, 1, 2), rules)
        assert moved.sum() == 1 and moved.min() == 0
        assert moved[tuple(keep_codes(np.array(cell)[:, None], rules)[:, 0])] == 1
    # Rows that are drawn keep every rule, also where the noise says otherwise.
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))
    noisy = [NoisyTable((c,), generator.normal(20, 30, shape[c]), 900.0) for c in range(3)]
    pairs = [NoisyTable((0, 2), generator.normal(10, 30, (shape[0], shape[2])), 900.0)]
    possible = possible_cells(rules)
    fitted = fit_model(shape, [*noisy, *pairs], 60.0, possible=possible, iterations=20)
    drawn = draw_model(shape, noisy, pairs, pure=False, possible=possible, source=SeededSource(3))
    for model in (fitted, drawn):
        codes = draw_codes(model.tree, whole_weights(model), 200, source=SeededSource(4))
        assert (keep_codes(codes, rules) == codes).all()


def test_rows_and_copies_keep_the_rules_and_a_stored_table_has_them():
    people = [(True, 7, 2), (True, 6, 1), (False, None, None), (False, 8, 2)] * 150
    table = dp.synthesize(frame(people), SCHEMA, impossible=RULES, relations=[("gleason", "grade")], epsilon=2.0)
    again = dp.synthesis.SyntheticTable.from_json(table.to_json())
    assert again == table and len(again.rules) == len(table.rules) == 2
    for rows in (table.to_frame(backend="pandas"), *again.copies(4, backend="pandas")):
        plain = rows.astype(object).where(rows.notna(), None).itertuples(index=False)
        assert not any(breaks(*row) for row in plain)
        assert (rows["gleason"].notna()).any()
    # The 150 who break the first rule are counted without a score.
    assert abs(table.one_ways[1].counts[3] - 300) < 40
    broken = json.loads(table.to_json())
    broken["impossible"][0]["impossible"] = "ff"
    with pytest.raises(dp.errors.DataError):
        dp.synthesis.SyntheticTable.from_json(json.dumps(broken))


def test_a_rule_is_part_of_the_purchase_and_its_price():
    with dp.load(frame(EVERYBODY * 20), SCHEMA) as loaded:
        session = dp.Session(loaded, recipient="acme", budget=dp.PureDP(4.0))
        plain, ruled = session.synthesize(epsilon=1.0), session.synthesize(epsilon=1.0, impossible=RULES)
        assert plain.key != ruled.key and session.remaining.epsilon == 2.0
        turned = session.synthesize(epsilon=1.0, impossible=RULES[::-1])
        assert turned.key == ruled.key and session.price_synthesis(epsilon=1.0, impossible=RULES).free
    assert "impossible" not in plain.question


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (["gleason"], "impossible= is a list of rules"),
        ([dp.synthesis.Impossible("gleason", when={"gleason": 6})], "cannot depend on 'gleason' itself"),
        ([dp.synthesis.Impossible("gleason", when={"tumour": 3})], "a value that 'tumour' has not"),
        ([NO_TUMOUR, dp.synthesis.Impossible("tumour", when={"gleason": 6})], "decide about each other"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_before_anything_is_spent(rules, why):
    with dp.load(frame(EVERYBODY), SCHEMA) as loaded:
        session = dp.Session(loaded, recipient="acme", budget=dp.PureDP(1.0))
        with pytest.raises(dp.errors.QuestionError, match=why):
            session.synthesize(epsilon=1.0, impossible=rules)
        assert session.remaining.epsilon == 1.0
    with pytest.raises(dp.errors.QuestionError, match="A rule names a column"):
        dp.synthesis.Impossible("gleason", when={})


def test_a_rule_about_a_column_that_is_not_in_the_table_is_left_out():
    assert cell_rules(RULES, variables_of(SCHEMA, ["gleason"])) == ((), ())
    assert [rule.target for rule in cell_rules(RULES, variables_of(SCHEMA, ["gleason", "grade"]))[0]] == [1]
    assert with_deciding(CELLS, (2,)) == (0, 1, 2) and with_deciding(CELLS, (1,)) == (0, 1)


def test_thresholds_of_rules_are_edges_of_bins():
    schema = dp.Schema({"size": dp.Number(0, 50, step=1), "day": dp.Date("2018-01-01", "2018-12-31"), "big": dp.Flag()})
    rules = [
        dp.synthesis.Impossible("big", when={"size": [(None, 13)]}, values=[True]),
        dp.synthesis.Impossible("big", when={"day": [("2018-07-03", None)]}),
    ]
    edges = edges_of(rules, schema)
    size, day, _ = found = [with_edges(v, edges.get(v.name, ())) for v in variables_of(schema, None)]
    assert isinstance(size.keys, Bins) and 13 in size.keys.edges and "2018-07-03" in day.keys.edges
    kept, _ = cell_rules(rules, found)
    by_driver = {rule.drivers[0]: rule.possible for rule in kept}
    small = [low < 13 for low in size.keys.numbers[:-1]] + [False]
    assert (by_driver[0][:, 1] == 0).tolist() == small and by_driver[0][:, [0, 2]].all()
    late = [low >= (dt.date(2018, 7, 3) - dt.date(1970, 1, 1)).days for low in day.keys.numbers[:-1]] + [False]
    assert (by_driver[1][:, :2] == 0).all(axis=1).tolist() == late and by_driver[1][:, 2].all()


SCAN = Template(
    id="scan",
    version="1",
    title="Scan",
    person="patient",
    max_reports_per_person=1,
    items=(
        Question(id="patient", kind="text", title="Patient", required=True),
        Question(id="psa", kind="decimal", title="PSA", low=0, high=20, decimals=1, step=0.1),
        Question(id="day", kind="date", title="Day", low="2018-01-01", high="2018-12-31"),
        Question(id="lesions", kind="integer", title="Lesions", low=0, high=4),
        Question(
            id="biopsy",
            kind="boolean",
            title="Biopsy",
            enable_when=(Condition("psa", ">", 4.3), Condition("lesions", ">=", 1)),
            enable_behaviour="any",
        ),
        Question(
            id="grade",
            kind="choice",
            title="Grade",
            options=(Option(1), Option(2)),
            enable_when=(Condition("biopsy", "=", True), Condition("day", "<=", "2018-08-17")),
            enable_behaviour="all",
        ),
        Question(id="late", kind="boolean", title="Late", enable_when=(Condition("psa", ">=", 20),)),
    ),
)


def answers(template: Template, schema: dp.Schema, number: int) -> list[dict[str, object]]:
    """Random answers to every question, shown or not: many break the rules."""
    generator, found = random.Random(number), []
    for person in range(number):
        row: dict[str, object] = {}
        for variable in variables_of(schema, None):
            if isinstance(variable.keys, Bins):
                low, high = variable.keys.numbers[0], variable.keys.numbers[-1]
                value: object = round(generator.uniform(low, high), 1)
                if not variable.column.holds_numbers:
                    value = dt.date(1970, 1, 1) + dt.timedelta(days=generator.randrange(int(low), int(high) + 1))
            else:
                value = generator.choice(variable.cells)
            row[variable.name] = value if generator.random() < 0.9 else None
        texts = {name: "" for name in schema.columns if name not in row}
        found.append({**texts, template.person: f"p{person}", **row})
    return found


@pytest.mark.parametrize(
    ("template", "group", "columns"),
    [
        pytest.param(SCAN, None, None, id="thresholds"),
        pytest.param(builtin("pirads-paper"), None, None, id="pirads-paper"),
        pytest.param(
            builtin("pirads-2.1"),
            None,
            ["histology", "gleason_primary", "gleason_secondary", "gleason", "isup", "tumour_status"],
            id="pirads-2.1",
        ),
        pytest.param(
            builtin("pirads-2.1"),
            "lesion",
            ["zone", "origin", "dwi", "dce", "t2w", "category", "staging_only"],
            id="lesions",
        ),
    ],
)
def test_no_row_of_a_template_is_one_that_the_template_refuses(template, group, columns):
    schema = to_schema(template, group=group, skip_unbounded=True)
    real = pd.DataFrame(answers(template, schema, 400)).astype(object)
    table = dp.synthesize(real, schema, columns=columns, of="persons", impossible=template, epsilon=20.0)
    assert table.rules and not any("not kept" in note for note in table.notes)
    evaluate = Evaluator(template, purpose="import")
    rows = pd.concat([table.to_frame(backend="pandas"), table.copies(1, backend="pandas")[0]])
    refused = {"hidden", "computed"}
    for row in rows.astype(object).where(rows.notna(), None).to_dict("records"):
        plain = {k: v.isoformat() if isinstance(v, dt.date) else v for k, v in row.items() if v is not None}
        outside = {k: v for k, v in plain.items() if not template.index.by_id[k].loops}
        inside = {k: v for k, v in plain.items() if template.index.by_id[k].loops}
        found = evaluate(outside | ({group: [inside]} if inside else {}))
        assert not [problem for problem in found.problems if problem.code in refused], plain


def test_a_rule_with_too_many_combinations_is_named():
    table = Template(
        id="wide",
        version="1",
        title="Wide",
        items=(
            Question(id="one", kind="integer", title="One", low=0, high=300),
            Question(id="two", kind="integer", title="Two", low=0, high=300, enable_when=(Condition("one", ">", 5),)),
        ),
    )
    rules, notes = cell_rules(table, variables_of(to_schema(table), None))
    assert not rules and "has 91204 combinations and is not kept" in notes[0]
