"""Text from outside is a value and never a statement; what no database holds is refused in one line, on both stores.

`fields.py` lists the places of a client, `taking_app.py` those of a handler. The dashboard's own fields are tried in
`tests/web/test_api_fuzzed.py` and `tests/web/test_actions_fuzzed.py`, the command line in `test_command_line.py` here
and in `tests/cli/test_hostile_commands.py`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet import Client, StoreError, Worker
from ramet.testing import drain
from tests.invariants.check import violations
from tests.security.fields import FIELDS, STORED, Field
from tests.security.storing_app import OWN, PLACES, TEXTS, app
from tests.support.backends import Backend

UNSTORABLE = {"NUL": "a\0b", "half": "a\ud800b", "other half": "\udfff", "only NUL": "\0"}
SQL = [
    "'; DROP TABLE ramet_tasks; --",
    "' OR '1'='1",
    '"; DELETE FROM ramet_live; --',
    "x') ON CONFLICT DO NOTHING; --",
    "\\'; COMMIT; --",
    "%' ESCAPE '%",
    "_%",
    "?",
    "$1",
    ":name",
    "%s",
    "%(x)s",
    "{}",
    "{{",
    "/*",
    "--",
    "E'\\x27'",
    "$$",
    "NULL",
    "\\N",
    "\t",
    "\n",
    "'",
    '"',
    "`",
    "ramet_tasks",
    "pg_sleep(9)",
    "\u202e",
    "\U0001f600",
    "é",
    "e\u0301",
    "ＳＥＬＥＣＴ",
]
"""What ends a literal, a parameter, a pattern or a COPY row where somebody forgot to bind it."""
REFUSALS = (StoreError, ValueError, LookupError)


def one_line(error: BaseException) -> str:
    said = str(error)
    assert said
    assert "\n" not in said
    said.encode()
    assert "codec can't" not in said, "that is the driver's word, not ours"
    return said


@pytest.mark.parametrize("text", UNSTORABLE.values(), ids=UNSTORABLE)
async def test_what_no_database_holds_is_refused_in_one_line(client: Client, text: str) -> None:
    taken = []
    for number, field in enumerate(FIELDS):
        try:
            await field.give(client, text, f"mark{number}")
        except REFUSALS as error:
            one_line(error)
        else:
            taken.append(field.name)
    # JSON writes a NUL as an escape, and a typed payload may hold it; its key then is the caller's.
    assert set(taken) <= ({"payload"} if "\0" in text else set())


async def test_a_statement_is_a_text_like_any_other(client: Client) -> None:
    marks = itertools.count()
    for first in range(0, len(SQL), 5):
        await _try_all(client, "".join(SQL[first : first + 5]), marks)


async def _try_all(client: Client, text: str, marks: Iterator[int]) -> None:
    for field in FIELDS:
        mark = f"m{next(marks)}"
        refused, back = "", None
        try:
            back = await field.give(client, text, mark)
        except REFUSALS as error:
            refused = one_line(error)
        if refused:
            assert field not in STORED or _may_refuse(field, text), f"{field.name} refuses {text!a}: {refused}"
        else:
            assert back is (True if field.storing else None), f"{field.name} changed {text!a}"


def _may_refuse(field: Field, text: str) -> bool:
    """Names are not empty; a resource's is a pattern; whatever is too long, or cannot be stored, is refused."""
    if "\0" in text or not text.strip() or len(text) > 50 or any("\ud800" <= char <= "\udfff" for char in text):
        return True
    return field.name == "name of a resource" and "*" in text


class Opened:
    """A client for Hypothesis, whose examples share an event loop and a database."""

    def __init__(self, backend: Backend, runner: asyncio.Runner) -> None:
        self.client = app.client(backend.address)
        self.marks = itertools.count()
        self.run = runner.run


@pytest.fixture
def opened(backend: Backend) -> Iterator[Opened]:
    with asyncio.Runner() as runner:
        opened = Opened(backend, runner)
        yield opened
        found = runner.run(violations(opened.client.store))
        runner.run(opened.client.close())
        assert found == [], "\n".join(found)


TEXT = st.text(st.characters(codec=None), min_size=1, max_size=40) | st.lists(
    st.sampled_from(SQL), min_size=1, max_size=3
).map("".join)
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=5, deadline=None, suppress_health_check=SHARED)
@given(text=TEXT)
def test_any_text_comes_back_unchanged_or_is_refused(opened: Opened, text: str) -> None:
    opened.run(_try_all(opened.client, text, opened.marks))


@pytest.mark.nightly
@settings(max_examples=400, deadline=None, suppress_health_check=SHARED)
@given(text=TEXT)
def test_very_many_texts_come_back_unchanged_or_are_refused(opened: Opened, text: str) -> None:
    opened.run(_try_all(opened.client, text, opened.marks))


async def test_what_a_handler_says_is_stored_cut_or_refused_and_harms_no_neighbour(client: Client) -> None:
    """One worker settles all of them in batches: hostile text in a reason spoils nobody else's end."""
    TEXTS.clear()
    TEXTS.update(UNSTORABLE, SQL=SQL[0], long="x" * 400_000, nan=float("nan"), number=7)
    await client.store.ensure_tables([OWN])
    wanted = [("taking", {"how": how, "text": text}) for how in PLACES for text in TEXTS]
    hostile = await client.submit_many(wanted)
    innocent = await client.submit_many([("child", {"number": number}) for number in range(20)])
    await drain(app, client, advance=False)
    for submitted, (_, said) in zip(hostile, wanted, strict=True):
        task = await client.get(submitted.id)
        assert task is not None
        if said["how"] in ("snooze", "retry after") and task.state == "pending":
            continue
        assert task.state != "processing", said
        assert task.state != "pending", said
        for words in (task.reason, task.error):
            assert words is None or ("\0" not in words and len(words) <= 2_000), said
    states = {(await client.get(one.id)).state for one in innocent}  # type: ignore[union-attr]
    assert states == {"success"}
    [(rows,)] = await client.read("SELECT COUNT(*) FROM mine WHERE said = ?", [SQL[0]])
    assert rows == 2, "ctx.write and ctx.transaction"


async def test_a_worker_goes_on_whatever_a_handler_says(client: Client) -> None:
    """The same with a real worker, whose settlements share transactions."""
    TEXTS.update(UNSTORABLE, nan=float("nan"))
    places = [(how, text) for how in ("skip", "fail", "error", "queue", "stage") for text in ("NUL", "half", "nan")]
    await client.submit_many([("taking", {"how": how, "text": text}) for how, text in places])
    await client.submit_many([("child", {"number": number}) for number in range(20)])
    await Worker(app, client, until_idle=True).run()
    left = await client.tasks(states=["pending", "processing"])
    assert left.tasks == ()
