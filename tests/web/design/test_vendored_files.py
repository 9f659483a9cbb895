"""What was made elsewhere is kept as it came, with its licence."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pydplib.web.design

HOME = Path(pydplib.web.design.__file__).parent
FILES: list[dict[str, Any]] = tomllib.loads((HOME / "vendored.toml").read_text("utf-8"))["file"]


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["path"])
def test_vendored_file_has_the_recorded_sum_and_a_licence(entry: dict[str, Any]) -> None:
    assert hashlib.sha256((HOME / entry["path"]).read_bytes()).hexdigest() == entry["sha256"]
    assert (HOME / entry["license_file"]).read_text("utf-8").strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])


def test_every_file_of_the_vendor_folder_is_recorded() -> None:
    kept = {path.relative_to(HOME).as_posix() for path in (HOME / "static" / "pydplib" / "vendor").iterdir()}
    assert kept == {entry["path"] for entry in FILES if "/vendor/" in entry["path"]}


def test_vendored_plotly_is_of_the_generation_that_plotly_py_writes_for() -> None:
    from plotly.offline import get_plotlyjs_version

    recorded = {entry["version"] for entry in FILES if entry["package"].startswith("plotly.js")}
    assert {version.split(".")[0] for version in recorded} == {get_plotlyjs_version().split(".")[0]}
    assert len(recorded) == 1  # script and style sheet of one version


def test_vendored_scripts_name_their_recorded_version() -> None:
    by_package = {entry["package"]: entry for entry in FILES}
    for package, words in {"htmx.org": 'version:"{}"', "plotly.js-cartesian-dist-min": "v{}"}.items():
        entry = by_package[package]
        assert words.format(entry["version"]) in (HOME / entry["path"]).read_text("utf-8")
