"""The command group: ramet's own commands and those of the entry-point group ``ramet.commands``, loaded when named."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import ramet
from ramet.cli.errors import EXIT_STOPPED, EXIT_USAGE, CliError, exit_code_of, one_line, say

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ramet.commands"
EXTRAS = "Extras"
FORMER_NAMES = {"acts": "audit-log", "stop-list": "deny-list"}
"""Former name -> present name; accepted until the next release, and not listed."""


class Commands(click.Group):
    """Group that loads a command of an entry point only when it is named: a broken extra breaks no other command.

    Errors that a user can put right end as one line and their exit status (2); others keep their traceback.
    """

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*MODULES, *super().list_commands(context), *_plugins()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in FORMER_NAMES:
            from ramet.commands.options import renamed

            renamed(name, FORMER_NAMES[name])
            name = FORMER_NAMES[name]
        own = super().get_command(context, name)
        if own is not None:
            return own
        if name in MODULES:
            return _own(name)
        found = _plugins().get(name)
        return None if found is None else _loaded(found)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, in aligned columns."""
        names = self.list_commands(context)
        others = sorted(set(names).difference(*SECTIONS.values()))
        width = max(map(len, names))
        for title, section in {**SECTIONS, EXTRAS: others}.items():
            found = [(name, self.get_command(context, name)) for name in section]
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width - 6 - width))
                for name, command in found
                if command is not None
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run; with ``standalone_mode`` (the default) ends the interpreter with the command's exit status."""
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")  # A key must not break an output that cannot spell it.
        arguments = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(arguments or ["--help"], prog_name or "ramet", complete_var, False, **extra)
        except click.Abort:
            click.echo("ramet: stopped", err=True)
            code = EXIT_STOPPED
        except click.ClickException as error:
            code = _usage(error)
        except Exception as error:
            found = exit_code_of(error)
            if found is None:
                raise
            say(error)
            code = found
        if not standalone_mode:
            return code
        gc.freeze()  # The process ends: what is left goes with it, and need not be looked through.
        sys.exit(code if isinstance(code, int) else 0)


def _usage(error: click.ClickException) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2 and newer; its message is the help itself.
        error.show()
    else:
        say(error)
    return EXIT_USAGE


def _own(name: str) -> click.Command:
    """Import the module of one of ramet's own commands.

    Without the collector, which would look again and again at modules that stay, and later once more: a fifth of the
    start.
    """
    module, _, attribute = MODULES[name].partition(":")
    collects = gc.isenabled()
    gc.disable()
    try:
        found = getattr(importlib.import_module(f"ramet.cli.{module}"), attribute or name.replace("-", "_"))
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
        if collects:
            gc.enable()
    assert isinstance(found, click.Command)
    return found


def _plugins() -> dict[str, EntryPoint]:
    # Late: it reads the metadata of all packages, and an own command needs none.
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=GROUP)}


def _loaded(found: EntryPoint) -> click.Command:
    """Return the command of an entry point, or one that says why it is missing."""
    try:
        command = found.load()
    except ImportError as error:
        return _missing(found.name, f"the command {found.name} is not installed: {_remedy(found)} ({one_line(error)})")
    except Exception as error:
        why = f"{type(error).__name__}: {one_line(error)}"
        return _missing(found.name, f"the command {found.name} cannot be loaded ({why}): {_remedy(found)}")
    if not isinstance(command, click.Command):
        return _missing(found.name, f"{found.value} is not a click command: {_remedy(found)}")
    return command


def _remedy(found: EntryPoint) -> str:
    package = found.dist.name if found.dist is not None else "ramet"
    extras = ",".join(found.extras) or (found.name if package == "ramet" else "")
    return f"pip install '{package}[{extras}]'" if extras else f"reinstall {package}"


def _missing(name: str, message: str) -> click.Command:
    @click.command(
        name,
        help=message,
        short_help="(not available: name it to learn why)",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False},
    )
    def command() -> None:
        raise CliError(message)

    return command


@click.command("bench", short_help="Measure the engine beside a bare loop.")
@click.option("--quick", is_flag=True, help="Fewer tasks and repeats: about a minute.")
@click.option("--folder", metavar="DIR", help="Where to put the databases (default: the system's temporary folder).")
@click.option("--db", "server", metavar="URL", help="A PostgreSQL to measure, in databases made for it and dropped.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, nothing else.")
def bench(quick: bool, folder: str | None, server: str | None, as_json: bool) -> None:
    """Measure the engine beside a bare loop, in files on this machine or on a PostgreSQL server.

    Both run the same rows with the same durability, in turns; the ratio of the two is what compares between machines.
    """
    folder_of_source = Path(ramet.__file__).parents[2]
    if not (folder_of_source / "benchmarks" / "engine").is_dir():
        raise CliError("the benchmarks are in the source only: get the sdist or the repository, and install from there")
    sys.path.insert(0, str(folder_of_source))  # the processes that run handlers inherit it
    # Late, and by name: the wheel has no such module, and this is the only command that needs a database driver.
    places, engine = (importlib.import_module(f"benchmarks.engine.{name}") for name in ("places", "run"))
    engine.run(quick=quick, place=places.place_of(server, folder), as_json=as_json)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(ramet.__version__, prog_name="ramet")
def main() -> None:
    """Durable tasks that spawn tasks: every lineage ends, every refusal is explained.

    \b
      ramet worker APP                run the handlers of an app, module:attribute
      ramet submit APP KIND '{...}'   start a lineage with one task
      ramet status --watch            what is going on
      ramet explain TASK_ID           why a task is where it is
    """


main.add_command(bench)

SECTIONS: dict[str, tuple[str, ...]] = {
    "Work": ("worker", "submit", "schedule", "import"),
    "Look": (
        "status", "stages", "tasks", "tree", "paths", "explain", "blocks", "alerts", "costs", "limits", "resources",
        "workers", "audit-log",
    ),
    "Decide": (
        "retry", "cancel", "exclude", "reprioritise", "reschedule", "lineage", "deny-list", "pause", "resume", "block",
        "unblock", "limit", "resource",
    ),
    "Operate": ("settings", "doctor", "migrate", "reclaim", "prune", "backup", "restore", "postgres", "bench"),
}  # fmt: skip
"""Own commands as the help lists them; those of entry points follow under ``Extras``."""

MODULES: dict[str, str] = {
    "import": "imports:import_command",
    **dict.fromkeys(("block", "unblock"), "queue_block"),
    **dict.fromkeys(("blocks", "deny-list"), "blocks"),
    **dict.fromkeys(("doctor", "migrate", "prune", "backup", "restore", "postgres"), "database"),
    **dict.fromkeys(("limit", "limits", "resource", "resources", "workers"), "limits"),
    **dict.fromkeys(("costs", "lineage"), "lineage"),
    **dict.fromkeys(("audit-log", "cancel", "exclude", "pause", "resume", "retry"), "operations"),
    **dict.fromkeys(("reprioritise", "reschedule"), "pending"),
    **dict.fromkeys(("status", "stages"), "status"),
    **dict.fromkeys(("tasks", "reclaim"), "tasks"),
    **{name: name for name in ("alerts", "explain", "paths", "schedule", "settings", "submit", "tree", "worker")},
}
"""The module of ``ramet.cli`` that defines a command, and after a colon its name there where it is another one."""
