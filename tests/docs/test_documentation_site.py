"""The documentation site builds without a warning and names everything that users can touch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_has_its_place_in_the_reference(site: Path) -> None:
    from pydplib._public import PUBLIC_NAMES

    text = "\n".join(path.read_text(encoding="utf-8") for path in (site / "reference" / "python").glob("*.html"))
    missing = [name for name, module in PUBLIC_NAMES.items() if f'id="{module}.{name}"' not in text]
    assert not missing


def test_every_command_error_role_and_setting_is_in_the_reference(site: Path) -> None:
    from pydplib import errors
    from pydplib.cli import COMMANDS
    from pydplib.policy import ROLES

    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert not [name for name in COMMANDS if f"pydplib {name}" not in commands]
    words = (site / "reference" / "words.html").read_text(encoding="utf-8")
    raised = [name for name, found in vars(errors).items() if isinstance(found, type) and name.endswith("Error")]
    assert not [name for name in (*raised, *ROLES) if name not in words]
    configuration = (ROOT / "src" / "pydplib" / "web" / "configuration.py").read_text(encoding="utf-8")
    settings = set(re.findall(r'"(PYDPLIB_[A-Z_]+|DATABASE_URL)"', configuration))
    assert settings
    assert not [name for name in settings if name not in words]


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', path.read_text("utf-8"))
        assert not [url for url in loaded if not url.startswith("https://pydplib.example")], path.name


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "index.md").read_text(encoding="utf-8")
    assert not [path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md") if f"({path.name})" not in listed]
