"""Every template of the platform keeps to the content security policy and to the rules of the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pydplib.web

WEB = Path(pydplib.web.__file__).parent
PRINTED = frozenset(["assessment_document.html"])
"""Templates of files that are printed and never sent as pages: they carry their style with them."""
TEMPLATES = sorted(path for path in WEB.rglob("*.html") if "templates" in path.parts and path.name not in PRINTED)
SCRIPTS = sorted(path for path in WEB.rglob("*.js") if "vendor" not in path.parts)
ICONS = set(re.findall(r'<symbol id="([\w-]+)"', (WEB / "design/static/pydplib/icons.svg").read_text("utf-8")))

FAULTS = {
    "an inline style": r"\sstyle\s*=",
    "a style element": r"<style\b",
    "an inline handler": r"<[a-z][^>]*\son[a-z]+\s*=",
    "a handler of htmx that needs eval": r"\s(?:data-)?hx-(?:on|vars|vals=[\"']js:|headers=[\"']js:)",
    "a script in the page": r"<script(?![^>]*\ssrc=)(?![^>]*application/json)[^>]*>",
    "an address that is a script": r"javascript:",
    "a foreign host": r"(?:src|href|action|hx-\w+)\s*=\s*[\"'](?:https?:)?//",
    "unescaped values": r"\|\s*safe\b|\{%\s*autoescape\s+off",
    "a window without opener protection": r"target\s*=\s*[\"']_blank",
    "an image without words": r"<img(?![^>]*\salt=)",
}


def faults_of(text: str) -> list[str]:
    """Return what in a template breaks the policy."""
    bare = re.sub(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", "", text, flags=re.S)
    markup = re.sub(r"\{%.*?%\}", "", bare, flags=re.S)
    found = [
        what
        for what, pattern in FAULTS.items()
        if re.search(pattern, bare if "{%" in pattern else markup, flags=re.I | re.S)
    ]
    for form in re.findall(r"<form\b.*?</form>", bare, flags=re.I | re.S):
        head = form.split(">", 1)[0]
        if re.search(r"method\s*=\s*[\"']?post", head, flags=re.I) and "csrf" not in form:
            found.append("a form that posts without a token")
    return found


def icons_of(text: str) -> set[str]:
    """Return the names of icons that a template or module names literally."""
    return {a or b for a, b in re.findall(r"\{%\s*icon\s+\"([\w-]+)\"|\bicon=\"([\w-]+)\"", text)}


def name_of(path: Path) -> str:
    return path.relative_to(WEB).as_posix()


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_template_keeps_to_the_policy(path: Path) -> None:
    assert faults_of(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_template_names_icons_that_exist(path: Path) -> None:
    assert icons_of(path.read_text("utf-8")) - ICONS == set()


def test_badges_and_navigation_name_icons_that_exist() -> None:
    from pydplib.web.design.badges import BADGES
    from pydplib.web.navigation import ITEMS

    named = {badge.icon for badge in BADGES.values()} | {item.icon for item in ITEMS}
    assert named - ICONS - {""} == set()


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_template_can_be_compiled(path: Path) -> None:
    from django.template.loader import get_template

    get_template(path.as_posix().split("/templates/", 1)[1])


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_script_neither_evaluates_text_nor_writes_markup_nor_calls_out(path: Path) -> None:
    text = path.read_text("utf-8")
    for forbidden in (
        r"\beval\(",
        r"new Function",
        r"(?:inner|outer)HTML\s*\+?=[^=]",
        r"insertAdjacentHTML",
        r"document\.write",
        r"https?://",
        r"setAttribute\(\s*[\"']style",
    ):
        assert not re.search(forbidden, text), forbidden


@pytest.mark.parametrize(
    "text",
    [
        '<p style="color: red">x</p>',
        "<style>p {}</style>",
        '<button onclick="x()">x</button>',
        '<p\n  onload="x()">x</p>',
        "<script>x()</script>",
        '<div hx-on:click="x()"></div>',
        '<script src="https://cdn.example/x.js"></script>',
        '<link href="//cdn.example/x.css">',
        "{{ value|safe }}",
        '<a href="javascript:x()">x</a>',
        '<img src="x.png">',
        '<form method="post"><button>Go</button></form>',
    ],
)
def test_planted_faults_are_found(text: str) -> None:
    assert faults_of(text)


def test_lawful_markup_is_let_through() -> None:
    lawful = '<script src="{% static \'x.js\' %}" defer></script><script type="application/json">{}</script>'
    assert faults_of(lawful + '<form method="post">{% csrf_token %}</form><p class="style">on = off</p>') == []
