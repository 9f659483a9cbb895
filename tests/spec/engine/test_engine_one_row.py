"""One row of each person: a function of that person's rows alone, whatever their order, copies and neighbours."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hostile_rows import SCHEMA, as_table, make_rows
from reference_engine import reference

from pydplib.engine import Bound, ExactTable, Measure, Plan, Where
from pydplib.errors import QuestionError

SUM = Measure("sum", "age", low=-20, high=100, step=0.25)
RULES = [
    Bound("id", 1, mode="row", rule=rule, order=order)
    for rule in ("first", "last", "highest")
    for order in (("day",), ("pirads",), ("bph", "lesions"))
]
PLANS = [
    Plan(SCHEMA, by={"pirads": (1, 2, 3, "other", None), "bph": (True, False, None)}, bound=bound, measures=[
        Measure("count"), SUM], after=after)
    for bound in RULES
    for after in ([], [Where("age").at_least(20)])
]  # fmt: skip


def integers(exact: ExactTable) -> list[object]:
    return [values.tolist() for values in exact.values]


def test_shuffled_and_repeated_rows_give_the_same_integers(place, engine_name) -> None:
    data = as_table(make_rows(3, 150))
    order = np.random.default_rng(4).permutation(data.num_rows)
    shuffled = data.take(pa.array(order))
    repeated = pa.concat_tables([shuffled, data, data.slice(7, 50)]).combine_chunks()
    tables = [place(each, SCHEMA) for each in (data, shuffled, repeated)]
    for plan in PLANS[::5] if engine_name == "spark" else PLANS:
        expected = reference(data, plan)[1]
        for table in tables:
            assert integers(table.aggregate(plan)) == expected, plan.bound


def test_other_persons_do_not_change_whose_row_counts(place, engine_name) -> None:
    rows = make_rows(5, 80)
    one = [i for i, person in enumerate(rows["id"]) if person == "p1"] or [0]
    rows["id"][one[0]] = "p1"
    alone = as_table({name: [cells[i] for i in one] for name, cells in rows.items()})
    rest = as_table({name: [c for i, c in enumerate(cells) if i not in one] for name, cells in rows.items()})
    together = pa.concat_tables([rest, alone]).combine_chunks()
    tables = [place(each, SCHEMA) for each in (together, rest, alone)]
    for plan in PLANS[::6] if engine_name == "spark" else PLANS[::2]:
        both, others, own = ([v.astype(object) for v in table.aggregate(plan).values] for table in tables)
        assert all((a == b + c).all() for a, b, c in zip(both, others, own, strict=True)), plan.bound
        assert sum(int(v) for v in own[0]) <= 1


def test_bounded_table_is_narrowed_by_conditions_on_the_chosen_row(place, engine_name) -> None:
    data = as_table(make_rows(6, 120))
    table = place(data, SCHEMA)
    outer, narrower = PLANS[0], PLANS[1]
    outer = Plan(SCHEMA, bound=outer.bound, by=outer.by, measures=[Measure("count"), SUM])
    with table.engine.bounded(outer) as bounded:
        assert integers(bounded.aggregate(narrower)) == reference(data, narrower)[1]
        before = Plan(SCHEMA, bound=outer.bound, by=outer.by, measures=[SUM], where=[Where("age").at_least(20)])
        with pytest.raises(QuestionError, match="after="):
            bounded.aggregate(before)
