"""What the outside world put into a message of ramet's own forges no line, whoever formats it."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.engine.base.clock import SystemClock
from ramet.engine.base.task_log import BlockLog
from ramet.model.lineage.guard import BlockReason
from ramet.store.answers import SpawnResult
from ramet.store.loggers import own_logger

SOURCE = Path(__file__).parents[3] / "src" / "ramet"
FORGED = "a\nERROR all is lost\x1b[31m\r\u2028b"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What a program sees that set up logging of its own, with the formatter that comes with Python."""
    found = io.StringIO()
    handler = logging.StreamHandler(found)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    yield found
    root.removeHandler(handler)


def test_a_message_stays_on_one_line_and_steers_no_terminal(stream: io.StringIO) -> None:
    own_logger("ramet.test").warning("handler of %s failed: %s", FORGED, FORGED)
    [line] = stream.getvalue().splitlines()
    assert line.isprintable()
    assert line.count(r"a\nERROR all is lost\x1b[31m\r\u2028b") == 2


def test_a_refused_spawn_of_an_embedded_worker_is_one_line(stream: io.StringIO) -> None:
    answer = SpawnResult(None, FORGED, FORGED, BlockReason.CYCLE, {"winner": FORGED, "winner_kind": FORGED})
    BlockLog(SystemClock()).note("lineage", "task", 1, [answer])
    [line] = stream.getvalue().splitlines()
    assert line.isprintable()


def test_a_traceback_keeps_its_lines_and_steers_no_terminal(stream: io.StringIO) -> None:
    try:
        raise ValueError("x\x1b[31m")
    except ValueError:
        own_logger("ramet.test").exception("it failed")
    first, *rest = stream.getvalue().splitlines()
    assert first == "ERROR it failed"
    assert rest[0].startswith("Traceback")
    assert rest[-1] == r"ValueError: x\x1b[31m"


def test_a_harmless_message_keeps_its_arguments_for_programs_that_group_by_them() -> None:
    record = logging.LogRecord("ramet.test", logging.INFO, __file__, 1, "task %s of %d", ("ü", 2), None)
    assert own_logger("ramet.test").filter(record)
    assert (record.msg, record.args) == ("task %s of %d", ("ü", 2))


def test_every_logger_of_ramets_own_is_made_so() -> None:
    bare = re.compile(r'^\w+ = logging\.getLogger\((__name__|"ramet)', re.MULTILINE)
    found = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if bare.search(path.read_text(encoding="utf-8"))]
    assert found == [], "use own_logger"
