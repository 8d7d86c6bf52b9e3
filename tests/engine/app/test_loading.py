"""Finding an app by its name; and what is said when it is not there, or when there are several."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ramet.engine.app.loading import load_app
from tests.engine.apps import child_app

Files = Callable[[dict[str, str]], None]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    """Write modules that can be imported while the test runs."""
    before = set(sys.modules)

    def write(texts: dict[str, str]) -> None:
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)) or name.startswith("shop"):
            del sys.modules[name]


def test_an_app_is_found_by_module_and_attribute() -> None:
    assert load_app("tests.engine.apps.child_app:app") is child_app.app
    assert load_app("tests.engine.apps.child_app") is child_app.app


def test_the_former_names_of_the_products_modules_hold_for_one_release() -> None:
    from ramet.jobs.pipeline import app

    assert load_app("ramet.pipelines.jobs.pipeline:app") is app
    assert load_app("ramet.pipelines.jobs.pipeline") is app


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("own_ramet.pipelines.jobs:app", "no module 'own_ramet.pipelines.jobs': give the app as module:attribute"),
        ("tests.engine.nowhere:app", "no module 'tests.engine.nowhere': give the app as module:attribute"),
        ("nowhere.at.all", "no module 'nowhere.at.all': give the app as module:attribute"),
        (
            "tests.engine.apps.child_app:absent",
            "tests.engine.apps.child_app has no App named 'absent': give the app as",
        ),
        ("tests.engine.apps.child_app:not_an_app", "tests.engine.apps.child_app has no App named 'not_an_app'"),
        (
            "tests.engine.app.test_pipeline",
            "tests.engine.app.test_pipeline has no App: give the app as module:attribute, or",
        ),
        ("", "give the app as module:attribute"),
        (":app", "give the app as module:attribute"),
        ("..engine:app", "give the app as module:attribute"),
    ],
)
def test_a_target_that_is_no_app_is_refused_with_what_to_give(target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_app(target)


def test_an_error_inside_the_module_is_not_taken_for_a_missing_module(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="broken on purpose"):
        load_app("tests.engine.apps.broken_app")


def test_a_module_that_a_found_module_imports_is_named_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "absent_library_app.py").write_text("import absent_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'absent_library'"):
        load_app("absent_library_app:app")


APP = "from ramet import App\napp = App()\n"
TASK = "from shop.app import app\n\n@app.task()\nasync def {0}(ctx):\n    pass\n"
SHOP = {
    "shop/__init__.py": "",
    "shop/app.py": APP,
    "shop/__main__.py": "raise SystemExit('a program of its own')\n",
    "shop/tasks/__init__.py": "",
    "shop/tasks/orders.py": TASK.format("order"),
    "shop/tasks/mail/__init__.py": TASK.format("letter"),
    "shop/tasks/mail/late.py": TASK.format("reminder"),
}


@pytest.mark.parametrize(
    ("target", "kinds"),
    [
        ("shop", ["letter", "order", "reminder"]),
        ("shop.tasks", ["letter", "order", "reminder"]),
        ("shop.tasks.mail", ["letter", "reminder"]),
        ("shop.tasks.orders", ["order"]),
        ("shop.app", []),
    ],
)
def test_the_modules_of_a_package_are_imported_so_that_their_handlers_register(
    files: Files, target: str, kinds: list[str]
) -> None:
    files(SHOP)
    assert [kind.name for kind in load_app(target).registry.kinds] == kinds


def test_a_package_without_an_init_file_is_one_too(files: Files) -> None:
    files({"shop/app.py": APP, "shop/tasks/orders.py": TASK.format("order")})
    assert [kind.name for kind in load_app("shop").registry.kinds] == ["order"]


def test_an_attribute_names_the_app_and_imports_nothing_more(files: Files) -> None:
    files({**SHOP, "shop/__init__.py": APP})
    assert load_app("shop:app").registry.kinds == ()


def test_the_only_app_of_a_module_may_have_any_name(files: Files) -> None:
    files({"shop.py": "from ramet import App\nshop = App()\nthe_same = shop\n"})
    assert load_app("shop") is load_app("shop:shop")


def test_the_name_app_goes_before_all_others(files: Files) -> None:
    files({"shop.py": f"{APP}other = App()\n"})
    assert load_app("shop") is load_app("shop:app")


@pytest.mark.parametrize(
    ("texts", "target", "said"),
    [
        (
            {"shop.py": "from ramet import App\none = App()\nother = App()\nagain = other\n"},
            "shop",
            "shop has 2 Apps: give one of shop:one, shop:other",
        ),
        (
            {"shop/__init__.py": "", "shop/a.py": APP, "shop/b.py": APP},
            "shop",
            "shop has 2 Apps: give one of shop.a:app, shop.b:app",
        ),
        (
            {"shop.py": "from ramet import App\n" + "".join(f"a{n} = App()\n" for n in range(9))},
            "shop",
            "shop has 9 Apps: give one of shop:a0, shop:a1, shop:a2, shop:a3, shop:a4 and 4 more",
        ),
        ({"shop/__init__.py": "", "shop/a.py": ""}, "shop", "shop has no App: give the app as module:attribute, or"),
    ],
)
def test_none_or_several_apps_are_told_with_what_to_give(
    files: Files, texts: dict[str, str], target: str, said: str
) -> None:
    files(texts)
    with pytest.raises(ValueError, match=said):
        load_app(target)


def test_an_error_in_a_module_of_a_package_is_not_hidden(files: Files) -> None:
    files({**SHOP, "shop/tasks/broken.py": "import absent_library\n"})
    with pytest.raises(ModuleNotFoundError, match="No module named 'absent_library'"):
        load_app("shop.tasks")
