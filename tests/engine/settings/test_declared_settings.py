"""Settings of packages and apps: known wherever the engine's are, and never in their way."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from ramet import App, Client, Context, Setting
from ramet.engine.settings.declared import DeclaredSettings, UnknownSetting, installed
from ramet.engine.settings.live import LiveSettings
from ramet.engine.settings.setting import SETTINGS
from ramet.engine.tools.doctor import doctor
from tests.support.fake_package import SHOP, fresh, installed_package
from tests.support.waiting import worked_off


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "packages"
    folder.mkdir()
    with installed_package(folder):
        yield folder


def a_setting(name: str = "own.colour", value_type: str = "string", default: Any = "red", **more: Any) -> Setting:
    return Setting(name, value_type, default, "", "a colour", "the test", **more)


@pytest.mark.usefixtures("shop")
async def test_a_packages_settings_are_set_read_listed_and_unset(client: Client) -> None:
    found = [item.name for item in await client.settings.all()]
    engines, others = found[: len(SETTINGS)], found[len(SETTINGS) :]
    assert engines == sorted(SETTINGS)
    assert others == sorted(others)  # those of this project's own packages among them
    assert [name for name in others if name.startswith("shop.")] == [
        "shop.names", "shop.pages", "shop.price_max", "shop.title",
    ]  # fmt: skip
    assert await client.settings.set("shop.pages", "8", by="ada", reason="more") == 8
    assert await client.settings.set("shop.names", '["b", "ä"]') == ["b", "ä"]
    await client.settings.refresh(age_seconds=0.0)
    live = client.settings.live
    assert [live.value(name) for name in ("shop.pages", "shop.names", "shop.title", "shop.price_max")] == [
        8, ["b", "ä"], "", None,
    ]  # fmt: skip
    assert live.stored == {"shop.names": ["b", "ä"], "shop.pages": 8}
    assert await client.settings.unset("shop.pages")
    assert (await client.settings.get("shop.pages")).value == 4
    assert [act.subject for act in await client.acts()] == ["shop.pages", "shop.names", "shop.pages"]


WRONG = [
    ("shop.pages", "many", "shop.pages is 'many': give a whole number of pages, 1 to 100"),
    ("shop.pages", 0, "shop.pages is 0: give a whole number of pages, 1 to 100"),
    ("shop.pages", 3, "shop.pages: 3 is odd: give an even number"),
    ("shop.pages", None, "shop.pages cannot be none"),
    ("shop.names", "[1,", "give a JSON value"),
    ("shop.names", {1, 2}, "shop.names cannot be written as JSON"),
    ("shop.page", 4, "no setting 'shop.page': did you mean shop.pages"),
]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(("name", "value", "said"), WRONG, ids=[f"{name}-{value}" for name, value, _ in WRONG])
async def test_what_may_not_be_is_refused_in_one_line(client: Client, name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        await client.settings.set(name, value)
    assert "\n" not in str(refused.value)
    assert await client.store.settings() == {}


@pytest.mark.usefixtures("shop")
async def test_several_are_stored_together_or_not_at_all(client: Client) -> None:
    wanted = {"shop.pages": 8, "max_tasks": 50, "shop.names": [], "shop.price_max": None}
    stored = {"limits.max_tasks": 50, "shop.names": [], "shop.pages": 8, "shop.price_max": None}
    assert await client.settings.set_many(wanted, by="ada", reason="init") == stored
    del stored["shop.price_max"]  # Its default is none.
    assert await client.store.settings() == stored
    assert {(act.by, act.reason) for act in await client.acts()} == {("ada", "init")}
    for wrong in (
        {"shop.names": ["new"], "shop.pages": 9},
        {"shop.names": ["new"], "shop.absent": 1},
        {"shop.names": ["new"], "shop.pages": "8"},
        {"shop.names": ["new"], "max_tasks": 7, "limits.max_tasks": 7},
        {"shop.names": ["new"], "max_attempts": None, "task_seconds": None},
    ):
        with pytest.raises(ValueError, match=r"shop|max_tasks is given twice|nothing would end"):
            await client.settings.set_many(wrong)
    assert await client.store.settings() == stored


async def test_an_app_has_settings_of_its_own(tmp_path: Path) -> None:
    app = App(settings=[a_setting()])
    async with app.client(tmp_path / "a.db") as client:
        await client.settings.set("own.colour", "blue")
        assert (await client.settings.all())[-1].value == "blue"
    assert [finding.check for finding in doctor(tmp_path / "a.db")] == ["settings"]
    assert doctor(tmp_path / "a.db", app.registry.live.declared) == []
    async with App().client(tmp_path / "a.db") as other:
        with pytest.raises(UnknownSetting):
            await other.settings.get("own.colour")
        assert await other.settings.unset("own.colour"), "a row that nobody knows can be removed"


UNDECLARABLE = [
    (a_setting("limits.of_yore"), "the prefix 'limits' is the engine's"),
    (a_setting("worker.x"), "the prefix 'worker' is the engine's"),
    (a_setting("colour"), "give a prefix, a dot and a name"),
    (a_setting("Own.Colour"), "give a prefix, a dot and a name"),
    (a_setting("own."), "give a prefix, a dot and a name"),
    (a_setting("own." + "x" * 200), "give a prefix, a dot and a name"),
    (a_setting(value_type="colour"), "value_type is 'colour', give int, float, string or json"),
    (a_setting(default=None), "has a default that cannot be stored: own.colour cannot be none"),
    (a_setting(value_type="int", default=-1), "has a default that cannot be stored"),
]


@pytest.mark.parametrize(
    ("setting", "said"), UNDECLARABLE, ids=[f"{n}-{s[0].name[:20]}" for n, s in enumerate(UNDECLARABLE)]
)
def test_a_setting_that_could_not_hold_is_not_declared(setting: Setting, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        App(settings=[setting])


def test_one_name_is_one_setting() -> None:
    assert len(DeclaredSettings([a_setting(), a_setting()]).own) == 1
    with pytest.raises(ValueError, match=r"own\.colour is declared twice"):
        App(settings=[a_setting(), a_setting(default="blue")])


BOUNDS = [
    (-math.inf, math.inf, "a number$"),
    (-math.inf, 5.0, "a number, 5 or less$"),
    (-12.0, 14.0, "a number, -12 to 14$"),
    (0.0, math.inf, "a number, 0 or more$"),
]


@pytest.mark.parametrize(("minimum", "maximum", "said"), BOUNDS, ids=[said for _, _, said in BOUNDS])
def test_what_to_give_is_told_with_the_bounds_that_there_are(minimum: float, maximum: float, said: str) -> None:
    setting = a_setting(value_type="float", default=1.0, minimum=minimum, maximum=maximum)
    with pytest.raises(ValueError, match=said):
        setting.read("x")


def test_a_check_that_breaks_is_a_refusal_and_ends_no_worker() -> None:
    setting = a_setting(value_type="json", default={"a": 1}, check_value=lambda value: {"a": value["a"]})
    live = LiveSettings(DeclaredSettings([setting]))
    assert live.update({"own.colour": {"b": 1}}) is False
    assert live.value("own.colour") == {"a": 1}
    with pytest.raises(ValueError, match=r"^own\.colour: KeyError: 'a'$"):
        setting.check({"b": 1})


def test_what_pydantic_says_of_a_value_is_one_short_line() -> None:
    setting = a_setting(value_type="json", default={}, check_value=TypeAdapter(dict[str, int]).validate_python)
    with pytest.raises(ValueError, match=r"^own\.colour: a: Input should be a valid integer, unable to parse") as told:
        setting.check({"a": "x"})
    assert "pydantic" not in str(told.value)


def test_a_default_is_not_changed_by_who_reads_it() -> None:
    live = LiveSettings(DeclaredSettings([a_setting(value_type="json", default=[])]))
    live.value("own.colour").append("x")
    assert live.value("own.colour") == []


BROKEN = [
    ("import absent_library", "ModuleNotFoundError: No module named 'absent_library'"),
    ("SETTINGS = 5", "TypeError"),
    ("SETTINGS = ['x']", "AttributeError"),
    ("from ramet import Setting\nSETTINGS = [Setting('limits.x', 'int', 1, '', '', '')]", "is the engine's"),
]


@pytest.mark.parametrize(("source", "why"), BROKEN, ids=[why for _, why in BROKEN])
def test_a_package_that_cannot_be_read_is_told_of_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, source: str, why: str
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "broken").mkdir()
    with installed_package(tmp_path / "shop"), installed_package(tmp_path / "broken", source, "broken"):
        assert DeclaredSettings().known("shop.pages").default == 4
    [told] = [record.getMessage() for record in caplog.records]
    assert "the settings of broken (broken_settings:SETTINGS) are not known here" in told
    assert why in told


def test_of_two_packages_with_one_name_one_holds_and_that_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "other").mkdir()
    other = SHOP.replace('"int", 4', '"int", 6')
    with installed_package(tmp_path / "other", other, "other"), installed_package(tmp_path / "shop"):
        assert DeclaredSettings().known("shop.pages").default == 6
    assert "shop.pages of shop_settings:SETTINGS is declared by another package too" in caplog.text


def test_a_package_is_not_imported_for_what_does_not_concern_it(shop: Path) -> None:
    live = App().registry.live
    assert live.update({"limits.max_tasks": 5})
    assert (live.value("limits.max_tasks"), live.value("worker.lease_seconds")) == (5, 300.0)
    assert "shop_settings" not in sys.modules
    assert installed.cache_info().currsize == 0


APP = """
from ramet import App, Context, Setting

app = App(settings=[Setting("own.colour", "string", "red", "", "a colour", "the test")])


@app.task("look", process=True)
async def look(ctx: Context) -> list[object]:
    return [ctx.client.settings.live.value(name) for name in ("own.colour", "shop.pages", "shop.names")]
"""


async def test_a_handler_in_another_process_reads_them(shop: Path, tmp_path: Path) -> None:
    (shop / "shop_app.py").write_text(APP)
    app = __import__("shop_app").app
    try:
        async with app.client(tmp_path / "a.db") as client:
            await client.settings.set_many({"own.colour": "blue", "shop.pages": 8})
            submitted = await client.submit("look")
            await worked_off(app, client, target="shop_app:app")
            assert await client.result(submitted.id) == ["blue", 8, ["a"]]
    finally:
        del sys.modules["shop_app"]


async def test_a_handler_in_the_workers_process_reads_them(tmp_path: Path) -> None:
    app = App(settings=[a_setting()])

    @app.task("look")
    async def look(ctx: Context) -> str:
        return str(ctx.client.settings.live.value("own.colour"))

    with fresh():
        async with app.client(tmp_path / "a.db") as client:
            await client.settings.set("own.colour", "blue")
            submitted = await client.submit("look")
            await worked_off(app, client)
            assert await client.result(submitted.id) == "blue"
