"""Writes docs/pictures/demo.svg: what `make demo` leaves on a terminal, recorded from a real run.

`make pictures` runs it, with a `ramet` that has the extra `wiki`. A terminal is needed that understands how the bar is
drawn again and again: tmux is one.
"""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parent / "pictures" / "demo.svg"
COLUMNS = 100
SECONDS_MAX = 600
"""Most that a demonstration may take."""
LEFT_OUT = ("Who led to whom", "Try next")
"""Headings of parts that the picture does without: they are long, or of no use to who only looks."""

# As Rich's own, without its fonts: a picture fetches nothing.
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def recorded(folder: Path) -> str:
    """What the demonstration leaves on a terminal, with its colours as escape sequences.

    Raises:
        SystemExit: tmux is not there, or the demonstration failed.
    """
    ended = folder / "ended"
    ramet = Path(sys.executable).with_name("ramet")
    demo = f"env -u RAMET_DB {shlex.quote(str(ramet))} wiki demo --folder demo; echo $? > ended; tmux wait-for -S over"
    with _terminal(folder, demo) as tmux:
        subprocess.run([*tmux, "wait-for", "over"], check=True, timeout=SECONDS_MAX)
        if ended.read_text().strip() != "0":
            sys.exit("ramet wiki demo failed: install the extra wiki, and see what it says")
        shown = [*tmux, "capture-pane", "-e", "-p", "-S", "-", "-t", "demo"]
        return subprocess.run(shown, check=True, capture_output=True, text=True).stdout


@contextmanager
def _terminal(folder: Path, command: str) -> Iterator[list[str]]:
    """A terminal in which a command runs; how it is spoken to."""
    tmux = ["tmux", "-S", str(folder / "tmux")]
    size = ["-x", str(COLUMNS), "-y", "50"]
    kept = f"{command}; read forever"  # The pane stays until it has been read.
    try:
        subprocess.run([*tmux, "new-session", "-d", "-s", "demo", *size, "-c", str(folder), kept], check=True)
    except FileNotFoundError:
        sys.exit("tmux is not there: install it (Debian: tmux)")
    try:
        yield tmux
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)


def chosen(lines: list[Text]) -> Iterator[Text]:
    """The parts that the picture shows; a part begins with its heading after an empty line."""
    shown, before = True, ""
    for line in lines:
        plain = line.plain.rstrip()
        if not before and plain:
            shown = not plain.startswith(LEFT_OUT)
        if shown:
            yield line
        before = plain


def picture_of(recording: str) -> str:
    """The recording as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text("$ make demo", style="bold"))
    for line in chosen(list(AnsiDecoder().decode(recording.rstrip()))):
        console.print(line, no_wrap=True, crop=True)
    return console.export_svg(title="ramet", code_format=FORMAT, unique_id="demo")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="recording-") as place:
        PICTURE.write_text(picture_of(recorded(Path(place))), encoding="utf-8")
