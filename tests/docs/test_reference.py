"""The reference is what the source says, and nothing that people meet is without a word in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import ramet
import ramet.testing
from docs import generate_api, generate_cli, generate_errors, generate_rest, generate_settings, generate_states
from docs.generate_reference import PAGES
from docs.generate_shared import members
from ramet.cli import errors
from ramet.engine.settings.declared import installed
from ramet.engine.settings.setting import SETTINGS
from ramet.model.alerts.rules import Pattern
from ramet.model.causes import CODES
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.lineage import LineageState
from ramet.model.task import lifecycle, transitions
from ramet.model.task.task import OUTCOMES, TaskState, Wait
from ramet.telemetry.families import FAMILIES
from tests.docs.pages import PAGES as ALL_PAGES
from tests.docs.pages import PROJECT, REFERENCE, text_of


@cache
def all_pages() -> str:
    return "\n".join(map(text_of, ALL_PAGES))


@cache
def in_code_style(pages: str) -> str:
    """All that stands between backticks, a line each."""
    return "\n".join(re.findall(r"(?<!`)`([^`\n]+)`(?!`)", pages))


def undocumented(names: Iterable[str], pages: str) -> list[str]:
    """The names that no page has in code style, alone or as a part of more."""
    told = in_code_style(pages)
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told)]


TOLD = ("what", "when", "raised when")
"""How the head of the column begins that says something."""


def undescribed(page: str) -> list[str]:
    """First cells of rows whose other cells leave out what the table is there to say."""
    found, told_in = [], None
    for line in page.splitlines():
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line.strip("|"))] if line.startswith("|") else []
        if not cells:
            told_in = None
        elif told_in is None:
            told_in = next(
                place for place, cell in enumerate(cells) if cell.startswith(("what", "when", "raised when"))
            )
        elif not set(cells[0]) <= {"-"} and not cells[told_in]:
            found.append(cells[0])
    return found


# --- the pages are the source's


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_each_page_is_what_the_source_says(path: Path) -> None:
    assert text_of(path) == PAGES[path](), "run make docs"


def test_the_folder_has_no_other_page() -> None:
    assert set(REFERENCE.glob("**/*.md")) == {page for page in PAGES if page.is_relative_to(REFERENCE)}


API = {subject: text_of(generate_api.FOLDER / f"{subject}.md") for subject in generate_api.SUBJECTS}
LINES_MAX = 520
"""Of a page of the API: `Context` has 31 methods, and one page each is what one looks for."""


def test_every_public_name_has_one_section_and_the_list_of_all_names_leads_there() -> None:
    sections = [name for text in API.values() for name in generate_api.headings(text, 2)]
    assert {name for name in sections if "." not in name} == set(ramet.__all__)
    assert len(sections) == len(set(sections))
    listed = re.findall(r"\[`([\w.]+)`\]\(api/", text_of(generate_api.PAGE))
    assert listed == sections


def test_methods_have_headings_of_their_own() -> None:
    assert "Context.spawn" in generate_api.headings(API["context"], 3)
    assert "Client.submit" in generate_api.headings(API["client"], 3)
    assert "Client.get" in generate_api.headings(API["client-tasks"], 2)
    assert "Claim.complete" in generate_api.headings(API["claims"], 3)


def test_every_method_of_a_client_is_on_one_page() -> None:
    parts = ("client", "client-tasks", "client-lineages", "client-operating", "client-limits")
    found = [name for part in parts for depth in (2, 3) for name in generate_api.headings(API[part], depth)]
    methods = [name.removeprefix("Client.") for name in found if name.startswith("Client.")]
    assert len(methods) == len(set(methods))
    public = {name for name in dir(ramet.Client) if not name.startswith("_") and callable(getattr(ramet.Client, name))}
    assert set(methods) <= public
    assert {"submit", "wait", "claim", "explain", "lineage", "cancel", "pause_queue", "alerts"} <= set(methods)


@pytest.mark.parametrize("subject", API)
def test_a_page_of_the_api_is_short_enough_to_read(subject: str) -> None:
    assert API[subject].count("\n") <= LINES_MAX


def test_the_page_of_exceptions_has_nothing_else_but_what_retrying_takes() -> None:
    names = set(generate_api.headings(API["errors"], 2))
    assert names - set(generate_errors.exceptions()) == {"Retry", "ErrorClass"}
    assert set(generate_errors.exceptions()) <= names


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("client.schedules", ["async add(", "async pause(", "async run(", "async slots("]),
        ("client.settings", ["async set(", "async get(", "async preset("]),
        *((f"ramet.testing.{name}", []) for name in ramet.testing.__all__),
    ],
)
def test_the_parts_of_a_client_and_the_kit_for_tests_are_in_the_reference(heading: str, told: list[str]) -> None:
    _, found, rest = "\n".join(API.values()).partition(f"\n## `{heading}`\n")
    assert found
    section = rest.partition("\n## ")[0]
    assert [words for words in told if words not in section] == []


def test_a_decorator_is_told_once_and_with_its_defaults() -> None:
    page = API["app"]
    assert page.count("```python\ntask(") == 1
    assert "kind: str | None=None" in page
    assert "=...," not in page


# --- nothing is left out


def names() -> dict[str, list[str]]:
    """All that people meet by name, by what it is."""
    variables: set[str] = set()
    for file in (PROJECT / "src").rglob("*.py"):
        variables |= set(re.findall(r"\bRAMET_[A-Z_]*[A-Z]\b", text_of(file)))
    return {
        "commands": [f"ramet {words}" for words, _ in generate_cli.commands()],
        "options": [
            name
            for _, command in generate_cli.commands()
            for option in generate_cli.options(command)
            for name in [*option.opts, *option.secondary_opts]
        ],
        "variables": sorted(variables),
        "settings": [*SETTINGS, *installed()],
        "states": [*TaskState, *LineageState, *Wait],
        "transitions": [row.name for row in transitions.TRANSITIONS],
        "outcomes": list(OUTCOMES),
        "refusals": list(transitions.REFUSALS),
        "exceptions": list(generate_errors.exceptions()),
        "block reasons": list(BlockReason),
        "causes": list(CODES),
        "alerts": list(Pattern),
        "metrics": [family.name for family in FAMILIES],
        "routes": [f"{method} {path}" for method, path, _ in generate_rest.routes()],
    }


NAMES = names()


@pytest.mark.parametrize("what", NAMES)
def test_everything_is_documented(what: str) -> None:
    assert len(NAMES[what]) > 2
    assert undocumented(NAMES[what], all_pages()) == []


@pytest.mark.parametrize("what", NAMES)
def test_a_name_that_no_page_has_is_found(what: str) -> None:
    made_up = NAMES[what][0] + "zz"
    assert undocumented([*NAMES[what], made_up], all_pages()) == [made_up]


def test_an_option_is_documented_with_its_own_command() -> None:
    page = text_of(generate_cli.PAGE)
    for words, command in generate_cli.commands():
        section = re.split(r"^##", page.partition(f"# `ramet {words}`\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        shown = [name for option in generate_cli.options(command) for name in option.opts]
        if "Its commands: " not in section:
            assert undocumented(shown, section) == [], words


@pytest.mark.parametrize("path", [path for path in PAGES if path not in generate_api.PAGES], ids=lambda path: path.stem)
def test_everything_has_a_description(path: Path) -> None:
    assert undescribed(text_of(path)) == []


def test_a_name_without_a_description_is_found() -> None:
    page = text_of(generate_states.PAGE)
    wordless = re.sub(r"^\| `snooze` \| [^|]+ \|", "| `snooze` | |", page, count=1, flags=re.MULTILINE)
    assert wordless != page
    assert undescribed(wordless) == ["`snooze`"]


def test_every_command_says_what_it_does() -> None:
    assert [words for words, command in generate_cli.commands() if not command.help] == []


def test_every_exception_to_catch_says_what_raises_it() -> None:
    caught = set(generate_errors.exceptions()) - set(generate_errors.TO_RAISE)
    told = {name: generate_errors.exceptions()[name].__doc__ or "" for name in caught}
    assert len(told) > 12
    assert [name for name, text in told.items() if not text.startswith("Raised by ")] == []


# --- the tables behind the pages are complete


def test_the_refusals_are_those_that_are_made() -> None:
    made = set()
    for file in Path(lifecycle.__file__).parent.glob("*.py"):
        made |= set(re.findall(r'Refused\("(\w+)"\)', text_of(file)))
    assert made | {"is_<state>"} == set(transitions.REFUSALS)


def test_the_outcomes_are_those_that_are_made() -> None:
    made = set(re.findall(r'outcome="(\w+)"', text_of(Path(lifecycle.__file__))))
    assert len(made) > 5
    assert made - set(OUTCOMES) == set()


def test_the_exit_statuses_are_those_of_the_commands() -> None:
    used = set()
    for file in (PROJECT / "src").rglob("*.py"):
        used |= set(re.findall(r"^EXIT_[A-Z]+ = (\d+)$", text_of(file), flags=re.MULTILINE))
    assert used - {str(errors.EXIT_STOPPED)} <= set(errors.EXIT_STATUSES)
    assert str(errors.EXIT_STOPPED) in errors.EXIT_STATUSES["128 + N"]


def test_settings_of_packages_are_on_the_page_of_settings() -> None:
    assert {setting.name for setting in generate_settings.declared()} >= {*SETTINGS, *installed()}


def test_members_of_an_enumeration_are_read_with_their_words() -> None:
    told = members("ramet.model.task.task", "TaskState")
    assert list(told) == list(TaskState)
    assert told["processing"] == "A worker has it under a lease."
