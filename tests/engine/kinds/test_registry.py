"""What a kind makes of a payload: its JSON, its key, its task; and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ramet import App, ErrorClass, InvalidKey, Limits, PayloadTooLarge, UnknownKind, title_key, url_key
from ramet.engine.kinds.registry import Kind, Registry
from ramet.model.lineage.guard import FOR_GOOD_SECONDS


class Page(BaseModel):
    url: str
    depth: int = 0


@dataclass
class Item:
    name: str
    size: int = 1


def app_with(handler: Any, **options: Any) -> tuple[App, Kind]:
    app = App()
    app.task("work", **options)(handler)
    return app, app.registry.get("work")


async def on_page(ctx: Any, page: Page) -> None: ...
async def on_item(ctx: Any, item: Item) -> None: ...
async def on_dict(ctx: Any, payload: dict[str, int]) -> None: ...
async def on_anything(ctx: Any, payload) -> None: ...  # type: ignore[no-untyped-def]
async def on_nothing(ctx: Any) -> None: ...
def in_a_thread(ctx: Any, number: int) -> None: ...


@pytest.mark.parametrize(
    ("handler", "payload", "text"),
    [
        (on_page, Page(url="u"), '{"url":"u","depth":0}'),
        (on_page, {"url": "u", "depth": "2"}, '{"url":"u","depth":2}'),
        (on_item, Item("a", 3), '{"name":"a","size":3}'),
        (on_item, {"name": "a"}, '{"name":"a","size":1}'),
        (on_dict, {"a": 1}, '{"a":1}'),
        (on_anything, {"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'),
        (on_anything, None, "null"),
        (on_nothing, None, "null"),
        (in_a_thread, 7, "7"),
    ],
)
def test_a_payload_is_stored_as_the_json_of_the_handlers_type(handler: Any, payload: Any, text: str) -> None:
    _, kind = app_with(handler)
    assert kind.new_task(payload).payload == text


@pytest.mark.parametrize(
    ("handler", "payload"),
    [
        (on_page, {"url": 1}),
        (on_page, {}),
        (on_page, "u"),
        (on_page, None),
        (on_page, Item("a")),
        (on_item, 3),
        (on_dict, {"a": "x"}),
        (in_a_thread, "seven"),
        (in_a_thread, None),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_when_it_is_given(handler: Any, payload: Any) -> None:
    _, kind = app_with(handler)
    with pytest.raises(ValidationError):
        kind.new_task(payload)


def test_the_whole_payload_is_the_key_when_the_kind_has_no_key_function() -> None:
    _, kind = app_with(on_anything)
    assert kind.new_task({"b": 1, "a": 2.0}).key == kind.new_task({"a": 2, "b": 1.0}).key
    assert kind.new_task({"a": 1}).key != kind.new_task({"a": 2}).key
    assert kind.new_task([1, 2]).key != kind.new_task([2, 1]).key
    assert kind.new_task(None).key == "work", "a task about nothing is about its kind"


def test_the_key_function_sees_the_typed_payload() -> None:
    _, kind = app_with(on_page, key=lambda page: url_key(page.url))
    key = kind.new_task({"url": "HTTP://Example.com:80/a/../b#c"}).key
    assert key == kind.new_task(Page(url="http://example.com/b")).key == "http://example.com/b"


def test_a_key_that_is_given_wins_over_the_key_function() -> None:
    _, kind = app_with(on_page, key=lambda page: title_key(page.url))
    assert kind.new_task({"url": "x"}, key="  chosen ").key == "chosen"
    for bad in ("", "  ", "a\x00b", "\ud800"):
        with pytest.raises(InvalidKey):
            kind.new_task({"url": "x"}, key=bad)


def test_a_payload_over_the_limit_is_refused_and_one_at_the_limit_is_not() -> None:
    _, kind = app_with(on_anything, limits=Limits(payload_bytes_max=10))
    assert kind.new_task("x" * 8).payload == '"xxxxxxxx"'
    with pytest.raises(PayloadTooLarge, match="work has 11 bytes, over 10"):
        kind.new_task("x" * 9)
    with pytest.raises(PayloadTooLarge, match="has 12 bytes"):
        kind.new_task("ü" * 5)


def test_a_task_carries_what_its_kind_says_unless_the_caller_says_otherwise() -> None:
    limits = Limits(max_attempts=7, task_seconds=9.0, max_chain_depth=5)
    _, kind = app_with(on_nothing, queue="slow", priority=3, limits=limits, cycle_on="kind+key")
    new = kind.new_task()
    assert (new.kind, new.queue, new.priority, new.delay_seconds, new.cycle_on) == ("work", "slow", 3, 0.0, "kind+key")
    assert (new.max_attempts, new.task_seconds, new.max_chain_depth) == (7, 9.0, 5)
    other = kind.new_task(queue="fast", priority=0, delay_seconds=4.0)
    assert (other.queue, other.priority, other.delay_seconds) == ("fast", 0, 4.0)
    assert new.id != other.id


def test_a_kind_is_found_by_name_and_by_handler() -> None:
    app, kind = app_with(on_page)
    assert app.registry.get("work") is app.registry.get(on_page) is kind
    assert kind.is_async
    assert not app_with(in_a_thread)[1].is_async


def test_an_unknown_kind_is_refused_with_the_names_that_exist() -> None:
    app, _ = app_with(on_page)
    app.task("more")(on_nothing)
    with pytest.raises(UnknownKind, match=r"no kind 'wrok' is registered \(registered: more, work\)"):
        app.registry.get("wrok")
    with pytest.raises(UnknownKind, match="no kind 'in_a_thread'"):
        app.registry.get(in_a_thread)
    with pytest.raises(UnknownKind, match="registered: none"):
        App().registry.get("work")


def test_a_kind_that_lives_elsewhere_can_be_submitted_but_not_run() -> None:
    app, _ = app_with(on_page)
    elsewhere = app.registry.known("elsewhere")
    assert elsewhere.new_task({"a": 1}).payload == '{"a":1}'
    assert elsewhere.handler is None
    assert [kind.name for kind in app.registry.kinds] == ["work"]


def test_a_name_is_registered_once() -> None:
    app, _ = app_with(on_page)
    with pytest.raises(ValueError, match="kind 'work' is registered twice"):
        app.task("work")(on_item)
    assert app.registry.get("work").handler is on_page


def test_options_that_do_not_exist_are_refused_at_registration() -> None:
    with pytest.raises(ValueError, match="cycle_on is 'kind', give 'key', 'kind\\+key' or nothing"):
        app_with(on_page, cycle_on="kind")
    with pytest.raises(ValueError, match="takes no parameters"):
        app_with(lambda: None)


def test_a_kinds_error_table_lies_over_the_engines() -> None:
    _, kind = app_with(on_page, errors={KeyError: ErrorClass.PERMANENT, TimeoutError: ErrorClass.PERMANENT})
    table = kind.error_table()
    assert table[KeyError] is ErrorClass.PERMANENT
    assert table[TimeoutError] is ErrorClass.PERMANENT
    assert table[ConnectionError] is ErrorClass.TRANSIENT


# --- cycles


def wrapped(url: str) -> str:
    return url_key(f"https://x/{url}")


@pytest.mark.parametrize(
    ("options", "given", "rule"),
    [
        ({}, None, "kind+key"),
        ({"key": str}, None, "kind+key"),
        ({"key": lambda url: url}, "https://x/a", "kind+key"),
        ({"key": lambda url: f"{url_key(url)}#part"}, None, "kind+key"),
        ({"key": url_key}, None, "key"),
        ({"key": title_key}, None, "key"),
        ({"key": wrapped}, None, "key"),
        ({"key": lambda url: url_key(url, drop_www=True)}, None, "key"),
        ({"key": url_key}, "https://x/a", "key"),
        ({}, url_key("https://x/a"), "key"),
        ({"cycle_on": "key"}, None, "key"),
        ({"key": url_key, "cycle_on": "kind+key"}, None, "kind+key"),
    ],
)
def test_only_kinds_about_a_place_are_refused_below_any_ancestor_of_their_key(
    options: dict[str, Any], given: str | None, rule: str
) -> None:
    new = kind_of(**options).new_task("https://x/a", key=given)
    assert new.cycle_on == rule
    assert type(new.key) is str


# --- over all lineages, shapes, the stop list


def kind_of(**options: Any) -> Kind:
    registry = Registry(Limits())
    defaults: dict[str, Any] = {"key": None, "queue": "q", "priority": 0, "limits": None, "cycle_on": None}

    def handler(ctx: Any, payload: Any) -> None: ...

    return registry.add("kind", handler, **{**defaults, "errors": None, **options})


@pytest.mark.parametrize(
    ("options", "seconds"),
    [({}, None), ({"unique": "global"}, FOR_GOOD_SECONDS), ({"unique": "global", "unique_seconds": 60}, 60.0),
     ({"unique": "global", "unique_seconds": 0}, 0.0)],
)  # fmt: skip
def test_a_task_carries_how_long_its_kind_holds_a_key(options: dict[str, Any], seconds: float | None) -> None:
    assert kind_of(**options).new_task({"a": 1}).unique_seconds == seconds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unique": "world"}, "give 'lineage' or 'global'"),
        ({"unique_seconds": 5.0}, "goes with unique='global'"),
        ({"unique": "global", "unique_seconds": -1.0}, "give 0 or more"),
        ({"unique": "global", "unique_seconds": float("nan")}, "give 0 or more"),
        ({"unique": "global", "unique_seconds": float("inf")}, "leave it out for good"),
    ],
)
def test_uniqueness_that_makes_no_sense_is_refused_at_registration(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind_of(**options)


def test_a_shape_is_computed_for_kinds_with_a_trap_only() -> None:
    url = "https://example.com/page/7"
    assert kind_of(trap=True).new_task(url, key=url).shape == "example.com/page/#"
    assert kind_of().new_task(url, key=url).shape is None


@pytest.mark.parametrize(
    ("given", "url"),
    [("HTTPS://Example.com:443/a#b", "https://example.com/a"), (None, None), ("", None), ("not a url", None)],
)
def test_the_url_for_the_stop_list_is_canonical_and_may_be_absent(given: str | None, url: str | None) -> None:
    assert kind_of(url=lambda payload: payload["site"]).new_task({"site": given}).url == url
