"""The repository keeps its own promises: documents run, links lead somewhere, locks name no host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_readme_code_when_run_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_readme_first_screen_names_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    assert any("make run" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_when_relative_lead_to_a_file(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_lock_files_name_no_host_and_pin_every_package_with_hashes() -> None:
    for lock in sorted((ROOT / "locks").glob("*.lock")):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        assert "index-url" not in text
        entries = re.findall(r"^([A-Za-z0-9][^\n]*?)\\?$", text, re.M)
        assert entries
        assert all("==" in entry for entry in entries)
        assert text.count("--hash=sha256:") >= len(entries)


def test_tracked_files_hold_no_machine_paths() -> None:
    suspicious = re.compile(rb"(?<![\w.])/(?:work|root|farm)/")
    found = [
        path.relative_to(ROOT).as_posix()
        for path in tracked_files()
        if path.suffix in {".py", ".md", ".toml", ".sh", ".lock", ".yml", ".json"}
        and suspicious.search(path.read_bytes())
    ]
    # This test's own pattern is the one allowed place.
    assert [name for name in found if name != "tests/unit/test_repository.py"] == []


def test_make_targets_when_named_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for document in DOCUMENTS:
        for target in re.findall(r"`?\bmake ([a-z][a-z-]+)(?=[`\s,;.)]*(?:#|`|$))", document.read_text(), re.M):
            assert target in targets, f"{document.name} names make {target}"
