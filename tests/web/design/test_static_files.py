"""Static files: a hash in every name, compressed, kept for a year; collected once per content."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import find
from django.contrib.staticfiles.storage import staticfiles_storage
from django.test import override_settings

from pydplib.web.design import storage

HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place to collect into, with a storage of its own."""
    place = tmp_path / "static"
    with override_settings(STATIC_ROOT=place):
        kept = storage.CollectedFiles(location=str(place), base_url="/static/")
        monkeypatch.setattr(staticfiles_storage, "_wrapped", kept)
        yield place


def test_files_that_were_not_collected_keep_their_plain_names(folder: Path) -> None:
    assert staticfiles_storage.url("pydplib/tokens.css") == "/static/pydplib/tokens.css"


def test_collected_files_have_a_hash_in_their_names_and_a_smaller_copy(folder: Path) -> None:
    assert storage.collect()
    address = staticfiles_storage.url("pydplib/vendor/plotly-cartesian.min.js")
    assert HASHED.search(address)
    path = folder / address.removeprefix("/static/")
    original = Path(find("pydplib/vendor/plotly-cartesian.min.js")).read_bytes()
    assert path.read_bytes() == original
    compressed = path.with_name(path.name + ".gz").read_bytes()
    assert gzip.decompress(compressed) == original and len(compressed) < len(original) / 2.5


def test_fragments_stay_with_the_file(folder: Path) -> None:
    storage.collect()
    assert re.search(r"icons\.[0-9a-f]{12}\.svg#sun$", staticfiles_storage.url("pydplib/icons.svg#sun"))


def test_style_sheets_name_the_hashed_files(folder: Path) -> None:
    storage.collect()
    for sheet in folder.rglob("*.css"):
        for name in re.findall(r'url\("?([^")]+)"?\)', sheet.read_text("utf-8")):
            if not name.startswith(("data:", "#")):
                assert HASHED.search(name), (sheet.name, name)
                assert (sheet.parent / name).is_file(), (sheet.name, name)


def test_the_same_content_is_collected_once_and_a_half_written_folder_again(folder: Path) -> None:
    assert storage.collect() and not storage.collect()
    (folder / storage.STAMP).unlink()  # as a kill before the end leaves it
    (folder / "pydplib" / "left-over.css").write_text("", encoding="utf-8")
    assert storage.collect()
    assert not (folder / "pydplib" / "left-over.css").exists()


def test_changed_content_is_collected_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert storage.collect()
    monkeypatch.setattr(storage, "content_hash", lambda: "another")
    assert storage.collect()
