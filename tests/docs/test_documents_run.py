"""Tutorials and short guides run as they are printed, block after block, in an empty folder."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "index.md",
    "tutorials/first-private-figure.md",
    "tutorials/anonymize-and-attack.md",
    "explanation/guarantees.md",
    "explanation/synthetic-tables.md",
    "how-to/choose-a-noise-factor.md",
    "how-to/choose-epsilon.md",
    "how-to/a-page-of-figures-for-one-price.md",
    "tutorials/synthetic-table.md",
    "how-to/clinical-statistics.md",
    "how-to/questions-about-patients.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_document_runs_as_printed(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    before, names, said = Path.cwd(), {"__name__": "document"}, io.StringIO()
    os.chdir(tmp_path)
    try:
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(block, page, "exec"), names)
    finally:
        os.chdir(before)
    assert said.getvalue().strip()


def not_run(root: Path) -> list[str]:
    """Return the pages with Python that neither stand in PAGES nor are named by a test elsewhere."""
    here = Path(__file__).resolve()
    tests = (path for path in root.glob("tests/**/test_*.py") if path.resolve() != here)
    named = "\n".join(path.read_text(encoding="utf-8") for path in tests)
    return [
        path.relative_to(root).as_posix()
        for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])
        if re.search(r"^\s*```py", path.read_text(encoding="utf-8"), re.M)
        and path.relative_to(root).as_posix().removeprefix("docs/") not in PAGES
        and path.name not in named
    ]


def test_every_page_with_python_runs_somewhere(tmp_path: Path) -> None:
    """A page that nobody runs would rot."""
    assert not_run(DOCS.parent) == []
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    for name in ("NEW.md", "docs/adr/0099-new.md", "docs/decide-who-gets-what.md"):  # the last is clicked, not run
        (tmp_path / name).write_text("```python\n1 / 0\n```\n", encoding="utf-8")
    assert len(not_run(tmp_path)) == 3


def test_price_on_the_command_line_agrees_with_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pydplib.cli import main

    monkeypatch.chdir(tmp_path)
    page = (DOCS / "how-to" / "choose-epsilon.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.S)[0], names)
    said = re.search(r"±5 years costs epsilon ([\d.]+)", capsys.readouterr().out)
    names["reports"][["patient_id", "age", "pirads"]].to_csv("reports.csv", index=False)  # type: ignore[index]
    Path("schema.toml").write_text(names["schema"].to_toml(), encoding="utf-8")  # type: ignore[attr-defined]
    line = re.findall(r"```sh\n(.*?)```", page, re.S)[0]
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(line)[1:])
    assert ended.value.code == 0
    assert said is not None and f"epsilon {said[1].rstrip('0')}"[:12] in capsys.readouterr().out


PAGES_OF_THE_BROWSER = [
    "tutorials/share-with-a-partner.md", "how-to/publish-a-dashboard.md", "how-to/decide-who-gets-what.md",
    "how-to/import-and-keep-data.md", "how-to/run-the-platform.md",
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES_OF_THE_BROWSER)
def test_what_a_page_says_to_press_is_on_the_platform(page: str) -> None:
    web = DOCS.parent / "src" / "pydplib" / "web"
    shown = " ".join(
        " ".join(path.read_text("utf-8").split()) for kind in ("html", "py") for path in web.rglob(f"*.{kind}")
    )
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    pressed = re.findall(r"(?<![*\w])\*([A-Z][^*]+?)\*(?!\*)", text)
    assert pressed
    assert [words for words in pressed if words.removesuffix(" third party") not in shown] == []


def typed_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield page and words of every `pydplib ...` line in the documents."""
    for path in [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]:
        for block in re.findall(r"```(?:sh|console)\n(.*?)```", path.read_text(encoding="utf-8"), re.S):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(re.sub(r"^sudo (-u \w+ )?", "", line.removeprefix("$ ")), comments=True)
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):  # settings before the command
                    words = words[1:]
                if words and Path(words[0]).name == "pydplib":
                    yield path.name, words[1:]


def unknown_words(words: list[str]) -> list[str]:
    """Return the commands and options of a line that `pydplib` does not know."""
    from pydplib.cli import LazyGroup

    command: click.Command = LazyGroup("pydplib")
    context = click.Context(command)
    options = {"--help", "--version", "-h"}
    unknown = []
    for word in words:
        if isinstance(command, click.Group) and not word.startswith("-"):
            found = command.get_command(context, word)
            if found is None:
                return [word]
            command, context = found, click.Context(found, parent=context)
            options |= {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        elif word.startswith("-") and word.split("=")[0] not in options and not re.fullmatch(r"-[\d.]+", word):
            unknown.append(word)
    return unknown


def test_every_command_in_the_documents_is_known_with_its_options() -> None:
    lines = list(typed_commands())
    assert len(lines) > 40
    assert [(page, words) for page, words in lines if unknown_words(words)] == []


@pytest.mark.parametrize("line", ["releases x.csv", "release x.csv --epsilom 1", "people lnk ANNA"])
def test_a_command_that_is_misspelt_is_found(line: str) -> None:
    assert unknown_words(line.split())
