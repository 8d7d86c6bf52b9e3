"""Writes docs/reference/cli.md: every command with its arguments and options, exit statuses, environment variables."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points

import click

from docs.generate_shared import PROJECT, REFERENCE, code, constants, page_of, table, written_by
from ramet.cli import main as command_line
from ramet.cli.commands import GROUP
from ramet.cli.errors import EXIT_STATUSES

PAGE = REFERENCE / "cli.md"
VARIABLE = re.compile(r"RAMET_[A-Z_]+")


def commands(found: click.Command = command_line, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command and group below one, by its words."""
    if words:
        yield " ".join(words), found
    if isinstance(found, click.Group):
        for word in found.list_commands(click.Context(found)):
            below = found.get_command(click.Context(found), word)
            assert below is not None
            yield from commands(below, (*words, word))


def options(command: click.Command) -> list[click.Option]:
    """What a command offers to people."""
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


def spelled(option: click.Option) -> str:
    """As it is typed: all its names, and what stands for its value."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return names
    return f"{names} `{option.make_metavar(click.Context(command_line))}`"


def default_of(option: click.Option) -> str:
    """What holds when it is left out, where that can be said."""
    if isinstance(option.show_default, str):
        return option.show_default
    shown = option.default
    if (
        option.is_flag
        or option.required
        or callable(shown)
        or shown is None
        or not isinstance(shown, str | int | float)
    ):
        return "required" if option.required else ""
    return code(shown)


def variables_of(param: click.Parameter) -> str:
    """The environment variables that stand for a parameter."""
    named = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar or ())
    return ", ".join(map(code, named))


def help_of(command: click.Command) -> str:
    """The help as paragraphs; what click is told to leave alone becomes a block."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        kept = part.lstrip("\n ").startswith("\b")
        text = inspect.cleandoc(part.replace("\b\n", ""))
        paragraphs.append(f"```text\n{text}\n```" if kept else text)
    return "\n\n".join(paragraphs)


def entry(words: str, command: click.Command) -> str:
    """One command."""
    usage = " ".join(["ramet", words, *command.collect_usage_pieces(click.Context(command, info_name=words))])
    rows = [
        (spelled(option), option.help or "", default_of(option), variables_of(option)) for option in options(command)
    ]
    heading = "##" if " " not in words else "###"
    below = ""
    if isinstance(command, click.Group):
        below = "Its commands: " + ", ".join(
            f"`{words} {name}`" for name in command.list_commands(click.Context(command))
        )
        rows = []
    return page_of(
        f"{heading} `ramet {words}`", f"```text\n{usage}\n```", help_of(command), below,
        table(("option", "what", "default", "environment"), rows) if rows else "",
    ).strip("\n")  # fmt: skip


def variables() -> dict[str, str]:
    """Every environment variable that a constant or an option names, and what it says."""
    told: dict[str, str] = {}
    for words, command in commands():
        for param in command.params:
            for name in VARIABLE.findall(variables_of(param)):
                option = param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
                told.setdefault(name, f"what `{option}` of `ramet {words}` and others would say")
    for file in sorted((PROJECT / "src").rglob("*.py")):
        for _, value, docstring in constants(ast.parse(file.read_text(encoding="utf-8")).body):
            if VARIABLE.fullmatch(value):
                told[value] = docstring
    return dict(sorted(told.items()))


def check_environment() -> None:
    """Look whether the environment has all commands of the project.

    Raises:
        RuntimeError: it is older than pyproject.toml; says what to do.
    """
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    missing = {*project["entry-points"][GROUP]} - {found.name for found in entry_points(group=GROUP)}
    if missing:
        raise RuntimeError(
            f"this environment is older than pyproject.toml (no command {min(missing)}): run "
            "`.venv/bin/python -m pip install --no-deps -e .`"
        )


def page() -> str:
    """The page."""
    check_environment()
    return page_of(
        "# Commands",
        written_by("generate_cli", "the commands' own help"),
        "Every command says the same with `--help`. Options go before or after arguments.",
        "## Exit status",
        table(("status", "what it means"), [(code(status), told) for status, told in EXIT_STATUSES.items()]),
        "## Environment variables",
        table(("variable", "what it says"), [(code(name), told) for name, told in variables().items()]),
        "Keys to providers of language models are read from `OPENAI_API_KEY` and `ANTHROPIC_API_KEY`. Acts are "
        "recorded with `USER`, the name of who is logged in.",
        *(entry(words, command) for words, command in commands()),
    )
