"""The command `import`: the engine's own, with this pipeline's kinds."""

from __future__ import annotations

import click

from ramet.jobs.commands.options import DATABASE
from ramet.jobs.errors import JobsError
from ramet.jobs.pipeline import TARGET

COLUMNS = tuple(
    word
    for column in (
        "source_discovery_config.url=url", "input.url=url", "input.source_discovery_config.url=url",
        "input.pipeline_state=pipeline_state", "input.company_sub_task=sub_task", "output.error=error_details",
    )
    for word in ("--column", column)
)  # fmt: skip
"""Where the job finder that this pipeline took over from keeps what a row does not say itself."""


@click.command(
    "import",
    short_help="Take over the queue of another job finder.",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FILE [OPTION]...")
def import_command(words: tuple[str, ...]) -> None:
    """Import the tasks of another queue, with JOB taken for LISTING: `ramet import` with this pipeline's kinds.

    Its options are those of `ramet import`.
    """
    context = click.get_current_context()
    root = context.find_root()
    command = root.command.get_command(root, "import") if isinstance(root.command, click.Group) else None
    if command is None or command is context.command:
        raise JobsError("`import` is a part of the command line `ramet`: run it as `ramet jobs import`")
    named = any(word == "--db" or word.startswith("--db=") for word in words)
    default = {} if named else {"database": DATABASE}
    told = [*words, "--kinds", TARGET, *COLUMNS]
    with command.make_context("import", told, parent=context.parent, default_map=default) as made:
        command.invoke(made)
