"""``fetch(ctx, url)`` in handlers: what a page is, who is asked how often, and what becomes of the task."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ramet import App, Context, Limits, SyncContext, TaskState, url_key
from ramet.engine.worker.loops import declare_limits
from ramet.fetch import Page, Refused, declare_fetching, fetch, fetch_sync
from ramet.testing import FakeClock, drain, fresh_client, run_task
from tests.fetch.hostile_server import Hostile, Request, answers, bomb, head, in_turn, sends_to
from tests.fetch.site import SETTINGS, SITE, Ran, Site, crawl, fetching_app, mapped, site

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [fetch] is not installed")

OTHER = "http://other.example"


async def errors_of(ran: Ran) -> dict[str, tuple[str, int, str]]:
    """By key: state, attempts and reason or error of each task."""
    found = {}
    async for task in ran.client.all_tasks():
        history = await ran.client.history(task.id)
        assert history is not None
        ended = [attempt.error or attempt.reason for attempt in history.attempts]
        said = next((words for words in reversed(ended) if words), "")
        found[task.key] = (task.state.value, task.attempts, said)
    return found


async def test_a_page_is_what_the_server_answered() -> None:
    async with site() as web:
        web.page("/", '<a href="/a#x">A</a>', ETag='"1"', Content_Type="text/html; charset=utf-8")
        async with crawl(web, f"{SITE}/") as ran:
            [page] = ran.pages
    assert (page.requested, page.url, page.status, page.media_type) == (f"{SITE}/", f"{SITE}/", 200, "text/html")
    assert page.headers["etag"] == '"1"'
    assert page.content == page.text().encode()
    assert page.links() == [f"{SITE}/a"]
    assert web.server.requests[-1].headers["user-agent"] == SETTINGS.user_agent


async def test_a_task_whose_time_is_nearly_over_asks_nobody_and_ends_by_its_attempts_or_its_time() -> None:
    """Coming back later would not: a task's own time stands still while it waits for a turn."""
    app = App()
    declare_fetching(app, SETTINGS)

    @app.task("page", limits=Limits(task_seconds=0.3, max_attempts=3))
    async def page(ctx: Context, url: str) -> None:
        await fetch(ctx, url)

    async with fresh_client(app) as client:
        told = await client.submit("page", SITE)
        await drain(app, client)
        task = await client.get(told.id)
    assert task is not None
    assert task.state is TaskState.FAILED
    assert task.snoozes == 0
    assert "less than 0.5 s is left of the task's time" in (task.error or "")


async def test_an_app_that_does_not_say_how_it_fetches_is_told_in_one_line() -> None:
    app = App()

    @app.task("page")
    async def page(ctx: Context, url: str) -> None:
        await fetch(ctx, url)

    run = await run_task(app, "page", SITE)
    assert (run.outcome, run.error_class) == ("error", "permanent")
    assert "declare_fetching" in (run.error or "")


async def test_a_plain_handler_fetches_from_its_thread_through_the_same_turns() -> None:
    app, threads = App(), []
    async with site() as web:
        web.page("/", "<h1>there</h1>")
        declare_fetching(app, SETTINGS, mapped=mapped(web.server), burst=10)

        @app.task("page")
        def page(ctx: SyncContext, url: str) -> str:
            threads.append(threading.current_thread())
            return fetch_sync(ctx, url).text()

        async with fresh_client(app) as client:
            await declare_limits(app, client.store)
            for number in range(3):
                await client.submit("page", f"{SITE}/", key=str(number))
            await drain(app, client)
            tasks = (await client.tasks()).tasks
            [host] = await client.resources("host:acme.example")
    assert {(task.state, task.result) for task in tasks} == {(TaskState.SUCCESS, "<h1>there</h1>")}
    assert threading.main_thread() not in threads
    assert web.paths() == ["/"] * 3
    assert host.tokens is not None
    assert host.tokens < 10.0 - 3.0, "three pages and a robots.txt"
    assert not [thread for thread in threading.enumerate() if thread.name == "ramet-fetch"], "ended with the app"


async def test_errors_are_of_the_classes_that_the_engine_retries_by() -> None:
    async with site() as web:
        web.page("/gone", "no", 410)
        web.page("/broken", "no", 500)
        web.page("/private", "no", 403)
        web.behave("/large", answers(b"x" * 2_000))
        web.behave("/pdf", answers(b"%PDF", Content_Type="application/pdf"))
        async with crawl(
            web, f"{SITE}/gone", f"{SITE}/broken", f"{SITE}/private", {"url": f"{SITE}/large", "bytes_max": 1_000},
            {"url": f"{SITE}/pdf", "media_types": ["text/html", "text/plain"]}, "ftp://acme.example/", "http://10.0.0.7/",
        ) as ran:  # fmt: skip
            found = await errors_of(ran)
    assert {key: (state, attempts) for key, (state, attempts, _) in found.items()} == {
        f"{SITE}/gone": ("failed", 1), f"{SITE}/broken": ("failed", 4), f"{SITE}/private": ("failed", 1),
        f"{SITE}/large": ("failed", 1), f"{SITE}/pdf": ("failed", 1), "ftp://acme.example/": ("failed", 1),
        "http://10.0.0.7/": ("failed", 1),
    }  # fmt: skip
    assert "Gone: " in found[f"{SITE}/gone"][2]
    assert "AnswerTooLarge: acme.example answers with more than 1,000 bytes" in found[f"{SITE}/large"][2]
    assert "application/pdf, not text/html or text/plain" in found[f"{SITE}/pdf"][2]
    assert "10.0.0.7" in found["http://10.0.0.7/"][2]


async def test_a_busy_server_puts_the_task_off_at_no_attempt() -> None:
    async with site() as web:
        web.behave("/", in_turn(answers("busy", 429, Retry_After="500"), answers("there")))
        async with crawl(web, f"{SITE}/", advance=False) as ran:
            [task] = (await ran.client.tasks()).tasks
            [host] = await ran.client.resources("host:acme.example")
            history = await ran.client.history(task.id)
    assert (task.state, task.attempts, task.snoozes) == (TaskState.PENDING, 0, 1)
    assert history is not None
    assert history.attempts[-1].reason == "retry after 500 s (host:acme.example)"
    assert host.paused_until > 0.0, "the other tasks leave the host alone too"


@pytest.mark.parametrize("header", ["-5", "soon", "1.5", ""])
async def test_a_time_that_cannot_be_read_is_as_good_as_none(header: str) -> None:
    async with site() as web:
        web.behave("/busy", answers("busy", 429, Retry_After=header))
        web.behave("/down", answers("down", 503, Retry_After=header), host="other.example")
        async with crawl(web, f"{SITE}/busy", f"{OTHER}/down", advance=False) as ran:
            found = await errors_of(ran)
    assert found[f"{SITE}/busy"] == ("pending", 0, "retry after 60 s (host:acme.example)")
    assert found[f"{OTHER}/down"][:2] == ("pending", 1), "503 without a time is a failure that passes"


class TestRobots:
    async def test_one_robots_txt_serves_all_workers_until_it_is_a_day_old(self) -> None:
        clock = FakeClock()
        async with site() as web:
            web.page("/robots.txt", "User-agent: *\nDisallow: /private", Content_Type="text/plain")
            web.page("/", "there")
            async with fresh_client(fetching_app(web.server, []), clock=clock) as client:
                for wait_seconds, asked in ((0, 1), (86_399, 1), (2, 2)):
                    clock.advance(wait_seconds)
                    worker = fetching_app(web.server, [])  # Each begins with an empty memory.
                    await declare_limits(worker, client.store)
                    for path in ("/", "/private"):
                        await client.submit("page", {"url": f"{SITE}{path}"})
                    await drain(worker, client)
                    assert [request.path for request in web.server.requests].count("/robots.txt") == asked
                refused = [task.key async for task in client.all_tasks(states=["failed"])]
        assert refused == [f"{SITE}/private"] * 3
        assert web.paths() == ["/"] * 3

    async def test_an_old_copy_holds_while_the_file_cannot_be_had(self) -> None:
        clock = FakeClock()
        async with site() as web:
            web.page("/robots.txt", "User-agent: *\nDisallow: /private", Content_Type="text/plain")
            web.page("/", "there")
            async with fresh_client(fetching_app(web.server, []), clock=clock) as client:
                states = []
                for wait_days in (0, 2, 40):
                    clock.advance(wait_days * 86_400)
                    worker = fetching_app(web.server, [])
                    await declare_limits(worker, client.store)
                    tasks = [await client.submit("page", {"url": f"{SITE}{path}"}) for path in ("/", "/private")]
                    await drain(worker, client, advance=False)
                    found = [await client.get(task.id) for task in tasks]
                    states.append([task.state.value for task in found if task is not None])
                    web.page("/robots.txt", "?", 500)
        assert states == [["success", "failed"], ["success", "failed"], ["pending", "pending"]]

    @pytest.mark.parametrize(
        ("status", "outcome"), [(404, "success"), (403, "success"), (500, "pending"), (503, "pending")]
    )
    async def test_a_missing_file_allows_all_and_an_unreachable_one_nothing(self, status: int, outcome: str) -> None:
        async with site() as web:
            web.page("/robots.txt", "?", status)
            web.page("/", "there")
            async with crawl(web, f"{SITE}/", advance=False) as ran:
                [task] = (await ran.client.tasks()).tasks
        assert task.state == outcome
        assert web.paths() == (["/"] if outcome == "success" else [])

    async def test_an_interface_for_programs_is_asked_without_robots(self) -> None:
        async with site() as web:
            web.page("/robots.txt", "User-agent: *\nDisallow: /", Content_Type="text/plain")
            web.behave("/api", answers({"a": [1]}))
            async with crawl(web, {"url": f"{SITE}/api", "robots": False}) as ran:
                [page] = ran.pages
        assert page.json() == {"a": [1]}
        assert [request.path for request in web.server.requests] == ["/api"]


class TestRedirects:
    async def test_what_a_caller_sends_to_one_origin_never_reaches_another(self) -> None:
        async with site() as web:
            web.behave("/", sends_to("/same"))
            web.behave("/same", sends_to(f"{OTHER}/there"))
            web.page("/there", "there", host="other.example")
            secret = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Accept": "text/html"}
            async with crawl(web, {"url": f"{SITE}/", "headers": secret}) as ran:
                [page] = ran.pages
            asked = [request for request in web.server.requests if request.path != "/robots.txt"]
        assert page.url == f"{OTHER}/there"
        assert [request.headers.get("authorization") for request in asked] == ["Bearer s3cret", "Bearer s3cret", None]
        assert "x-api-key" not in asked[-1].headers
        assert asked[-1].headers["accept"] == "text/html"
        assert "s3cret" not in str(asked[-1])

    async def test_cookies_are_neither_kept_nor_sent(self) -> None:
        async with site() as web:
            web.behave("/", sends_to("/next"))
            web.plays["acme.example/"] = answers(b"", 302, Location="/next", Set_Cookie="session=1")
            web.page("/next", "there")
            async with crawl(web, f"{SITE}/", {"url": f"{SITE}/next", "headers": {"Cookie": "a=b"}}) as ran:
                found = await errors_of(ran)
        assert all("cookie" not in request.headers for request in web.server.requests)
        assert found[f"{SITE}/next"][0] == "failed"

    async def test_a_judge_sees_every_address_before_it_is_asked(self) -> None:
        seen: list[str] = []

        def judge(url: str) -> None:
            seen.append(url)
            if "other" in url:
                raise Refused(f"{url} is on the deny list")

        async with site() as web:
            web.behave("/", sends_to(f"{OTHER}/there"))
            app = App()
            declare_fetching(app, SETTINGS, mapped=mapped(web.server))

            @app.task("judged", key=url_key)
            async def judged(ctx: Context, url: str) -> None:
                await fetch(ctx, url, judge=judge)

            async with fresh_client(app) as client:
                await declare_limits(app, client.store)
                await client.submit("judged", f"{SITE}/")
                await drain(app, client)
                [task] = (await client.tasks()).tasks
        assert task.state == TaskState.FAILED
        assert seen == [f"{SITE}/", f"{OTHER}/there"]
        assert web.paths("other.example") == []


class TestAliases:
    async def test_links_leave_out_where_pages_of_the_lineage_were_sent_to(self) -> None:
        async with site() as web:
            web.behave("/old", sends_to("/new"))
            web.page("/new", '<link rel=canonical href="/real?utm_source=x">')
            web.page("/", '<a href="/new">new</a><a href="/real">real</a><a href="/else">else</a>')
            async with crawl(web, f"{SITE}/old", f"{SITE}/", f"{SITE}/new") as ran:
                old, home, new = ran.pages
        assert (old.url, old.canonical) == (f"{SITE}/new", f"{SITE}/real?utm_source=x")
        assert home.links() == [f"{SITE}/else"]
        assert home.links(aliases=True) == [f"{SITE}/new", f"{SITE}/real", f"{SITE}/else"]
        assert home.alias_of is None
        assert new.alias_of == f"{SITE}/old", "its task was there before the redirect was known"

    async def test_another_lineage_knows_nothing_of_them(self) -> None:
        async with site() as web:
            web.behave("/old", sends_to("/new"))
            web.page("/new", "new")
            web.page("/", '<a href="/new">new</a>')
            async with crawl(web, f"{SITE}/old") as ran:
                [[count]] = await ran.client.store.read("SELECT COUNT(*) FROM fetch_aliases", ())
                assert count == 1
                await ran.client.submit("page", {"url": f"{SITE}/"})
                await drain_again(web, ran, ran.pages)
        assert ran.pages[-1].links() == [f"{SITE}/new"]


class TestKeptAnswers:
    async def test_an_unchanged_page_is_asked_for_by_its_validators_and_read_from_the_database(self) -> None:
        async with site() as web:

            async def play(request: Request, writer: Any) -> None:
                if request.headers.get("if-none-match") == '"7"':
                    writer.write(head(304, ETag='"7"'))
                else:
                    await answers("the body", ETag='"7"', Vary="Accept-Language", Content_Type="text/html")(
                        request, writer
                    )
                await writer.drain()

            web.behave("/", play)
            cached = {"url": f"{SITE}/", "cache": True}
            async with crawl(web, cached) as ran:
                for _ in range(2):
                    await ran.client.submit("page", cached)
                    await drain_again(web, ran, ran.pages)
        first, second, third = ran.pages
        assert (first.unchanged, second.unchanged, third.unchanged) == (False, True, True)
        assert second.text() == "the body"
        assert second.status == 200
        sent = [request.headers.get("if-none-match") for request in web.server.requests if request.path == "/"]
        assert sent == [None, '"7"', '"7"']

    @pytest.mark.parametrize(
        "headers",
        [
            {"ETag": '"1"', "Cache_Control": "private"}, {"ETag": '"1"', "Cache_Control": "max-age=1, no-store"},
            {"ETag": '"1"', "Vary": "*"}, {"ETag": '"1"', "Set_Cookie": "a=b"}, {},
        ],
    )  # fmt: skip
    async def test_answers_for_one_person_or_without_validators_are_not_kept(self, headers: dict[str, Any]) -> None:
        async with site() as web:
            web.page("/", "body", **headers)
            async with crawl(web, {"url": f"{SITE}/", "cache": True}) as ran:
                rows = await ran.client.store.read("SELECT COUNT(*) FROM fetch_answers", ())
        assert rows == [(0,)]

    async def test_an_answer_to_other_headers_is_not_used(self) -> None:
        async with site() as web:
            web.page("/", "body", ETag='"1"', Vary="Accept, X-Part")
            async with crawl(web, {"url": f"{SITE}/", "cache": True, "headers": {"X-Part": "1"}}) as ran:
                await ran.client.submit("page", {"url": f"{SITE}/", "cache": True, "headers": {"X-Part": "2"}})
                await drain_again(web, ran, ran.pages)
        assert all("if-none-match" not in request.headers for request in web.server.requests)

    async def test_a_request_with_credentials_leaves_nothing_in_the_database(self) -> None:
        async with site() as web:
            web.page("/", "body", ETag='"1"')
            signed = {"url": f"{SITE}/", "cache": True, "headers": {"Authorization": "Bearer s3cret"}}
            async with crawl(web, signed) as ran:
                rows = await ran.client.store.read("SELECT COUNT(*) FROM fetch_answers", ())
        assert rows == [(0,)]


async def drain_again(web: Site, ran: Ran, pages: list[Page]) -> None:
    """Run what was submitted since, by an app that begins with an empty memory."""
    await drain(fetching_app(web.server, pages), ran.client)


async def test_a_bomb_is_refused_by_its_ratio_long_before_it_is_unpacked() -> None:
    async with site() as web:
        packed = bomb(40)
        web.behave("/", answers(packed, Content_Encoding="gzip", Content_Type="text/html"))
        async with crawl(web, {"url": f"{SITE}/", "bytes_max": 100_000_000}) as ran:
            found = await errors_of(ran)
    assert "no page does that" in found[f"{SITE}/"][2]


async def test_at_most_so_many_requests_are_under_way_at_a_host() -> None:
    under_way = most = 0
    release = asyncio.Event()

    async def play(request: Request, writer: Any) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 2:
            release.set()
        if request.path != "/robots.txt":
            await release.wait()
            for _ in range(500):  # Others get to be there at the same time, if they are let.
                await asyncio.sleep(0)
        under_way -= 1
        await answers("there")(request, writer)

    async with Hostile(play) as server:
        app = App()
        declare_fetching(app, SETTINGS, mapped=mapped(server), requests_per_second=1_000, burst=100, concurrency=2)

        @app.task("many")
        async def many(ctx: Context, count: int) -> int:
            pages = await asyncio.gather(*(fetch(ctx, f"{SITE}/{number}") for number in range(count)))
            return len(pages)

        async with fresh_client(app) as client:
            await declare_limits(app, client.store)
            await client.submit("many", 12)
            await drain(app, client)
            [task] = (await client.tasks()).tasks
            rows = await client.store.read("SELECT slot, holder FROM fetch_host_slots", ())
    assert (task.state, task.result) == (TaskState.SUCCESS, 12)
    assert most == 2
    assert sorted(rows) == [(0, ""), (1, "")], "every place was given back"
