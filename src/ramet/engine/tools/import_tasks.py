"""Importing the tasks of another queue: check, fill, enforce (docs/guides/migrating.md).

Every step reads the file from the start and may be run again. Nothing is written before the whole file was understood
and every row has its place; then tasks go in by batches, and a run that was cut short is finished by the next one,
because what exists under its id is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ramet.engine.base.json_text import PayloadTooLarge
from ramet.engine.client.new_lineage import LineageLimits
from ramet.engine.kinds.registry import Registry, UnknownKind
from ramet.engine.tools.import_files import BadRows, ImportRefused, rows_of
from ramet.model.importing import ImportedRow, RowError, Rules, as_json, from_first_stage, parse_row, state_on_arrival
from ramet.model.keys import InvalidKey
from ramet.model.lineage.limits import Limits
from ramet.model.paths import InvalidPath, PathRule, path_text
from ramet.model.reasons import Reason
from ramet.model.task.task import LIVE, NewTask
from ramet.model.values import InvalidNumber, InvalidText
from ramet.store.imports.import_tasks import as_history
from ramet.store.imports.staging import CHUNK, CYCLE, DEPTH, DUPLICATE, PlacedRow, Staging, UnplacedRow
from ramet.store.requests import ImportRunResult, ImportTask
from ramet.store.store import Store

HOLD_SECONDS = 3_600.0
"""Seconds for which tasks of a lineage that takes several batches wait at most until it is whole."""

Progress = Callable[[str, int], None]
"""Called with what is going on and how many rows are through."""


class ImportSource(NamedTuple):
    """Source of an import, and how to read it."""

    path: Path
    format: str
    table: str | None = None
    rules: Rules = Rules()
    name: str | None = None
    """Name of the import; None: the file's name."""
    skip_bad: bool = False
    """True: rows that cannot be imported are left out, and all others arrive."""
    strict: bool = False
    """True where every kind must be one that the app has."""

    @property
    def title(self) -> str:
        """The name of the import."""
        return self.name or self.path.name


class ImportReport(NamedTuple):
    """Report of a step: what it found, and did."""

    step: str
    """``check``, ``fill`` or ``enforce``."""
    rows: int
    there: int
    """Rows whose task exists already."""
    created: int
    """Tasks that this step created, or that a fill would."""
    lineages: int
    """Lineages that rows have."""
    live: int
    """Number of created tasks that are pending."""
    running_before: int
    """Number of these that were being processed there."""
    orphans: int
    """Rows that name a parent which is neither in the file nor in the database: roots, at the depth that they give."""
    history: dict[str, int]
    """Rows kept as history only, by reason."""
    states: dict[str, int]
    """States on arrival of the created, before history."""
    in_line: int = 0
    """Number of live ones with a path. They take their places in the order of the file."""
    bad: tuple[str, ...] = ()
    """Rows that were left out, each with file, line, id and what to do."""


class Importer:
    """One file on its way into one database."""

    def __init__(
        self, source: ImportSource, registry: Registry, limits: Limits, *, progress: Progress = lambda what, rows: None
    ) -> None:
        self._source = source
        self._registry = registry
        self._limits = limits
        self._decide = LineageLimits(registry, None, limits)
        self._progress = progress
        self.bad: list[str] = []
        """Rows that cannot be imported, each with file, line, id and what to do."""
        self._templates: dict[str, NewTask] = {}
        self._bounds: dict[tuple[str, ...], Limits] = {}
        """Bounds of lineages, by the kinds of their roots."""
        self._now = 0.0

    async def check(self, store: Store | None) -> ImportReport:
        """Read and place everything, write nothing. ``store`` is None for a database that does not exist yet.

        Raises:
            ImportRefused: a row cannot be imported.
        """
        with Staging() as staging:
            await self._stage(staging, store)
            return self._report("check", staging)

    async def fill(self, store: Store | Callable[[], Awaitable[Store]], by: str) -> ImportReport:
        """Create the tasks that are not there yet. A second run adds nothing twice.

        Args:
            store: the database; or how to make it where there is none, which happens after all rows were understood.
            by: who, for the record.

        Raises:
            ImportRefused: a row cannot be imported; nothing was written. Or the import is closed.
        """
        with Staging() as staging:
            await self._stage(staging, None if callable(store) else store)
            if callable(store):
                store = await store()
            await self._refuse_closed(store)
            report = self._report("fill", staging)
            created, duplicates = await self._write(staging, store)
            await self._line_up(staging, store)
            history = dict(report.history)
            if duplicates:
                history[DUPLICATE] = history.get(DUPLICATE, 0) + duplicates
            report = report._replace(created=created, history=history)
            done = ImportRunResult(report.rows, created, sum(history.values()))
            await store.import_end(self._source.title, by, done, close=False)
            return report

    async def enforce(self, store: Store, by: str) -> ImportReport:
        """Verify that every row of the file is a sound task, then close the import.

        Raises:
            ImportRefused: a task is missing or unsound; the first is named. Or the import is closed already.
        """
        with Staging() as staging:
            await self._stage(staging, store)
            await self._refuse_closed(store)
            wrong: dict[str, str] = {}
            for ids in staging.ids():
                wrong |= await store.import_verify(ids)
            for own, depth, given in staging.raised():
                wrong.setdefault(own, f"it is at depth {depth}, and the file gives {given}")
            if wrong:
                task_id = min(wrong, key=lambda name: (len(staging.where(name)), staging.where(name)))
                more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
                raise ImportRefused(f"{self._named(staging.where(task_id), task_id)}: {wrong[task_id]}{more}")
            for tracking_ids in staging.known_lineages():
                for tracking_id, found in (await store.import_recount(tracking_ids)).items():
                    raise ImportRefused(f"lineage {tracking_id} {found}: restore a backup, and report this")
            report = self._report("enforce", staging)
            await store.import_end(self._source.title, by, ImportRunResult(report.rows, 0, 0), close=True)
            return report

    async def _refuse_closed(self, store: Store) -> None:
        for row in await store.import_imports():
            if row.name == self._source.title and row.state == "closed":
                raise ImportRefused(f"the import {row.name} is closed: give --name to import more")

    # --- reading

    async def _stage(self, staging: Staging, store: Store | None) -> None:
        rows = 0
        self.bad = []
        for part in self._parts():
            twice = staging.add(part)
            self.bad += [
                f"{self._source.path} {where} (id {ascii(own)[1:-1][:80]}): its id is that of {other} too: "
                "give every row its own"
                for where, own, other in twice
            ]
            rows += len(part)
            self._progress("read", rows)
        if self.bad and not self._source.skip_bad:
            raise BadRows(self.bad)
        if not rows:
            raise ImportRefused(f"{self._source.path} has no rows: give a file with some")
        if store is not None:
            await self._look_up(staging, store)
        depths = {kind: (await self._bounds_of([kind], store)).max_spawn_depth for kind in self._templates}
        staging.place(depths)

    async def _bounds_of(self, kinds: Collection[str], store: Store | None) -> Limits:
        """Limits of a lineage whose roots are of these kinds, under the settings in force."""
        named = tuple(sorted(kinds))
        if named not in self._bounds:
            live = self._registry.live
            if store is not None:
                live.update(await store.settings())
            self._bounds[named] = live.limits(await self._decide.decided(named, store=store))
        return self._bounds[named]

    def _parts(self) -> Iterator[list[UnplacedRow]]:
        part: list[UnplacedRow] = []
        for where, row in rows_of(self._source.path, self._source.format, self._source.table):
            if isinstance(row, ImportRefused):
                self.bad.append(str(row))
                continue
            try:
                part.append(self._parsed(where, row))
            except RowError as error:
                own = row.get("id")
                self.bad.append(f"{self._named(where, own if isinstance(own, str) else None)}: {error}")
                continue
            if len(part) == CHUNK:
                yield part
                part = []
        if part:
            yield part

    def _named(self, where: str, task_id: str | None) -> str:
        return f"{self._source.path} {where}" + (f" (id {ascii(task_id)[1:-1][:80]})" if task_id else "")

    def _parsed(self, where: str, row: dict[str, object]) -> UnplacedRow:
        """Return the row with its payload as text, and its key and attempts as its kind gives them."""
        incoming = parse_row(row, self._source.rules)
        live = incoming.state in LIVE
        try:
            kind = (self._registry.get if self._source.strict else self._registry.known)(incoming.kind)
            as_json(incoming.payload, "the payload", kind.limits.payload_bytes_max)
            own_key = incoming.key if kind.key is None else None
            # A task that ended is in no line; its path is part of its past.
            new = kind.new_task(incoming.payload, key=own_key, path=incoming.path if live else ())
            incoming = from_first_stage(incoming, self._source.rules.takeovers.get(incoming.kind))
        except UnknownKind as error:
            raise RowError(f"{error}: say which one with --map {incoming.kind[:40]}=KIND") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"])) or "it"
            raise RowError(f"the payload does not fit kind {incoming.kind}: {field}: {first['msg']}") from None
        except (PayloadTooLarge, InvalidKey, InvalidPath, InvalidText, InvalidNumber) as error:
            raise RowError(str(error)) from None
        except RowError:
            raise
        except Exception as error:  # Code of the app: its key, path, URL or resource of this payload.
            problem = f"{type(error).__name__}: {error}"[:200]
            raise RowError(
                f"kind {incoming.kind} cannot take the row, its own code raises {problem}: correct it"
            ) from error
        self._templates.setdefault(incoming.kind, new)
        if incoming.pipeline_state is not None:
            text = as_json(incoming.pipeline_state, "pipeline_state", self._limits.pipeline_state_bytes_max)
            incoming = incoming._replace(pipeline_state=text)
        if incoming.max_attempts is None:
            incoming = incoming._replace(max_attempts=new.max_attempts)
        if new.path is not None:
            incoming = incoming._replace(path=list(new.path.elements))
        incoming = incoming._replace(payload=new.payload, key=new.key, resource=new.resource)
        unique_kind = None if new.unique_seconds is None else new.unique_kind
        return UnplacedRow(where, incoming, new.cycle_on == "kind+key", unique_kind)

    async def _look_up(self, staging: Staging, store: Store) -> None:
        for ids in list(staging.ids()) + list(staging.missing_parents()):
            places, _ = await store.import_places(ids)
            staging.found(places)
        for names in list(staging.named_lineages()):
            _, bounds = await store.import_places((), names)
            staging.found((), bounds)
        for ids in list(staging.missing_ancestors()):
            places, _ = await store.import_places(ids)
            staging.found(places)

    # --- writing

    async def _write(self, staging: Staging, store: Store) -> tuple[int, int]:
        """(tasks created, those of them that became duplicates of tasks not of this file)."""
        title = self._source.title
        await store.import_begin(title, "import")
        self._now = await store.now()
        hold_until = self._now + HOLD_SECONDS
        large = staging.large_lineages()
        created = duplicates = through = 0
        batch: list[ImportTask] = []

        async def flush(hold: float | None) -> None:
            nonlocal created, duplicates, batch
            answer = await store.import_tasks(title, batch, line_up_at=hold_until, hold_until=hold)
            created, duplicates, batch = created + answer.created, duplicates + len(answer.duplicates), []

        growing = at = None
        bounds = self._limits
        for part in staging.placed():
            tracking_id = part[0].tracking_id
            if batch and (tracking_id in large or len(batch) + len(part) > CHUNK):
                await flush(None)
            if growing is not None and growing != tracking_id:
                await store.import_release(growing, hold_until)
                growing = None
            if tracking_id != at:
                at, roots = tracking_id, _root_kinds(part, staging, large)
                bounds = await self._bounds_of(roots, store)
            batch += [self._arrival(placed, bounds) for placed in part]
            if tracking_id in large:
                growing = tracking_id
                await flush(hold_until)
            through += len(part)
            self._progress("written", through)
        if batch:
            await flush(None)
        if growing is not None:
            await store.import_release(growing, hold_until)
        return created, duplicates

    async def _line_up(self, staging: Staging, store: Store) -> None:
        """Give tasks on a path their places, in the order of the file, now that all of it is there."""
        since = await store.now()
        for rows in staging.lining_up():
            await store.import_line_up(rows, since)

    def _arrival(self, placed: PlacedRow, bounds: Limits) -> ImportTask:
        row = placed.incoming
        new = self._templates[row.kind]._replace(
            id=row.id, key=row.key, payload=row.payload, max_attempts=row.max_attempts, delay_seconds=0.0,
            shape=None, url=None, path=self._rule(row), resource=row.resource,
        )  # fmt: skip
        state = state_on_arrival(row.state)
        ended_at = self._now if row.ended_at is None else min(self._now, row.ended_at)
        arrival = ImportTask(
            new=new,
            tracking_id=placed.tracking_id,
            parent_id=placed.parent_id,
            ancestry_chain=placed.ancestry_chain,
            spawn_depth=placed.spawn_depth,
            max_spawn_depth=placed.max_spawn_depth,
            state=state,
            reason=None if state in ("success", "pending") else Reason("imported", status=row.status),
            error=row.error if state != "pending" else None,
            attempts=row.attempts,
            stage=row.stage,
            pipeline_state=row.pipeline_state,
            path=path_text(tuple(row.path or ())),
            created_at=(self._now if state in LIVE else ended_at) if row.created_at is None else row.created_at,
            noted=_import_notes(placed, state),
            number=placed.n,
            limits=bounds,
            ended_at=ended_at,
            held_seconds_max=self._source.rules.held_seconds.get(row.kind) if placed.takes_key else 0.0,
        )
        if placed.verdict is None:
            return arrival
        fact = "task" if placed.verdict == DUPLICATE else "text"
        return as_history(arrival, placed.verdict, Reason(placed.verdict, **{fact: placed.detail}))

    def _rule(self, row: ImportedRow) -> PathRule | None:
        """Return the path of a row that is still to run; the rest of the rule is its kind's."""
        return self._registry.known(row.kind).paths.rule(None, path=row.path or ()) if row.state in LIVE else None

    def _report(self, step: str, staging: Staging) -> ImportReport:
        fresh = staging.count("known = 0")
        states: Counter[str] = Counter()
        for state in ("pending", "processing", "success", "filtered", "skipped", "failed", "cancelled"):
            states[state_on_arrival(state)] += staging.count_state(state)
        history = {verdict: staging.count("verdict = ?", (verdict,)) for verdict in (DUPLICATE, CYCLE, DEPTH)}
        return ImportReport(
            step=step,
            rows=staging.count(),
            there=staging.count("known = 1"),
            created=0 if step == "enforce" else fresh,
            lineages=staging.count_lineages(),
            live=staging.count_state("pending", kept=True) + staging.count_state("processing", kept=True),
            running_before=staging.count_state("processing", kept=True),
            orphans=staging.orphans,
            history={verdict: count for verdict, count in history.items() if count},
            in_line=staging.count("known = 0 AND lines_up = 1 AND verdict IS NULL"),
            states={state: count for state, count in states.items() if count},
            bad=tuple(self.bad),
        )


def _root_kinds(part: Sequence[PlacedRow], staging: Staging, large: Collection[str]) -> Collection[str]:
    """Kinds of the roots of a lineage, of which this is the first part: all of it, where it is not a large one."""
    if part[0].tracking_id in large:
        return staging.root_kinds(part[0].tracking_id)
    return {one.incoming.kind for one in part if one.parent_id is None and one.verdict in (None, DUPLICATE)}


def _import_notes(placed: PlacedRow, state: str) -> tuple[str, str] | None:
    """Their word for the state, and what a person will want to know about how the row arrived."""
    row = placed.incoming
    notes = []
    if row.state != state:
        notes.append("was being processed there")
    if row.parent_id is not None and placed.parent_id is None:
        notes.append(f"its parent there: {row.parent_id}")
    if row.spawn_depth > 0 and placed.parent_id is None:
        notes.append(f"its depth there: {row.spawn_depth}")
    if row.error is not None and state == "pending":
        notes.append(f"its last error there: {row.error}")
    if placed.verdict is not None:
        notes.append(f"its key there: {row.key}")
    return (row.status or state, "; ".join(notes)) if notes else None
