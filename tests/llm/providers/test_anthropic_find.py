"""Looking up a batch of Anthropic whose submit was ambiguous: nobody says "there is none" while one may be it."""

from __future__ import annotations

import threading

import pytest

from ramet.llm.errors import NotSent
from ramet.llm.providers import anthropic_batches
from tests.llm.providers.anthropic_account import Account, OnScript, batch
from tests.llm.providers.sample_requests import question
from tests.llm.providers.scripted_server import Call, Said
from tests.support.waiting import HANG_SECONDS

pytestmark = pytest.mark.network

pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")
AT = 1_795_000_000.0
"""A moment: 2026-11-18T11:06:40Z."""
NEAR, LONG_BEFORE, LONG_AFTER = "2026-11-18T11:06:50Z", "2026-11-18T07:00:00Z", "2026-11-18T17:00:00Z"


async def test_a_batch_is_found_by_the_mark_in_its_results_on_any_page(on_script: OnScript) -> None:
    account = Account(*((name, "ended", NEAR, key) for name, key in zip("abcd", "xwsy", strict=True)), page=2)
    provider = on_script(account)
    assert await provider.find("s", seconds=10) == "c"
    account.calls.clear()
    assert await provider.find("z", seconds=10) is None
    assert account.calls.count("") == 2
    assert [call for call in account.calls if call.endswith("/results")] == ["/d/results"], "what is known is kept"


async def test_nobody_says_there_is_none_while_a_batch_runs_that_may_be_it(on_script: OnScript) -> None:
    account = Account(("a", "ended", NEAR, "x"), ("b", "in_progress", NEAR, "s"))
    provider = on_script(account)
    with pytest.raises(NotSent, match="still run"):
        await provider.find("s", seconds=10)
    account.batches[1] = ("b", "ended", NEAR, "s")
    assert await provider.find("s", seconds=10) == "b"


async def test_a_batch_that_was_submitted_here_is_known_before_it_ends(on_script: OnScript) -> None:
    account = Account(("msgbatch_1", "in_progress", NEAR, "s"))
    created = Said(200, batch(state="in_progress"))
    provider = on_script(lambda call: created if call.method == "POST" else account(call))
    await provider.submit([question("a")], submit_key="s", seconds=10)
    assert await provider.find("s", seconds=10) == "msgbatch_1"
    assert await provider.find("z", seconds=10) is None


async def test_a_batch_of_another_time_is_not_looked_at(on_script: OnScript) -> None:
    later, earlier = ("a", "in_progress", LONG_AFTER, "x"), ("c", "in_progress", LONG_BEFORE, "y")
    account = Account(later, ("b", "ended", NEAR, "s"), earlier, ("d", "ended", LONG_BEFORE, "z"), page=2)
    provider = on_script(account)
    assert await provider.find("z", seconds=10, submitted_at=AT) is None
    assert await provider.find("s", seconds=10, submitted_at=AT) == "b"


async def test_a_batch_whose_results_are_deleted_is_not_looked_at(on_script: OnScript) -> None:
    old = batch("a", archived_at="2026-12-20T00:00:00Z")
    gone = Said(404, {"error": {"type": "not_found_error", "message": "m"}})
    provider = on_script(lambda call: gone if call.path.endswith("/results") else Said(200, {"data": [old]}))
    assert await provider.find("s", seconds=10) is None


async def test_a_server_that_does_not_turn_the_page_is_not_asked_for_ever(on_script: OnScript) -> None:
    page = {"data": [batch("a")], "has_more": True}
    provider = on_script(lambda call: Said(200, b"") if call.path.endswith("/results") else Said(200, page))
    with pytest.raises(NotSent, match="again"):
        await provider.find("s", seconds=10)


async def test_all_calls_together_have_the_time_that_is_given(on_script: OnScript) -> None:
    over, account = threading.Event(), Account(*((name, "ended", NEAR, name) for name in "ab"), page=1)

    def script(call: Call) -> Said:
        if len(account.calls) == 2:
            over.wait(HANG_SECONDS)
        return account(call)

    provider = on_script(script)
    try:
        with pytest.raises(NotSent, match="no time"):
            await provider.find("s", seconds=0.5)
    finally:
        over.set()


async def test_an_account_that_cannot_be_listed_in_time_is_asked_again(on_script: OnScript) -> None:
    with pytest.raises(NotSent):
        await on_script(Account()).find("s", seconds=0)


async def test_what_is_remembered_is_bounded(on_script: OnScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic_batches, "MARKS_MAX", 2)
    account = Account(*((name, "ended", NEAR, name) for name in "abcd"))
    provider = on_script(account)
    assert await provider.find("z", seconds=10) is None
    assert len(provider._marks) == 2
