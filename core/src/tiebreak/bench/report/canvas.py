"""`Canvas`: a matplotlib figure that becomes an SVG element whose colours are the page's own.

Nothing is drawn in a colour: plots use the names below, which are colours that no plot would have, and which become
CSS variables, so that one picture serves light and dark. Text stays text, in the page's font.
"""

from __future__ import annotations

import contextlib
import html
import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.errors import EngineUnavailable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CARD", "HUES", "INK", "LINE", "SOFT", "Canvas", "label_points", "panels", "require"]

INK, SOFT, LINE, CARD = "#010101", "#010102", "#010103", "#010104"
HUES = tuple(f"#0102{number:02x}" for number in range(1, 8))
VARIABLES = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    CARD: "var(--card)",
    **{hue: f"var(--hue{number})" for number, hue in enumerate(HUES, start=1)},
}
WIDTH = 390
"""Pixels: so wide that a phone shows it without making letters small; wider pages put two beside each other."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tiebreak",  # equal figures make equal files
    "text.parse_math": False,  # a label may hold a dollar
    "font.family": ["DejaVu Sans"],
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
}
NOISE = r"(?s).*([Gg]lyph|[Ff]ont|constrained_layout|deprecat)"
"""What matplotlib warns of that is no concern of a reader: its font lacks letters that the browser's has, a label that
is too long for its picture, and what it or pyparsing is going to rename.
"""


def require() -> None:
    """Nothing, where plots can be drawn.

    Raises:
        EngineUnavailable: matplotlib is not installed.
    """
    try:
        with _quiet():
            import matplotlib  # noqa: F401
    except ImportError:
        raise EngineUnavailable(
            "The plots of report.html are drawn with matplotlib, which is not installed.",
            remedy="Install it: pip install 'tiebreak[bench]'.",
        ) from None


@attrs.frozen(kw_only=True)
class Canvas:
    """A picture to be.

    Attributes:
        name: unique in its page, letters and dashes.
        title: what screen readers say.
        height: in pixels; the width is always one.
    """

    name: str
    title: str
    height: int = 300

    def svg(self, draw: Callable[[Figure], None]) -> str:
        """What `draw` makes of an empty figure, as an SVG element for an HTML page.

        Raises:
            EngineUnavailable: matplotlib is not installed.
        """
        require()
        with _quiet():
            import matplotlib as mpl
            from matplotlib.backends.backend_svg import FigureCanvasSVG
            from matplotlib.figure import Figure

            with mpl.rc_context():
                mpl.rcdefaults()  # a reader's own matplotlibrc is for his own plots
                settings: Any = mpl.rcParams
                settings.update(STYLE)
                # The SVG backend counts 72 points to the inch, and a page shows a point of it as a pixel.
                figure = Figure(figsize=(WIDTH / 72, self.height / 72), dpi=72, layout="constrained")
                FigureCanvasSVG(figure)
                draw(figure)
                written = io.BytesIO()
                figure.savefig(written, format="svg", metadata={"Date": None})
        return "".join(self._inline(ET.fromstring(written.getvalue())))  # noqa: S314  as above

    def _inline(self, root: ET.Element) -> Iterator[str]:
        """The element without what is for files: no style of its own, no description, no ids but those in use."""
        used = {match for each in root.iter() for value in each.attrib.values() for match in _REFERENCE.findall(value)}
        box = html.escape(root.attrib["viewBox"])
        yield f'<svg viewBox="{box}" role="img" aria-label="{html.escape(self.title)}">'
        for child in root:
            yield from self._element(child, used)
        yield "</svg>"

    def _element(self, element: ET.Element, used: set[str]) -> Iterator[str]:
        tag = element.tag.rpartition("}")[2]
        if tag in ("metadata", "style"):
            return
        attributes = "".join(self._attribute(name, value, used) for name, value in element.attrib.items())
        yield f"<{tag}{attributes}>"
        yield html.escape((element.text or "").strip("\n"))
        for child in element:
            yield from self._element(child, used)
        yield f"</{tag}>"

    def _attribute(self, name: str, value: str, used: set[str]) -> str:
        name = name.rpartition("}")[2]
        if name == "id":
            return f' id="{self.name}-{html.escape(value)}"' if value in used else ""
        if name == "style":
            value = _FONT.sub(r"font-size: \1", _FAMILY.sub("", value))
            value = _COLOUR.sub(lambda match: VARIABLES.get(match[0], match[0]), value)
        value = _REFERENCE.sub(lambda match: match[0].replace("#", f"#{self.name}-", 1), value)
        value = _LONG.sub(lambda match: f"{float(match[0]):.2f}", value.replace("\n", " ").strip())
        return f' {name}="{html.escape(value)}"'


_REFERENCE = re.compile(r"(?:^|url\()#([\w.-]+)")
_FONT = re.compile(r"font: ([\d.]+px) [^;]*")
_FAMILY = re.compile(r"font-family: [^;]*;?")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_LONG = re.compile(r"\d+\.\d{3,}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NOISE)
        yield


def panels(figure: Figure, count: int) -> list[Axes]:
    """So many small plots, two beside each other, with common axes."""
    rows = -(-count // 2)
    grid = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
    every: list[Axes] = list(grid.flat)
    for spare in every[count:]:
        spare.set_axis_off()
    return every[:count]


def label_points(axes: Axes, points: Sequence[tuple[float, float, str]], colour: str = INK) -> None:
    """Write each label beside its point, where it covers no other label, no point, and ends inside the figure."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    at = [axes.transData.transform((x, y)) for x, y, _ in points]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in at]
    left, bottom, right, top = map(float, axes.bbox.extents)
    frame = (left, bottom, right, top)
    for (x, y), (to_x, to_y, label) in zip(at, points, strict=True):
        text = axes.annotate(label, (to_x, to_y), xytext=(0, 0), textcoords="offset pixels", color=colour)
        size = text.get_window_extent()
        best = min(_offsets(size.width), key=lambda place: _crowding(_box(x, y, size, place), taken, frame))
        text.remove()
        axes.annotate(label, (to_x, to_y), xytext=best, textcoords="offset pixels", color=colour)
        taken.append(_box(x, y, size, best))


Box = tuple[float, float, float, float]


def _offsets(width: float) -> list[tuple[float, float]]:
    """Where a label's lower left corner may be, seen from its point; the best first."""
    near = [(8.0, 5.0), (8.0, -14.0), (-8.0 - width, 5.0), (-8.0 - width, -14.0)]
    far = [(x, y) for y in (20.0, -29.0, 35.0, -44.0, 50.0, -59.0) for x in (8.0, -8.0 - width)]
    return near + far


def _box(x: float, y: float, size: Any, place: tuple[float, float]) -> Box:
    return (x + place[0], y + place[1], x + place[0] + size.width, y + place[1] + size.height)


def _crowding(box: Box, taken: Sequence[Box], frame: Box) -> float:
    """Square pixels of others that a box covers, and of itself that stick out."""
    return sum(_common(box, other) for other in taken) + _common(box, box) - _common(box, frame)


def _common(first: Box, second: Box) -> float:
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, wide) * max(0.0, high)
