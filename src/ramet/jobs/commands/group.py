"""The commands `ramet jobs ...`.

What a user can put right leaves as `UserError` or `StoreError`: one line and exit status 2.
"""

from __future__ import annotations

import click

from ramet.jobs.commands.lists import list_companies, list_sources, rejected_command
from ramet.jobs.commands.matches import export, mark_command, matches_command
from ramet.jobs.commands.run import run_command, work_command
from ramet.jobs.commands.setup import import_command, init
from ramet.jobs.commands.sources import add_company, add_source, approve, disable, enable
from ramet.jobs.commands.why import why
from ramet.jobs.errors import InputError


class Words(click.Group):
    """A group whose words are text: what a terminal could not decode is in no database."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words of a command line.

        Raises:
            InputError: one of them has bytes that are no UTF-8, or a NUL.
        """
        for word in args:
            if "\0" in word or any("\ud800" <= character <= "\udfff" for character in word):
                raise InputError(f"{ascii(word)[:80]} is no text in UTF-8: type it again")
        return super().parse_args(ctx, args)


@click.group(cls=Words, short_help="Find openings that fit, on companies' own boards.")
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


@jobs.group(short_help="Companies.")
def company() -> None:
    """Companies, and where their openings are listed."""


@jobs.group(short_help="Boards and feeds.")
def sources() -> None:
    """Boards and feeds that are scraped."""


for command in (add_company, list_companies):
    company.add_command(command)
for command in (list_sources, add_source, approve, enable, disable):
    sources.add_command(command)
for command in (
    init, run_command, work_command, matches_command, mark_command, why, rejected_command, export, import_command,
):  # fmt: skip
    jobs.add_command(command)
