"""The container guide: its compose file and Dockerfile are sound, and each command in them is one that ramet has."""

from __future__ import annotations

import json
import re
from typing import Any

import click
import pytest
import yaml

from ramet.cli.commands import main
from tests.docs.blocks import blocks
from tests.docs.pages import DOCS, text_of

FILES = {block.title: block.text for block in blocks(text_of(DOCS / "guides" / "containers.md")) if block.title}
COMPOSE: dict[str, Any] = yaml.safe_load(FILES["compose.yaml"])
DOCKERFILE = [line.split(maxsplit=1) for line in FILES["Dockerfile"].splitlines()]
INSTRUCTIONS = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENV", "ENTRYPOINT", "CMD"}
COMMANDS = {name: service["command"] for name, service in COMPOSE["services"].items() if "command" in service}
COMMANDS["the image"] = json.loads(dict(DOCKERFILE)["CMD"])


def parsed(words: list[str], monkeypatch: pytest.MonkeyPatch) -> click.Context:
    """The context of a command, which exists and takes these options."""
    monkeypatch.setenv("RAMET_APP", "shop:app")
    group = click.Context(main, info_name="ramet")
    command = main.get_command(group, words[0])
    assert command is not None
    return command.make_context(words[0], list(words[1:]), parent=group)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_and_its_options_exist(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(COMMANDS[name], monkeypatch).info_name == COMMANDS[name][0]


def test_an_option_that_does_not_exist_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(click.UsageError):
        parsed(["worker", "--no-such-option"], monkeypatch)


def test_the_dockerfile_has_known_instructions_copies_files_of_the_page_and_runs_without_rights() -> None:
    assert {instruction for instruction, _ in DOCKERFILE} <= INSTRUCTIONS
    words = dict(DOCKERFILE)
    assert words["COPY"].split()[0] in FILES
    assert json.loads(words["ENTRYPOINT"]) == ["ramet"]
    assert words["USER"] == "ramet"
    names = [instruction for instruction, _ in DOCKERFILE]
    assert names.index("USER") > names.index("COPY")


def test_services_wait_for_what_they_need_and_no_password_is_written_down() -> None:
    services = COMPOSE["services"]
    for name in ("worker", "dashboard"):
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert services["migrate"]["depends_on"]["database"]["condition"] == "service_healthy"
    secrets = re.findall(r"(?:PASSWORD|TOKEN): *(.+)|ramet:(.+?)@", FILES["compose.yaml"])
    assert len(secrets) == 3
    assert all("".join(found).startswith("${") for found in secrets)


def test_a_stop_leaves_a_handler_its_time() -> None:
    from ramet import Limits

    seconds = int(COMPOSE["services"]["worker"]["stop_grace_period"].removesuffix("s"))
    assert seconds >= Limits().invocation_seconds + 30
