"""The commands `ramet jobs ...`, each imported when it is named: `--help` need not wait for all of them.

An error that a user can correct leaves as `UserError` or `StoreError`: one line and exit status 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from ramet.commands.errors import StoreMissing
from ramet.commands.extras import ExtraMissing
from ramet.jobs.errors import JOBS_EXTRA, InputError, NotFound


class Entry(NamedTuple):
    """A command that is imported at its first use."""

    module: str
    """Name of the module in `ramet.jobs.commands`."""
    attribute: str
    short_help: str
    """Short help of the command, as the command itself has it; a test compares them."""


class Words(click.Group):
    """A group whose words are text: what a terminal could not decode is in no database."""

    def __init__(self, *arguments: Any, entries: Mapping[str, Entry] | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.entries = entries or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *self.entries})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name.

        Raises:
            ExtraMissing: a package is not installed that it needs.
        """
        entry = self.entries.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        try:
            found: click.Command = getattr(import_module(f"ramet.jobs.commands.{entry.module}"), entry.attribute)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "ramet":
                raise
            raise ExtraMissing(f"this needs {error.name}: run `pip install {JOBS_EXTRA}`") from error
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names with their short helps, without importing the commands."""
        rows = {name: entry.short_help for name, entry in self.entries.items()}
        for name in super().list_commands(ctx):
            command = super().get_command(ctx, name)
            if command is not None and not command.hidden:
                rows[name] = command.get_short_help_str(formatter.width)
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words of a command line.

        Raises:
            InputError: one of them has bytes that are no UTF-8, or a NUL.
        """
        for word in args:
            if "\0" in word or any("\ud800" <= character <= "\udfff" for character in word):
                raise InputError(f"{ascii(word)[:80]} is not valid UTF-8: type it again")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named.

        Raises:
            NotFound: there is no database; where it was looked for, and what makes one.
        """
        try:
            return super().invoke(ctx)
        except StoreMissing as missing:
            where = str(missing).partition(": ")[0]
            raise NotFound(f"{where}: `ramet jobs init` makes it, or give the right one with --db") from missing


COMMANDS = {
    "init": Entry("setup", "init", "Say who looks for work, and what for."),
    "import": Entry("setup", "import_command", "Take over another job finder's records and queue."),
    "run": Entry("run", "run_command", "Scrape sources, filter and score what is new."),
    "work": Entry("run", "work_command", "Work on what is in the queue."),
    "look": Entry("look", "look", "Judge a single opening by its address."),
    "vendors": Entry("lists", "list_vendors", "Show which vendors of boards are known."),
    "add-openings": Entry("openings", "add_openings", "Judge openings that another program found."),
    "matches": Entry("matches", "matches_command", "What fits."),
    "mark": Entry("matches", "mark_command", "Say what you did about matches."),
    "rescore": Entry("rescore", "rescore_command", "Judge what is stored with the settings of now."),
    "export": Entry("matches", "export", "Write matches as CSV, JSON or Markdown."),
    "why": Entry("why", "why", "Why a listing was dropped, or is a match."),
    "rejected": Entry("lists", "rejected_command", "What did not fit, and why in a few words."),
}
SCHEDULE_COMMANDS = {
    "daily": Entry("schedule", "daily", "Run every day."),
    "weekly": Entry("schedule", "weekly", "Run once a week."),
    "show": Entry("schedule", "show", "When the next run is, and what became of the last ones."),
    "off": Entry("schedule", "off", "Run no more by itself."),
}
COMPANY_COMMANDS = {
    "add": Entry("sources", "add_company", "Look at companies."),
    "list": Entry("lists", "list_companies", "Show companies."),
}
SOURCES_COMMANDS = {
    "list": Entry("lists", "list_sources", "Show sources and how they do."),
    "add": Entry("add_source", "add_source", "Add the address of a list of openings."),
    "suggested": Entry("add_source", "suggested", "Show boards of companies to begin with."),
    "approve": Entry("sources", "approve", "Test sources that wait for a person, and enable them."),
    "enable": Entry("sources", "enable", "Scrape a source again that was switched off."),
    "disable": Entry("sources", "disable", "Let a source be."),
}


@click.group(cls=Words, entries=COMMANDS, short_help="Find openings that fit, on companies' own boards.")
def jobs() -> None:
    """Follow companies to their boards, scrape these, and say of each opening whether it fits, and why not.

    \b
      ramet jobs init --sample           who looks for work, and what for
      ramet jobs company add acme.com    look at a company, and for its board
      ramet jobs sources list            boards, and which of them wait for you
      ramet jobs run                     scrape, filter and score what is new
      ramet jobs matches                 what fits, new ones first
      ramet jobs mark ID applied         say what you did about one
      ramet jobs why URL                 why one was dropped
    """


@jobs.group(cls=Words, entries=COMPANY_COMMANDS, short_help="Companies.")
def company() -> None:
    """Companies, and where their openings are listed."""


@jobs.group(cls=Words, entries=SCHEDULE_COMMANDS, short_help="Runs by themselves, and a digest of new matches.")
def schedule() -> None:
    """Run by itself, and tell of new matches through the channels of alerts (`ramet alerts channels`)."""


@jobs.group(cls=Words, entries=SOURCES_COMMANDS, short_help="Boards and feeds.")
def sources() -> None:
    """Boards and feeds that are scraped."""
