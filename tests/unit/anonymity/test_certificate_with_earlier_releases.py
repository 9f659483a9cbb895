from __future__ import annotations

from pydplib.anonymity.certificate import TOGETHER, Certificate, Statement


def test_the_guarantee_names_the_smaller_number_where_earlier_releases_count() -> None:
    alone = Statement("5-anonymity", None, True, 570)
    together = Statement(f"5-anonymity{TOGETHER}", None, True, 24)
    diverse = Statement(f"2-diversity{TOGETHER}", "therapy", True, 3)
    made = Certificate(statements=(alone, together, diverse), rows=5700, people=5700, classes=10, k=570, counted="rows")
    assert made.guarantee.k == 24  # type: ignore[union-attr]
    assert "fewer than 24 people" in made.guarantee.sentence
    assert "2-diversity across releases of therapy" in made.guarantee.sentence
    assert (
        Certificate(statements=(alone,), rows=5700, people=5700, classes=10, k=570, counted="rows").guarantee.k == 570
    )  # type: ignore[union-attr]
