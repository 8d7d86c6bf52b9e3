"""Options, JSON input and limits that several commands share."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import click

from ramet import PRESETS, App, Client, Limits, Lineage, PathArguments, TaskOptions
from ramet.cli.errors import CliError, where_raised
from ramet.cli.output import database_clock
from ramet.commands import options
from ramet.commands.terminal import plain
from ramet.model.keys import allowed_shapes
from ramet.model.lineage.limits import lineage_limits as decided_limits
from ramet.model.lineage.limits import named_limits, soft_within
from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, amount_of, as_usd
from ramet.model.money import dollars as dollars_of
from ramet.model.paths import ON_DEPENDENCY_FAILURE, SCOPES
from ramet.model.values import SECONDS_MAX

Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


database_option = options.database_option("ramet.db")
"""``--db DATABASE``."""


def database_options(command: Command) -> Command:
    """Add ``--db`` and ``--json``."""
    return database_option(options.json_option(command))


def operator_options(command: Command) -> Command:
    """Add ``--reason``, ``--db`` and ``--json``, for what the audit log records."""
    return click.option("--reason", help="Why, for the record.")(database_options(command))


def app_option(command: Command) -> Command:
    """Add ``--app APP``, for commands that know only the settings of the engine and of installed packages."""
    return click.option(
        "--app", "target", metavar="MODULE:ATTR", help="An app with settings of its own, which are known then too."
    )(command)


def ask(database: str, question: Callable[[Client], Awaitable[Answer]], target: str | None = None) -> Answer:
    """Run a coroutine with a client of a database that must exist, and show times by the clock of that database.

    Args:
        target: an app whose settings are to be known.

    Raises:
        StoreError: there is no such database, or it cannot be used.
    """

    # Not the app itself: its client would make its tables, and a look writes nothing.
    app = App() if target is None else App(settings=load(target).registry.live.declared.own)

    async def asked(client: Client) -> Answer:
        database_clock.ahead_seconds = client.store.ahead_seconds
        return await question(client)

    return options.ask(app, database, asked)


def find_modules_here() -> None:
    """Let modules of the working directory be found, as Python itself does for its own command."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def load(target: str) -> App:
    """Return the app of :func:`ramet.engine.app.loading.load_app`; modules of the working directory are found.

    Raises:
        CliError: it cannot be loaded; says why and, for an error inside the module, where.
    """
    from ramet.engine.app.loading import load_app

    find_modules_here()
    try:
        return load_app(target)
    except ValueError as error:
        raise CliError(str(error)) from error
    except Exception as error:
        raise CliError(f"cannot load {target}: {type(error).__name__}: {error} ({where_raised(error)})") from error


_SHORT = re.compile(r"[0-9a-f-]{6,35}")
_IDS_OF = {"tracking_id": ("lineage", "task")}


def short_ids(*names: str) -> Callable[[Command], Command]:
    """Let these parameters of a command take a part of an id, its beginning or end, and hand the whole id on.

    A part is at least 6 characters long. One that no id has is handed on as it is, and refused as any unknown id. Of
    several words only a single one is an id: two are a kind and a key.

    Raises:
        CliError: several ids have that part; names them.
    """

    def taking(function: Command) -> Command:
        @wraps(function)
        def command(*before: Any, **given: Any) -> Any:
            for name in names:
                value, of = given[name], _IDS_OF.get(name, ("task", "lineage"))
                if isinstance(value, str):
                    given[name] = _whole_id(given["database"], value, of)
                elif value and (name != "words" or len(value) == 1):
                    given[name] = tuple(_whole_id(given["database"], one, of) for one in value)
            return function(*before, **given)

        return cast(Command, command)

    return taking


def _whole_id(database: str, text: str, of: Sequence[str]) -> str:
    if not _SHORT.fullmatch(text):
        return text

    async def question(client: Client) -> list[str]:
        for what in of:
            if found := await client.store.ids_like(text, what):
                return found
        return []

    found = ask(database, question)
    if len(found) > 1 and text not in found:
        raise CliError(f"{text} is part of several ids, such as {', '.join(found)}: give more of the one that is meant")
    return found[0] if len(found) == 1 else text


async def lineage_of(client: Client, tracking_id: str) -> Lineage:
    """Return the lineage of this name.

    Raises:
        CliError: there is none; when the name is a task's, says which lineage that task belongs to.
    """
    found = await client.lineage(tracking_id)
    if found is not None:
        return found
    task = await client.get(tracking_id)
    if task is not None:
        raise CliError(f"{tracking_id} is a task of lineage {task.tracking_id}: give that tracking id")
    raise CliError(f"no lineage {tracking_id}: `ramet status` lists them")


class _WordList(click.ParamType[list[str]]):
    """Words of a list, with commas between."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.name = "several"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self.words)}],..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        given = [word.strip() for word in str(value).split(",") if word.strip()]
        if wrong := [word for word in given if word not in self.words]:
            self.fail(f"{wrong[0]!r} is not one of {', '.join(self.words)}", param, ctx)
        return given


def several(
    flag: str, name: str, words: Iterable[str], *, help: str = "", hidden: bool = False
) -> Callable[[Command], Command]:
    """Add an option for words of a list, separated by commas or given several times; a tuple, each word once."""

    def together(ctx: click.Context, param: click.Parameter, value: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for words in value for word in words))

    known = _WordList([str(word) for word in words])
    return click.option(flag, name, multiple=True, type=known, callback=together, help=help, hidden=hidden)


SORTED_ROWS_MAX = 1_000
"""Rows that are read, the newest first, for an order that no index has."""
Row = TypeVar("Row")


class RowOrder(NamedTuple):
    """The order of rows by a column."""

    column: str
    value: Callable[[Any], Any]
    """Value of a row in this column; None where it has none."""
    descending: bool

    def first(self, rows: Iterable[Row], limit: int) -> list[Row]:
        """Return the first rows in this order, those without a value last."""
        known: list[Row] = []
        unknown: list[Row] = []
        for row in rows:
            (unknown if self.value(row) is None else known).append(row)
        return [*sorted(known, key=self.value, reverse=self.descending), *unknown][:limit]


class _SortColumn(click.ParamType[RowOrder]):
    """A column, with ``-`` before it for the greatest first."""

    name = "COLUMN"

    def __init__(self, columns: Mapping[str, Callable[[Any], Any]]) -> None:
        self.columns = columns

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RowOrder:
        column = str(value).strip().lower()
        name = column.removeprefix("-")
        if name not in self.columns:
            self.fail(f"{value!r} is not one of {', '.join(self.columns)}", param, ctx)
        return RowOrder(name, self.columns[name], column != name)


def sort_option(**columns: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Add ``--sort COLUMN``, as ``sort``: a :class:`RowOrder` or None. Each column is given with its value of a row."""
    names = {name.replace("_", "-"): value for name, value in columns.items()}
    about = f"By {', '.join(names)}; with - before it the greatest first. Of the newest {SORTED_ROWS_MAX:,} rows."
    return click.option("--sort", type=_SortColumn(names), help=about)


def rows_to_read(sort: RowOrder | None, limit: int) -> int:
    """Return the number of the newest rows to read: an order that no index has needs more of them than are shown."""
    return limit if sort is None else SORTED_ROWS_MAX


def sorted_rows(rows: Sequence[Row], sort: RowOrder | None, limit: int) -> tuple[Sequence[Row], str]:
    """Return the rows to show, and a line that says so where more may exist than were sorted, else an empty one."""
    if sort is None:
        return rows, ""
    note = f"... sorted: the newest {SORTED_ROWS_MAX:,} rows only" if len(rows) >= SORTED_ROWS_MAX else ""
    return sort.first(rows, limit), note


KEY_HELP = "in any spelling: as stored, or a text, URL, title or payload whose canonical form that is."
"""Help text for a key that is looked up."""


def compared(client: Client, kind: str | None, key: str) -> str:
    """Return the key, and its compared forms: commands know no kinds, so they try what any kind would store."""
    others = [repr(one) for one in client.spellings(kind, key) if one != key]
    return f"key {key!r}" + (f" (nor {', '.join(others)})" if others else "")


def _text_of(name: str) -> str:
    """Return the text of a file, or of standard input."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not UTF-8 text (byte {error.start}): convert it first") from error


def json_value(text: str, what: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        CliError: it is not valid JSON.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON value")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise CliError(f"{what} is nested too deeply: flatten it") from error
    except ValueError as error:
        raise CliError(f"{what} is not JSON ({error}): write it like '{_like(text)}'") from error


def _like(text: str) -> str:
    """Return the probable intention when the quotes of a text are missing; else an object."""
    meant = re.fullmatch(r"[^\s{}\[\]'\"\\][^\s'\"\\]{0,99}", text)
    return f'"{text}"' if meant and text.isprintable() else '{"n": 1}'


def parse_payload(text: str | None) -> Any:
    """Return the JSON value given on a command line: in place, in a file (``@``) or on standard input (``-``).

    Raises:
        CliError: it cannot be read or is not valid JSON.
    """
    if text is None:
        return None
    if text == "-" or text.startswith("@"):
        name = text if text == "-" else text[1:]
        return json_value(_text_of(name), "standard input" if name == "-" else name)
    return json_value(text, "the payload")


def payload_lines(name: str) -> list[Any]:
    """Return the JSON values of a file, one on each line that is not empty.

    Raises:
        CliError: it cannot be read, has none, or a line is not valid JSON.
    """
    lines = _text_of(name).split("\n")
    found = [json_value(line, f"{name} line {at}") for at, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise CliError(f"{name} has no lines: write one JSON payload on each")
    return found


class TaskRow(NamedTuple):
    """One task of many."""

    payload: Any
    options: TaskOptions


_FIELDS: dict[str, tuple[type, ...]] = {
    "key": (str,),
    "queue": (str,),
    "priority": (int,),
    "delay_seconds": (int, float),
    "path": (list,),
    "document_id": (str,),
    "reserve_path": (bool,),
    "path_scope": (str,),
    "on_dependency_failure": (str,),
    "after": (list,),
}
"""Fields of a row besides its payload."""


def rows_of(values: Sequence[Any], path: PathArguments) -> list[TaskRow]:
    """Read the lines of ``--rows``: objects with a payload and their own options; ``path`` holds for lines without one.

    Raises:
        CliError: a line is not such an object; it is named.
    """
    return [_row(value, at, path) for at, value in enumerate(values, start=1)]


def _row(value: Any, at: int, path: PathArguments) -> TaskRow:
    if not isinstance(value, dict) or "payload" not in value:
        raise CliError(f'row {at} has no payload: write each line like {{"payload": {{"n": 1}}, "path": ["doc1"]}}')
    own = {name: item for name, item in value.items() if name != "payload" and item is not None}
    for name, item in own.items():
        if name not in _FIELDS:
            raise CliError(f"row {at} has a field {name!r} that means nothing: give {', '.join(sorted(_FIELDS))}")
        if not isinstance(item, _FIELDS[name]) or (isinstance(item, bool) and name != "reserve_path"):
            raise CliError(f"{name} of row {at} is {item!r:.60}: give {_FIELDS[name][-1].__name__}")
    if not 0 <= own.get("delay_seconds", 0) < float("inf"):
        raise CliError(f"delay_seconds of row {at} is {own['delay_seconds']}: give 0 or more")
    if "after" in own:  # JSON has no tuples: a kind and a key are a list there.
        own["after"] = [tuple(each) if isinstance(each, list) else each for each in own["after"]]
    placed = "path" in own or "document_id" in own
    common = {name: item for name, item in path.items() if not (placed and name in ("path", "document_id"))}
    return TaskRow(value["payload"], cast(TaskOptions, {**common, **own}))


_PATH_OPTIONS = (
    click.option("--path", "elements", multiple=True, metavar="ELEMENT",
                 help="Path of the task: one element each time, --path doc1 --path review."),
    click.option("--path-json", metavar="JSON", help="The same as one list: '[\"doc1\", \"review\"]'."),
    click.option("--document-id", metavar="ID", help="The same as one element: --path ID."),
    click.option("--reserve-path", is_flag=True, help="Take the place in line now, although the task is delayed."),
    click.option("--path-scope", type=click.Choice(SCOPES), help="Instead of the kind's."),
    click.option("--on-dependency-failure", type=click.Choice(ON_DEPENDENCY_FAILURE),
                 help="Instead of the kind's: run when what it waited for, above it, failed."),
)  # fmt: skip


def path_options(command: Command) -> Command:
    """Add the options for a path; :func:`taken_path` reads them."""
    for option in reversed(_PATH_OPTIONS):
        command = option(command)
    return command


def taken_path(options: dict[str, Any]) -> PathArguments:
    """Take what was given of :func:`path_options` out of a command's options.

    Raises:
        CliError: several ways were used at once, or the JSON is invalid.
    """
    elements, text, document_id = (options.pop(name) for name in ("elements", "path_json", "document_id"))
    reserve, scope = options.pop("reserve_path"), options.pop("path_scope")
    ways = {"--path": elements or None, "--path-json": text, "--document-id": document_id}
    used = [name for name, value in ways.items() if value is not None]
    if len(used) > 1:
        raise CliError(f"{' and '.join(used)} both give the path of the task: use one of them")
    path = PathArguments(path_scope=scope, on_dependency_failure=options.pop("on_dependency_failure"))
    if reserve:
        path["reserve_path"] = True
    if document_id is not None:
        path["document_id"] = document_id
    elif used:
        path["path"] = list(elements) if text is None else json_value(text, "--path-json")
    return path


class Seconds(click.FloatRange):
    """A number of seconds, at most a century; `inf` and `nan` are invalid."""

    def __init__(self, least: float = 0.0, *, above: bool = False) -> None:
        super().__init__(least, SECONDS_MAX, min_open=above)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return float(found)


_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class Duration(Seconds):
    """A number of seconds, or of another unit: `50`, `50s`, `5m`, `2h`, `1d`."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        unit = _UNITS.get(text[-1:].lower())
        number = super().convert(text if unit is None else text[:-1], param, ctx)
        return super().convert(number * (unit or 1.0), param, ctx)


class Dollars(click.ParamType[int]):
    """An amount of dollars, or text with a unit such as `5 cents`; in nano-dollars."""

    name = "DOLLARS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        flag = "it" if param is None else param.opts[0]
        try:
            return amount_of(value, flag)
        except ValueError:
            pass
        try:
            return dollars_of(value.strip())
        except ValueError:
            most = AMOUNT_MAX // NANO_DOLLARS
            raise CliError(f"{flag} {plain(value)} is not an amount of dollars: give at most {most:,}") from None


COUNT = click.IntRange(0, AMOUNT_MAX)

PRESET = click.option(
    "--preset", type=click.Choice(sorted(PRESETS)), help="Limits of the lineage, instead of the app's."
)

_LIMIT_OPTIONS = (
    ("--max-tasks", "max_tasks", click.IntRange(1, AMOUNT_MAX), "N", "Tasks the lineage may ever create."),
    ("--max-depth", "max_spawn_depth", COUNT, "N", "Generations below the root."),
    ("--max-fan-out", "max_fan_out", COUNT, "N", "Children of one task."),
    ("--max-shape", "max_shape", COUNT, "N", "Spawned keys of one shape, for kinds with a trap."),
    ("--retries-per-minute", "retries_per_minute", COUNT, "N", "Retries of all its tasks; more are put off."),
    ("--max-cost", "max_cost", Dollars(), "DOLLARS", "Money that it may spend."),
    ("--soft-cost", "soft_cost", Dollars(), "DOLLARS",
     "Nothing more is reserved from here on; at most --max-cost."),
    ("--max-blob-bytes", "lineage_blob_bytes_max", COUNT, "N", "All its large payloads together."),
    ("--max-seconds", "lineage_seconds", Seconds(1), "SECONDS",
     "From the start of the lineage to its end."),
)  # fmt: skip


def lineage_limits(command: Command) -> Command:
    """Add an option for every limit that a submit gives a lineage; :func:`taken_limits` reads them."""
    for flag, name, kind, shown, help_text in reversed(_LIMIT_OPTIONS):
        command = click.option(flag, name, type=kind, metavar=shown, help=help_text)(command)
    shapes = "A shape of honest pages that --max-shape does not bound, such as https://x.example/a/#; may be repeated."
    command = click.option("--allow-shape", "allow_shapes", multiple=True, metavar="SHAPE", help=shapes)(command)
    return PRESET(command)


def taken_limits(declared: Limits, options: dict[str, Any]) -> dict[str, Any]:
    """Take what was given of :func:`lineage_limits` out of a command's options; who runs a command is an operator.

    Args:
        declared: what would hold if nothing were given.
        options: of the command; may have the name of a preset, whose limits hold where no option says more.

    Raises:
        CliError: a soft ceiling above the hard one.
    """
    taken = {name: options.pop(name) for _, name, _, _, _ in _LIMIT_OPTIONS}
    preset = options.pop("preset", None)
    given = {name: value for name, value in taken.items() if value is not None}
    given = ({} if preset is None else named_limits(PRESETS[preset])) | given
    given["allow_shapes"] = declared.allow_shapes + options.pop("allow_shapes")
    try:
        allowed_shapes(given["allow_shapes"])
    except ValueError as error:
        raise CliError(str(error)) from None
    most = given.get("max_cost", declared.max_cost)
    if "soft_cost" not in given:
        given["soft_cost"] = soft_within(declared.soft_cost, most)
    elif most is not None and given["soft_cost"] > most:
        raise CliError(f"--soft-cost is over the hard ceiling: give at most {as_usd(most)}, or more as --max-cost")
    return given


def declared_limits(app: App, kind: str) -> Limits:
    """Return the limits of a lineage whose root has this kind, when the submit gives none.

    Raises:
        UnknownKind: the app has no such kind.
    """
    return decided_limits([app.registry.get(kind).root_limits], app.limits)
