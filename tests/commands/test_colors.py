"""Colours of all output: legible on a dark and on a light terminal, one table, none with NO_COLOR."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.style import Style
from rich.text import Text

import ramet
from ramet.commands.terminal import console, theme

CONTRAST_MIN = 4.0
"""Of a colour on black and on white. The product of both is 21, so that 4.58 is the most for one colour."""
SOURCE = Path(ramet.__file__).parent


def luminance(red: int, green: int, blue: int) -> float:
    """Relative luminance by WCAG."""

    def linear(value: int) -> float:
        part = value / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrasts(style: Style) -> tuple[float, float]:
    """Contrast on black and on white."""
    assert style.color is not None
    light = luminance(*style.color.get_truecolor())
    return (light + 0.05) / 0.05, 1.05 / (light + 0.05)


OWN = {
    word: style
    for word, style in theme().styles.items()
    if re.fullmatch("(bold )?(red|green|yellow|blue|magenta|cyan|dim)", word)
}


@pytest.mark.parametrize("word", OWN)
def test_every_colour_is_legible_on_a_dark_and_on_a_light_terminal(word: str) -> None:
    style = OWN[word]
    assert min(contrasts(style)) >= CONTRAST_MIN
    assert not style.dim, "the terminal decides how faint text looks: its contrast is not known"


def test_the_contrast_of_black_and_white_is_that_of_the_definition() -> None:
    assert contrasts(Style(color="#ffffff")) == pytest.approx((21.0, 1.0))
    assert min(contrasts(Style(color="bright_yellow"))) < 1.5


def words_of(tree: ast.AST) -> Iterator[str]:
    """Styles that a module names: arguments `style=`, and values of tables named STYLES."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "style":
            found: list[ast.AST] = [node.value]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [*node.value.values] if any("STYLES" in ast.unparse(one) for one in targets) else []
        else:
            continue
        for leaf in itertools.chain.from_iterable(map(ast.walk, found)):
            if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                yield leaf.value


def test_commands_use_no_colour_that_is_not_in_the_table() -> None:
    folders = ("cli", "commands", "wiki/commands", "jobs/commands", "llm/commands", "fetch")
    files = [file for folder in folders for file in sorted((SOURCE / folder).glob("**/*.py"))]
    used = {word for file in files for word in words_of(ast.parse(file.read_text(encoding="utf-8")))}
    assert {"yellow", "dim"} <= used
    without_colour = {"", "bold", "italic"}
    assert used - without_colour <= set(OWN)


def output(word: str, capsys: pytest.CaptureFixture[str]) -> str:
    console().print(Text("text", style=word))
    return capsys.readouterr().out


@pytest.mark.parametrize("word", OWN)
def test_no_color_prints_none(word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in output(word, capsys)
    assert "38;5;" in output(word, capsys)
    monkeypatch.setenv("NO_COLOR", "1")
    assert re.sub(r"\x1b\[[01]m", "", output(word, capsys)) == "text\n"
