"""A report: sections on one HTML page that is whole in itself."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pydplib._version import __version__
from pydplib.errors import ParameterError
from pydplib.plot import page_scripts
from pydplib.report._blocks import Chart, Section

if TYPE_CHECKING:
    from pydplib.plot import Figure


@dataclass(frozen=True)
class Report:
    """A page of sections, written once and read anywhere: no script, font or picture comes from outside.

    Args:
        title: The heading of the page.
        sections: What stands on it.
        lead: One or two sentences under the heading.
        kicker: A few words above the heading: what kind of report this is.
        footer: A last line; who made it, from what.

    Examples:
        >>> from pydplib.report import Report, Section, Text
        >>> page = Report("A report", [Section("First", [Text("Hello.")])]).to_html()
        >>> "http-equiv" in page and "https://" not in page
        True
    """

    title: str
    sections: Sequence[Section]
    _: KW_ONLY
    lead: str = ""
    kicker: str = ""
    footer: str = ""

    def to_html(self) -> str:
        """Return the page."""
        figures: dict[str, Figure] = {}
        parts, contents = [], []
        for number, section in enumerate(self.sections, start=1):
            anchor = f"{number}-{_slug(section.title)}"
            heading = ""
            if section.title:
                contents.append(f'<li><a href="#{anchor}">{escape(section.title)}</a></li>')
                heading = f'<h2 id="{anchor}">{escape(section.title)}</h2>'
            blocks = []
            for block in section.blocks:
                if isinstance(block, Chart):
                    block = replace(block, key=f"figure-{len(figures) + 1}")
                    figures[block.key] = block.figure
                blocks.append(block.html())
            parts.append(
                f"<section{f' aria-labelledby={anchor!r}' if heading else ''}>{heading}{''.join(blocks)}</section>"
            )
        scripts, policy = _scripts(figures)
        kicker = f'<p class="eyebrow">{escape(self.kicker)}</p>' if self.kicker else ""
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        menu = f'<nav aria-label="Contents"><ol>{"".join(contents)}</ol></nav>' if len(contents) > 1 else ""
        footer = escape(self.footer) if self.footer else f"Made with pydplib {__version__}."
        return (
            "<!doctype html>\n"
            '<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
            f'<meta name="generator" content="pydplib {__version__}">'
            f"<title>{escape(self.title)}</title>\n<style>{_style()}</style></head>\n"
            f'<body><a class="skip" href="#content">Skip to the content</a>'
            f"<header>{kicker}<h1>{escape(self.title)}</h1>{lead}</header>{menu}\n"
            f'<main id="content">{"".join(parts)}</main>\n<footer>{footer}</footer>\n{scripts}\n</body></html>\n'
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, making its folder if needed, and return the path. A new file is its owner's alone."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(self.to_html())
        except OSError as error:
            raise ParameterError(f"The report '{path}' cannot be written: {error.strerror}.") from None
        return path


def _scripts(figures: dict[str, Figure]) -> tuple[str, str]:
    if not figures:
        # A report without figures needs no Plotly, and no script at all.
        return "", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return page_scripts(figures)


@cache
def _style() -> str:
    return resources.files("pydplib.report").joinpath("assets/report.css").read_text(encoding="utf-8")


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
