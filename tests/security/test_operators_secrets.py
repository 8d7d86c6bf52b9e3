"""What an operator gives to alerts, the dashboard and the database is found in no row, log, answer or page.

All of it is planted at once, and the services refuse and repeat whatever they were told, as proxies do.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from ramet.web.access import Access
from ramet.web.application import make_application
from ramet.web.commands import READ_TOKEN_VARIABLE, TOKEN_VARIABLE, Listening
from ramet.web.tokens import Scope, token_of
from tests.cli.apps.sample_app import app
from tests.cli.conftest import Cli
from tests.llm.providers.scripted_server import Call, Said, Scripted, scripted
from tests.web.test_every_route import addresses

NAMES = ("signature", "webhook", "apprise", "apprise_path", "admin", "read")
ASKED = (
    "alerts --all --json", "alerts channels", "alerts channels --json", "alerts test", "alerts test --json",
    "status", "status --json", "tasks --json", "settings list --json", "workers --json", "acts --json", "doctor --json",
    "limits show --json", "schedule list --json", "resources --json",
)  # fmt: skip


@pytest.fixture
def canaries(ramet_postgres_url: str) -> dict[str, str]:
    """By what they are for; the password of the database is the one that its server wants."""
    password = urlsplit(ramet_postgres_url).password
    assert password
    assert len(password) > 8
    return {"database": password, **{name: f"canary{secrets.token_hex(12)}" for name in NAMES}}


def telltale(call: Call) -> Said:
    """A service that says everything it knows."""
    told = json.dumps({"path": call.path, "headers": dict(call.headers), "body": call.body})
    return Said(500, told.encode(), {"X-Told": call.path})


@pytest.fixture
def services(canaries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """Whom alerts are told, and the environment that says so."""
    pytest.importorskip("apprise", reason="the extra [alerts] is not installed")
    with scripted(telltale) as server:
        host = urlsplit(server.url).netloc
        given = {
            "RAMET_ALERT_WEBHOOK_URL": f"{server.url}/hook/{canaries['webhook']}?key={canaries['webhook']}",
            "RAMET_ALERT_WEBHOOK_SECRET": canaries["signature"],
            "RAMET_ALERT_APPRISE": f"json://someone:{canaries['apprise']}@{host}/{canaries['apprise_path']}",
            TOKEN_VARIABLE: canaries["admin"],
            READ_TOKEN_VARIABLE: canaries["read"],
        }
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        yield server


def command_line(cli: Cli) -> Iterator[tuple[str, str]]:
    """What commands say, those that cannot do it among them."""
    for words in ASKED:
        yield words, cli.run(*words.split()).output
    gone = urlunsplit(urlsplit(cli.address)._replace(path="/no_such_database"))
    nobody = cli.address.replace("postgresql://", "postgresql://nobody_", 1)
    for wrong in (gone, nobody, f"{cli.address}?nonsense=1", cli.address.replace("postgresql", "mysql")):
        told = Cli(cli.database, wrong).run("status")
        assert told.exit_code == 2
        yield "a wrong address", told.output


async def dashboard(address: str, canaries: dict[str, str]) -> AsyncIterator[tuple[str, str]]:
    """Every page and every answer of the API, to whoever has a token and to whoever has none."""
    tokens = Listening("127.0.0.1", 0, (), None, None, None, access_log=False, calls_per_minute=100_000).tokens()
    admin, read = (token_of(tokens, canaries[name]) for name in ("admin", "read"))
    assert admin is not None
    assert read is not None
    assert [sorted(one.scopes) for one in (admin, read)] == [sorted(Scope), ["read"]]
    async with app.client(address) as client:
        made = make_application(client, Access(tokens=tokens, person="ada"))
        for token in (canaries["admin"], None):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            transport = httpx.ASGITransport(app=made)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as visitor:
                for path in sorted({*addresses(list(made.routes))}):
                    if "live" in path or "events" in path:
                        continue  # Never ends; what it tells is parts of the pages.
                    answer = await visitor.get(path)
                    yield path, f"{answer.headers}{answer.text}"


def rows(url: str) -> Iterator[tuple[str, str]]:
    """Every row of every table."""
    with psycopg.connect(url) as server:
        names = server.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
                               "AND relkind IN ('r', 'p')").fetchall()  # fmt: skip
        for (name,) in names:
            for (row,) in server.execute(f"SELECT t::text FROM {name} t".encode()):
                yield name, row


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Of apprise, while it is imported.
async def test_what_an_operator_gives_is_found_nowhere(
    canaries: dict[str, str],
    services: Scripted,
    ramet_postgres_url: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    found, address = [], ramet_postgres_url
    cli = Cli(tmp_path / "none.db", address)
    async with app.client(address) as client:
        await client.submit("fails", {"text": "no reason"})
    said = await asyncio.to_thread(lambda: [*command_line(cli)])
    said += [answer async for answer in dashboard(address, canaries)]
    said += [
        *rows(address),
        *(("the log", f"{record.getMessage()} {record.__dict__}") for record in caplog.records),
    ]
    for where, text in said:
        found += [(where, name) for name, canary in canaries.items() if canary in text]
    sent = "".join(f"{call.path}{call.headers}" for call in services.calls)
    assert canaries["webhook"] in sent, "the webhook was never called"
    assert canaries["apprise_path"] in sent, "apprise was never called"
    assert any("answered 500" in text for where, text in said if where == "ramet_alert_notices"), "nothing was kept"
    assert sorted({*found}) == []
