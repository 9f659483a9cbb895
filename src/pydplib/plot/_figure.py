"""The figure of the house: a Plotly figure that never talks to a cloud and keeps its words; its pages and pictures."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from html import escape
from importlib import import_module, resources
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from pydplib.errors import ParameterError, import_extra
from pydplib.plot._theme import FONT, SURFACES, Mode, template

go: Any = import_extra("plotly.graph_objects", what="Drawing a figure", extra="plot")

NARROW = 620
"""Figures below this width in pixels stack their panels and break their labels, as pages do (figures.js)."""


def show_config(**changes: Any) -> dict[str, Any]:
    """Return the settings with which every figure is shown: no cloud button, no cloud address, no logo.

    Plotly's own default shows a button that sends the data of a chart to a host of Plotly's.

    Args:
        changes: Further settings of Plotly's; they cannot bring the cloud back.

    Examples:
        >>> show_config(scrollZoom=True)["showSendToCloud"]
        False
    """
    return {
        "responsive": True,
        "displayModeBar": "hover",
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
        **changes,
        "showSendToCloud": False,
        "plotlyServerURL": "",
        "displaylogo": False,
    }


class Figure(go.Figure):  # type: ignore[misc]
    """A Plotly figure with the settings of the house; all of Plotly's methods work on it.

    Its title and its caption (the honest label of what is drawn) live in ``layout.meta``, so that
    pages set them as text and pictures get them drawn in.

    Examples:
        >>> from pydplib import plot
        >>> figure = plot.bar(["a", "b"], {"visits": [3, 5]}, title="Visits", caption="Made up.")
        >>> figure.words
        ('Visits', 'Made up.')
    """

    @property
    def words(self) -> tuple[str, str]:
        """The title and the caption. A title that was set with ``update_layout`` comes first."""
        meta = self.layout.meta or {}
        return str(self.layout.title.text or meta.get("title", "")), str(meta.get("caption", ""))

    @property
    def caption_lines(self) -> list[str]:
        """The paragraphs of the caption as they are set: no line ends between a number and its percent sign."""
        return [line.replace(" %", "\N{NO-BREAK SPACE}%") for line in self.words[1].split("\n") if line]

    def with_words(self, title: str | None = None, caption: str | None = None) -> Figure:
        """Return a copy with another title or caption."""
        copy = Figure(self)
        meta = dict(self.layout.meta or {})
        meta.update({k: v for k, v in (("title", title), ("caption", caption)) if v is not None})
        copy.layout.meta = meta
        if title is not None:
            copy.layout.title.text = None
        return copy

    def drawn(self, *, width: int = 960, mode: Mode = "light") -> Figure:
        """Return a copy for a picture of ``width`` pixels, with title and caption drawn in; once is enough."""
        copy = Figure(self)
        if (self.layout.meta or {}).get("drawn"):
            return copy
        title, caption = self.words
        layout = copy.layout
        layout.template = template(mode)
        narrow = (layout.meta or {}).get("narrow")
        if narrow and width < NARROW:
            copy.update_layout(narrow)
        margin = {**template(mode)["layout"]["margin"], **(layout.margin.to_plotly_json() or {})}
        # Plotly would widen the margin for long labels, and move the caption with it.
        margin["l"] = max(margin["l"], _label_room(copy))
        height = layout.height or 420
        above = 0
        if title:
            lines = wrap(title, max(20, int((width - 40) / 10)))
            above = 16 + 24 * len(lines)
            layout.title = {
                "text": "<br>".join(lines),
                "x": 0,
                "xref": "container",
                "pad": {"l": 20, "t": 18},
                "y": 1,
                "yanchor": "top",
            }
            if width < NARROW and layout.showlegend:
                above += 26  # the legend needs a second line there
        below = 0
        if caption:
            # A caption may have paragraphs: what is shown, and what is guaranteed.
            most = max(30, int((width - 40) / 6.9))
            lines = [line for text in self.caption_lines for line in wrap(text, most)]
            below = 14 + 17 * len(lines)
            layout.annotations = (
                *layout.annotations,
                {
                    "text": "<br>".join(lines),
                    "align": "left",
                    "xref": "paper",
                    "x": 0,
                    "xanchor": "left",
                    "xshift": 20 - margin["l"],
                    "yref": "paper",
                    "y": 0,
                    "yanchor": "bottom",
                    "yshift": -(margin["b"] + below - 10),
                    "font": {"size": 12, "color": template(mode)["layout"]["yaxis"]["tickfont"]["color"]},
                },
            )
        layout.margin = {**margin, "t": margin["t"] + above, "b": margin["b"] + below}
        layout.height, layout.width = height + above + below, width
        layout.meta = {**(layout.meta or {}), "drawn": True}
        return copy

    def show(self, *args: Any, **options: Any) -> Any:
        """Show the figure with its words, without Plotly's cloud button; in a notebook also when it is offline."""
        if not args and not options and _in_a_notebook():
            return import_module("IPython.display").display(self)
        return go.Figure.show(self._for_a_notebook(), *args, **_with_config(options))

    def to_html(self, *args: Any, **options: Any) -> str:
        """Return a page with the figure, its title and its caption, which loads nothing from anywhere.

        With any of Plotly's options it is Plotly's HTML, with the same words drawn in.
        """
        if args or options:
            return str(go.Figure.to_html(self._for_a_notebook(), *args, **_with_config(options)))
        return to_html(self)

    def write_html(self, file: Any, *args: Any, **options: Any) -> None:
        """Write a page with the figure, its title and its caption to a path or an open file; see ``to_html``."""
        if args or options:
            go.Figure.write_html(self._for_a_notebook(), file, *args, **_with_config(options))
            return
        if hasattr(file, "write"):
            file.write(to_html(self))
        else:
            to_html(self, file)

    def to_image(
        self,
        format: str | None = None,
        width: int | None = None,
        height: int | None = None,
        scale: float | None = None,
        *,
        mode: Mode = "light",
    ) -> bytes:
        """Return a picture as bytes, with title and caption drawn in; drawn offline by Chromium or Chrome.

        Args:
            format: ``"png"`` (the default), ``"svg"``, ``"pdf"``, ``"webp"`` or ``"jpeg"``.
            width: In pixels, before ``scale``; 960 by default.
            height: In pixels, words included; by default what figure and words need.
            scale: Pixels of the picture per pixel of ``width``.
            mode: ``"light"`` or ``"dark"``.
        """
        return picture(self, format or "png", width=width or 960, height=height, scale=scale or 1, mode=mode)

    def write_image(
        self,
        file: Any,
        format: str | None = None,
        width: int | None = None,
        height: int | None = None,
        scale: float | None = None,
        *,
        mode: Mode = "light",
    ) -> None:
        """Write a picture to a path or an open file, with title and caption drawn in; see ``to_image``."""
        if hasattr(file, "write"):
            file.write(self.to_image(format, width, height, scale, mode=mode))
            return
        path = Path(file)
        write_file(path, self.to_image(format or format_of(path), width, height, scale, mode=mode))

    def _ipython_display_(self) -> None:
        if _is_interactive(str(_renderers().default)):
            # IPython then takes the bundle; Plotly's own way would show nothing in a converted notebook.
            raise NotImplementedError
        self.show()

    def _repr_html_(self) -> str:
        return to_frame(self)

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        # The renderer that the reader chose; wherever it needs Plotly's own viewer, the page as well: converted
        # notebooks and viewers without it show that, offline.
        renderer = str(_renderers().default)
        if not _is_interactive(renderer):
            return go.Figure._repr_mimebundle_(self._for_a_notebook(), *args, **_with_config(options))
        bundle = _renderers()._build_mime_bundle(
            self._for_a_notebook().to_dict(), "plotly_mimetype", **_with_config(options)
        )
        return {**bundle, "text/html": self._repr_html_(), "text/plain": self._in_words()}

    def __repr__(self) -> str:
        return self._in_words()

    def _in_words(self) -> str:
        title, caption = self.words
        return "\n".join(
            [f"Figure: {title or 'without a title'}", *(f"  {line}" for line in caption.split("\n") if line)]
        )

    def _for_a_notebook(self) -> Figure:
        drawn = self.drawn()
        drawn.layout.width = None  # as wide as the cell
        return drawn


def _label_room(figure: Figure) -> int:
    """Return the pixels that the longest label of a y axis of words needs, or 0."""
    axis = figure.layout.yaxis
    labels = [str(text) for text in axis.ticktext or ()]
    if not labels and axis.type == "category":
        labels = [str(label) for trace in figure.data for label in (trace.y if trace.y is not None else ())]
    if not labels:
        return 0
    return 32 + round(7.2 * max(map(len, labels)))


def _renderers() -> Any:
    return import_extra("plotly.io", what="Showing a figure", extra="plot").renderers


def _is_interactive(renderer: str) -> bool:
    """Tell whether a renderer of Plotly's is one of those that need its viewer or its script."""
    return bool({"plotly_mimetype", "notebook", "notebook_connected", "jupyterlab", "vscode", "nteract", "colab"}
                & set(renderer.split("+")))  # fmt: skip


def _in_a_notebook() -> bool:
    """Tell whether a kernel of Jupyter's runs this, and shows figures as they show themselves."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") and _is_interactive(str(_renderers().default))


def _with_config(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a Plotly method, with its settings as ``show_config`` allows them."""
    return {**options, "config": show_config(**(options.get("config") or {}))}


PICTURES = ("png", "svg", "pdf", "webp", "jpeg")


def embed(value: Any) -> str:
    """Return JSON that is safe between ``<script type="application/json">`` tags."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def figure_json(figure: Figure) -> str:
    """Return data and layout of ``figure`` as JSON text, ready for a page; the template comes from the page.

    Examples:
        >>> from pydplib import plot
        >>> '"template"' in plot.figure_json(plot.bar(["a"], {"n": [1]}))
        False
    """
    values = json.loads(figure.to_json())
    for name in ("template", "title"):  # pages set the title as text
        values.get("layout", {}).pop(name, None)
    return embed(json.dumps(values, ensure_ascii=False, sort_keys=True))  # the same text for the same figure


@cache
def plotly_script() -> str:
    """Return Plotly's script, which pages embed once."""
    offline = import_extra("plotly.offline", what="Writing a page", extra="plot")
    script: str = offline.get_plotlyjs()
    return script


# Traces of the bundle that the platform uses: a third of the full script, and all that our figures need.
_BUNDLED = frozenset(
    {"bar", "box", "contour", "heatmap", "histogram", "histogram2d", "histogram2dcontour", "image", "pie", "scatter",
     "scatterternary", "violin"}
)  # fmt: skip
_BUNDLE = "web/design/static/pydplib/vendor/plotly-cartesian.min.js"
_PICTURES = "web/design/static/pydplib/pictures.js"


@cache
def packed_script(whole: bool = False) -> tuple[str, str]:
    """Return Plotly's script as compressed text for a page, and its hash for the page's policy.

    Args:
        whole: All of Plotly instead of the bundle with flat figures.
    """
    script = plotly_script() if whole else resources.files("pydplib").joinpath(_BUNDLE).read_text(encoding="utf-8")
    script = script.replace("\r\n", "\n").replace("\r", "\n")
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode(), _hash(script)


@cache
def drawing_script() -> str:
    """Return our scripts, which draw the embedded figures in the reader's look, and save them with their words."""
    files = resources.files("pydplib")
    return "\n".join(files.joinpath(name).read_text(encoding="utf-8") for name in (_PICTURES, "plot/assets/figures.js"))


def page_scripts(figures: Mapping[str, Figure]) -> tuple[str, str]:
    """Return the tags that draw ``figures`` (id -> figure) and the policy that the page needs.

    The policy allows these very scripts by their hashes and no connection to anywhere, so that
    neither a label with markup nor a button of Plotly's can call out.
    """
    tags, policy = [], ["default-src 'none'", "style-src 'unsafe-inline'", "img-src data: blob:"]
    if figures:
        look = {
            "templates": {mode: template(mode) for mode in ("light", "dark")},
            "config": show_config(),
        }
        tags.append(f'<script type="application/json" id="pydplib-look">{embed(look)}</script>')
        for name, figure in figures.items():
            tags.append(f'<script type="application/json" id="{escape(name)}">{figure_json(figure)}</script>')
        import_extra("plotly", what="Writing a page", extra="plot")
        # Compressed: a page of some figures is below a megabyte. Our script unpacks it, and the policy knows its hash.
        whole = any(trace.type not in _BUNDLED for figure in figures.values() for trace in figure.data)
        packed, mark = packed_script(whole)
        tags.append(f'<script type="text/plain" id="pydplib-plotly">{packed}</script>')
        tags.append(f"<script>{drawing_script()}</script>")
        policy.append(f"script-src {mark} {_hash(drawing_script())}")
    policy.append("base-uri 'none'; form-action 'none'")
    return "\n".join(tags), "; ".join(policy)


def _hash(script: str) -> str:
    # Browsers hash the text as they parsed it, with line ends normalised.
    text = script.replace("\r\n", "\n").replace("\r", "\n").encode()
    return f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"


def to_html(figure: Figure, path: str | Path | None = None) -> str:
    """Return a page with the figure, its title and its caption, and write it to ``path`` if given.

    The page is whole in itself: Plotly's script is inside, nothing is loaded from anywhere, and
    its content security policy forbids any connection. It follows the reader's light or dark look.

    Args:
        figure: As the builders of ``pydplib.plot`` return it.
        path: Where to write the page; its folder is made if needed.

    Examples:
        >>> from pydplib import plot
        >>> page = plot.to_html(plot.bar(["a"], {"n": [1]}, title="One"))
        >>> page.count('id="pydplib-plotly"'), "<h1>One</h1>" in page
        (1, True)
    """
    figure = _as_ours(figure)
    title, caption = figure.words
    scripts, policy = page_scripts({"figure-1": figure})
    heading = f"<h1>{escape(title)}</h1>" if title else ""
    lines = "".join(f"<p>{escape(line)}</p>" for line in figure.caption_lines)
    words = f"<figcaption>{lines}</figcaption>" if caption else ""
    page = (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(title or 'Figure')}</title><style>{_page_style()}</style></head>\n"
        f'<body><main>{heading}<figure><div data-figure="figure-1"></div>{words}</figure></main>\n'
        f"{scripts}\n</body></html>\n"
    )
    if path is not None:
        write_file(Path(path), page.encode())
    return page


def to_frame(figure: Figure) -> str:
    """Return the page of a figure in a frame of its own, for notebooks: whole in itself, also after a conversion."""
    title, caption = figure.words
    lines = sum(-(-max(len(line), 1) // 105) for line in caption.split("\n")) if caption else 0
    height = (figure.layout.height or 420) + 70 + 30 * -(-len(title) // 70) + 26 * lines
    return (
        f'<iframe srcdoc="{escape(to_html(figure))}" sandbox="allow-scripts allow-downloads" title="{escape(title)}" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )


def _page_style() -> str:
    def colours(mode: str) -> str:
        look = SURFACES[mode]
        return f"body{{background:{look['surface']};color:{look['text']}}}figcaption{{color:{look['muted']}}}"

    return (
        f"body{{font:16px/1.5 {FONT};margin:0}}main{{max-width:60rem;margin:0 auto;padding:1.5rem 1rem}}"
        "h1{font-size:1.3rem;line-height:1.3;margin:0 0 .75rem}figure{margin:0;padding-top:.75rem}"
        # The buttons have a line of their own above the figure, and none on phones.
        ".modebar-container{top:-1.9rem!important}@media(max-width:40rem){.modebar-container{display:none}}"
        "figcaption{font-size:.9rem;max-width:46rem;margin-top:.5rem}figcaption p{margin:0 0 .4rem}"
        f"{colours('light')}@media screen and (prefers-color-scheme:dark){{{colours('dark')}}}"
    )


def to_png(figure: Figure, path: str | Path, *, width: int = 960, scale: float = 2, mode: Mode = "light") -> Path:
    """Write the figure as a picture, title and caption drawn in, and return the path.

    Kaleido draws it with a Chromium or Chrome of this machine, offline. The ending of ``path``
    says the format: png, svg, pdf, webp or jpeg.

    Args:
        figure: As the builders of ``pydplib.plot`` return it.
        path: Where to write; its folder is made if needed.
        width: In pixels, before ``scale``.
        scale: Pixels of the picture per pixel of ``width``; 2 is sharp on most screens.
        mode: ``"light"`` or ``"dark"``.

    Raises:
        MissingExtraError: Kaleido is not installed.
        ParameterError: There is no Chromium or Chrome, or the format is unknown.

    Examples:
        >>> from pydplib import plot
        >>> plot.to_png(plot.bar(["a"], {"n": [1]}), "figure.bmp")
        Traceback (most recent call last):
        ...
        pydplib.errors.ParameterError: A picture ends in .png, .svg, .pdf, .webp or .jpeg. Got '.bmp'.
    """
    return to_pngs([(figure, Path(path))], width=width, scale=scale, mode=mode)[0]


def to_pngs(
    figures: Sequence[tuple[Figure, str | Path]],
    *,
    width: int = 960,
    scale: float = 2,
    mode: Mode = "light",
) -> list[Path]:
    """Write several figures as pictures with one start of the browser; see ``to_png``."""
    jobs = [(_as_ours(figure), Path(path)) for figure, path in figures]
    for _, path in jobs:
        if format_of(path) not in PICTURES:
            endings = ", ".join(f".{ending}" for ending in PICTURES[:-1])
            raise ParameterError(f"A picture ends in {endings} or .{PICTURES[-1]}. Got '{path.suffix}'.")
    if jobs:
        _draw_pictures(
            [(figure, format_of(path), partial(write_file, path)) for figure, path in jobs], width, scale, mode
        )
    return [path for _, path in jobs]


def picture(figure: Figure, format: str, *, width: int, height: int | None, scale: float, mode: Mode) -> bytes:
    """Return one figure as a picture, with its words; see ``Figure.to_image``."""
    if format.lower().replace("jpg", "jpeg") not in PICTURES:
        raise ParameterError(f"A picture is {', '.join(PICTURES[:-1])} or {PICTURES[-1]}. Got '{format}'.")
    if height is not None:
        # What the words take is taken from the figure, which keeps at least 120 pixels.
        words = figure.drawn(width=width, mode=mode).layout.height - (figure.layout.height or 420)
        figure = Figure(figure).update_layout(height=max(120, height - words))
    found: list[bytes] = []
    _draw_pictures([(figure, format.lower().replace("jpg", "jpeg"), found.append)], width, scale, mode)
    return found[0]


def _draw_pictures(
    jobs: Sequence[tuple[Figure, str, Callable[[bytes], Any]]], width: int, scale: float, mode: Mode
) -> None:
    """Draw figures with one start of the browser, and hand each picture to its function."""
    kaleido: Any = import_extra("kaleido", what="Writing a picture", extra="plot")
    errors: Any = import_extra("kaleido.errors", what="Writing a picture", extra="plot")

    async def draw_all() -> None:
        # Without mathjax=False Kaleido would ask a foreign host for MathJax.
        async with kaleido.Kaleido(n=1, mathjax=False, timeout=60) as browser:
            for figure, format, take in jobs:
                drawn = figure.drawn(width=width, mode=mode)
                size = {"format": format, "width": width, "height": drawn.layout.height, "scale": scale}
                take(await browser.calc_fig(drawn.to_dict(), opts=size))

    try:
        # In a thread of its own: notebooks already have a running event loop.
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(asyncio.run, draw_all()).result()
    except errors.ChromeNotFoundError:
        raise _no_browser() from None


def format_of(path: Path) -> str:
    """Return the format that the ending of a path names."""
    return path.suffix.lstrip(".").lower().replace("jpg", "jpeg")


def _no_browser() -> ParameterError:
    return ParameterError(
        "Pictures are drawn by Chromium or Chrome, and none was found on this machine. "
        "Debian and Ubuntu: sudo apt install chromium; elsewhere install Chrome; "
        "or set BROWSER_PATH to where it is. Pages (to_html) need no browser to be written."
    )


def _as_ours(figure: Any) -> Figure:
    return figure if isinstance(figure, Figure) else Figure(figure)


def write_file(path: Path, content: bytes) -> None:
    """Write a file and make its folder, or say why it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise ParameterError(f"'{path}' cannot be written: {error.strerror}.") from None


def figure_arrays(figure: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Return every array of a figure by its path, with Plotly's packed ``bdata`` decoded.

    A reader of a page has all of them, whatever the picture shows.

    Args:
        figure: A Plotly figure, its JSON text, or the dict of that.

    Examples:
        >>> from pydplib import plot
        >>> figure_arrays(plot.bar(["a", "b"], {"n": [1, 2]}))["data.0.y"]
        array([1., 2.])
    """
    if hasattr(figure, "to_json"):
        figure = figure.to_json()
    values = json.loads(figure) if isinstance(figure, str) else figure
    return dict(_walk(values, ""))


def _walk(value: Any, path: str) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(value, dict):
        if "bdata" in value and "dtype" in value:
            packed = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            shape = [int(size) for size in str(value.get("shape", packed.size)).split(",")]
            yield path, packed.reshape(shape)
            return
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if value and not any(isinstance(item, dict) for item in value):
            array = np.array(value) if _is_even(value) else np.array(value, dtype=object)
            yield path, array
        for place, item in enumerate(value):
            if isinstance(item, dict):
                yield from _walk(item, f"{path}.{place}")


def _is_even(value: list[Any]) -> bool:
    """Tell whether a list is rectangular, so that NumPy can hold it as a table."""
    sizes = {len(item) if isinstance(item, list) else -1 for item in value}
    return len(sizes) == 1
