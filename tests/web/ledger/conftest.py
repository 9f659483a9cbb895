"""The ledger in the database, and keys of releases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ledger_keys import make_release_key
from web_home import make_web_home

from pydplib.budget import StoreLedger


@pytest.fixture
def make_key() -> Any:
    return make_release_key


@pytest.fixture
def ledger(db: None, tmp_path: Path) -> StoreLedger:
    from pydplib.web.ledger.database import DatabaseLedger

    return DatabaseLedger(tmp_path / "ledger.head.json")


@pytest.fixture(scope="module")
def web_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("home")) as home:
        yield home
