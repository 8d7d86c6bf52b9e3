"""What the pictures of these pages are drawn with: plain SVG that reads on light and dark pages, and aloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from textwrap import wrap

CONCEPTS = "concepts"
"""The folder, below this one, of the pictures."""

STYLE = """
    .paper { fill: #ffffff } text { fill: #1f2328; font: 13px ui-sans-serif, sans-serif }
    .small { font-size: 11.5px } .faint { fill: #59636e } .name { font-weight: 600 }
    .code { font: 12px ui-monospace, monospace }
    .box { fill: #f6f8fa; stroke: #8c959f } .live { fill: #ddf4ff; stroke: #0969da }
    .good { fill: #dafbe1; stroke: #1a7f37 }
    .bad { fill: #ffebe9; stroke: #cf222e } .held { fill: #fff8c5; stroke: #9a6700 }
    .line { stroke: #59636e; stroke-width: 1.5; fill: none } .grid { stroke: #d8dee4 }
    .no { stroke: #cf222e; stroke-width: 1.5; fill: none; stroke-dasharray: 5 4 } .head { fill: #59636e }
    .back { stroke: #9a6700; stroke-width: 1.5; fill: none; stroke-dasharray: 5 4 }
    .headno { fill: #cf222e } .headback { fill: #9a6700 } .refused { fill: #cf222e }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 } text { fill: #e6edf3 } .faint { fill: #9198a1 }
      .box { fill: #161b22; stroke: #656c76 } .live { fill: #0c2d6b; stroke: #4493f8 }
      .good { fill: #033a16; stroke: #3fb950 }
      .bad { fill: #5d0f12; stroke: #f85149 } .held { fill: #4b2900; stroke: #d29922 }
      .line { stroke: #9198a1 } .grid { stroke: #2a313c } .head { fill: #9198a1 } .no { stroke: #f85149 }
      .back { stroke: #d29922 } .headno, .refused { fill: #f85149 } .headback { fill: #d29922 }
    }
"""
LINE = 16
"""Pixels between two lines of small text."""


def picture(title: str, told: str, width: int, height: int, body: Iterable[str]) -> str:
    """A whole file. ``told`` says in words what the picture shows."""
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="{name}" d="M0 0 8 4 0 8z"/></marker>'
        for name in ("head", "headno", "headback")
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"  <title>{escape(title)}</title><desc>{escape(told)}</desc>",
        f"  <style>{STYLE}  </style>",
        f"  <defs>{heads}</defs>",
        f'  <rect class="paper" width="{width}" height="{height}" rx="6"/>',
        *(f"  {line}" for line in body),
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text, its baseline at y."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(said)}</text>'


def lines(x: float, y: float, said: str, width: int, *, kind: str = "small", anchor: str = "start") -> Iterator[str]:
    """Text that is wrapped at so many characters, its first baseline at y."""
    for number, part in enumerate(wrap(said, width, break_long_words=False, break_on_hyphens=False)):
        yield text(x, y + number * LINE, part, kind, anchor)


def height_of(said: str, width: int) -> int:
    """Pixels that :func:`lines` takes."""
    return LINE * len(wrap(said, width, break_long_words=False, break_on_hyphens=False))


def box(x: float, y: float, width: float, height: float, said: str = "", *, kind: str = "box") -> Iterator[str]:
    """A box with its name in the middle."""
    yield f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
    if said:
        yield text(x + width / 2, y + height / 2 + 4.5, said, "name", "middle")


def arrow(path: str, kind: str = "") -> str:
    """A line with a head; ``kind``: nothing, ``no`` (refused) or ``back`` (by a person, or later)."""
    return f'<path class="{kind or "line"}" d="{path}" marker-end="url(#head{kind})"/>'
