"""A recipe applied elsewhere holds all of its models there, and its file is the owner's alone."""

from __future__ import annotations

import os
import stat

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    Hierarchy,
    KAnonymity,
    KMap,
    LDiversity,
    Recipe,
    TCloseness,
    anonymize,
    recipe,
    verify,
)
from pydplib.errors import AnonymityError, ParameterError

TREE = Hierarchy.order(list(range(8)), group=2)
GROUPS = Hierarchy.order(list("abcdef"), group=3)


def table(seed: int, rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    q = rng.integers(0, 8, rows)
    ill = [str(rng.choice(list("abcdef"), p=np.roll([0.5, 0.3, 0.1, 0.05, 0.03, 0.02], v % 3))) for v in q]
    return pd.DataFrame({"who": np.arange(rows) // 2, "q": q, "ill": ill})


MODELS = {
    "k": ([KAnonymity(10)], lambda m, k: k >= 10),
    "alpha": ([AlphaK(0.6, 3)], lambda m, k: k >= 3 and m.alpha <= 0.6 + 1e-9),
    "l": ([LDiversity(5)], lambda m, k: m.l_distinct >= 5),
    "entropy": ([LDiversity(3, kind="entropy")], lambda m, k: m.l_entropy >= 3 - 1e-6),
    "recursive": ([LDiversity(2, kind="recursive", c=1.5)], lambda m, k: m.recursive(2) < 1.5),
    "t": ([TCloseness(0.25)], lambda m, k: m.t_equal <= 0.25 + 1e-9),
    "t ordered": ([TCloseness(0.12, distance="ordered")], lambda m, k: m.t_ordered <= 0.12 + 1e-9),
    "t tree": (
        [TCloseness(0.2, distance="hierarchical", hierarchy=GROUPS)],
        lambda m, k: m.t_hierarchical <= 0.2 + 1e-9,
    ),
    "beta": ([BetaLikeness(3.0)], lambda m, k: m.beta <= 3.0 + 1e-9),
    "delta": ([DeltaDisclosure(2.0)], lambda m, k: m.delta < 2.0),
}


def recipe_of(models, seed=1, **words) -> Recipe:
    """A recipe that was made where everything was fine: level 0 is released."""
    made = anonymize(table(seed), {"q": TREE}, "ill", models=models, suppression=1.0, **words).recipe
    return Recipe.from_json(made.to_json())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [2, 3])
def test_every_model_holds_on_the_other_table(name, seed):
    models, holds = MODELS[name]
    out = recipe_of(models).apply(table(seed, 70))
    assert len(out), "an empty table would hold everything"
    found = verify(out, ["q"], "ill", hierarchies={"ill": GROUPS})
    assert holds(found.sensitive["ill"], found.k)


def test_models_fail_on_the_other_table_if_they_are_not_enforced(monkeypatch):
    """The twin: without the check at least these models are broken, so the test above means something."""
    monkeypatch.setattr(recipe, "enforce_models", lambda recipe, frame, labels, keep: keep)
    broken = []
    for name, (models, holds) in MODELS.items():
        for seed in (2, 3):
            found = verify(recipe_of(models).apply(table(seed, 70)), ["q"], "ill", hierarchies={"ill": GROUPS})
            if not holds(found.sensitive["ill"], found.k):
                broken.append(name)
    assert set(broken) == set(MODELS)


@pytest.mark.parametrize("method", ["local", "mondrian"])
def test_recipes_of_other_methods_hold_diversity_too(method):
    recipe = recipe_of([KAnonymity(3), LDiversity(3)], method=method)
    out = recipe.apply(table(5, 60))
    found = verify(out, ["q"], "ill")
    assert 0 < len(out) < 60  # some classes fail on this table, some do not
    assert found.k >= 3 and found.sensitive["ill"].l_distinct >= 3


def test_people_are_counted_where_the_recipe_knows_them():
    recipe = recipe_of([KAnonymity(6)], person="who")
    assert recipe.person == "who"
    elsewhere = pd.DataFrame({"who": [1] * 9 + list(range(10, 16)), "q": [0] * 9 + [7] * 6, "ill": ["a"] * 15})
    out = recipe.apply(elsewhere)
    assert len(out) == 6
    with pytest.raises(ParameterError, match="whose rows"):
        recipe.apply(elsewhere[["q", "ill"]])


def test_populations_are_asked_for_again_and_held():
    people = pd.DataFrame({"q": list(range(8)) * 40})
    made = anonymize(table(1), {"q": TREE}, "ill", models=[KMap(30, population=people)]).recipe
    other = table(2, 40)
    with pytest.raises(ParameterError, match="population table is not stored"):
        Recipe.from_json(made.to_json()).apply(other)
    assert len(Recipe.from_json(made.to_json(), population=people).apply(other)) == 40
    few = pd.DataFrame({"q": [0] * 40 + [1, 2, 3, 4, 5, 6, 7] * 10})
    assert set(Recipe.from_json(made.to_json(), population=few).apply(other)["q"].astype(str)) == {"0"}
    presence = anonymize(table(1), {"q": TREE}, "ill", models=[DeltaPresence(1.0, population=people)]).recipe
    assert len(Recipe.from_json(presence.to_json(), population=people).apply(other)) == 40


def test_a_lower_bound_of_presence_that_cannot_hold_is_said():
    people = pd.DataFrame({"q": list(range(8)) * 40})
    model = DeltaPresence(1.0, lower=0.01, population=people)
    made = anonymize(table(1), {"q": TREE}, "ill", models=[model]).recipe
    with pytest.raises(AnonymityError, match="delta-presence"):
        Recipe.from_json(made.to_json(), population=people).apply(table(2, 40).query("q < 3"))


def test_file_of_a_recipe_is_private_whole_and_never_replaced_silently(tmp_path):
    path = tmp_path / "recipe.json"
    recipe = recipe_of([KAnonymity(3)])
    before = os.umask(0)
    try:
        recipe.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ParameterError, match="exists already"):
        recipe.save(path)
    recipe.save(path, overwrite=True)
    assert Recipe.load(path) == recipe
    assert list(tmp_path.iterdir()) == [path]
