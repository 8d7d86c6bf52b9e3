"""ramet behind FastAPI, and inside of Django's transactions, as the examples show it.

Both frameworks are in ``dev.lock`` only: ``make test`` runs nothing of this file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ramet import App, StoreError
from tests.examples.test_loops import EXAMPLES
from tests.examples.test_uses import states_of
from tests.support.waiting import HANG_SECONDS, worked_off

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

OSLO = {"city": "Oslo", "days": 2}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The service of ``fastapi_service.py`` on a database of its own; no worker runs."""
    from fastapi.testclient import TestClient

    from examples.fastapi_service import api

    monkeypatch.setenv("RAMET_DB", str(tmp_path / "service.db"))
    with TestClient(api) as client:
        yield client


def work(service: TestClient) -> None:
    """Work until nothing is left, in the loop of the service."""
    from examples.fastapi_service import app

    assert service.portal is not None
    service.portal.call(worked_off, app, service.app_state["client"])


@pytest.mark.proof
def test_a_service_without_its_database_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastapi.testclient import TestClient

    from examples.fastapi_service import api

    monkeypatch.setenv("RAMET_DB", str(tmp_path))
    with pytest.raises(StoreError, match="is a folder"), TestClient(api):
        pytest.fail("it started")


@pytest.mark.proof
def test_a_bad_request_creates_no_task(service: TestClient) -> None:
    assert service.post("/forecasts", json={"city": ""}).status_code == 422
    assert service.post("/forecasts", json=OSLO, headers={"Idempotency-Key": "a b"}).status_code == 422
    assert service.get("/forecasts/unknown").status_code == 404
    assert service.portal is not None
    assert service.portal.call(service.app_state["client"].queue_size) == 0


@pytest.mark.proof
def test_a_result_is_there_once_a_worker_has_made_it(service: TestClient) -> None:
    accepted = service.post("/forecasts", json=OSLO)
    place = accepted.headers["Location"]
    waiting = service.get(place, params={"wait_seconds": 0})
    assert [(answer.status_code, answer.json()["state"]) for answer in (accepted, waiting)] == [(202, "pending")] * 2
    work(service)
    ended = service.get(place, params={"wait_seconds": 30})
    assert (ended.status_code, ended.json()["state"]) == (200, "success")
    assert ended.json()["result"] == ["Oslo, day 1: rain", "Oslo, day 2: rain"]


@pytest.mark.proof
def test_a_request_that_waits_gets_the_result_of_a_worker_beside_it(service: TestClient) -> None:
    place = service.post("/forecasts", json=OSLO).headers["Location"]
    from examples.fastapi_service import app

    assert service.portal is not None
    working = service.portal.start_task_soon(worked_off, app, service.app_state["client"])
    assert service.get(place, params={"wait_seconds": 30}).json()["state"] == "success"
    working.result()


@pytest.mark.proof
def test_a_task_that_failed_says_why(service: TestClient) -> None:
    place = service.post("/forecasts", json={"city": "Atlantis"}).headers["Location"]
    work(service)
    ended = service.get(place).json()
    assert (ended["state"], ended["result"]) == ("failed", None)
    assert "there is no such city" in ended["why"]


@pytest.mark.proof
def test_a_repeated_request_is_the_same_task_and_another_order_is_refused(service: TestClient) -> None:
    key = {"Idempotency-Key": "order-7"}
    first, again = (service.post("/forecasts", json=OSLO, headers=key) for _ in range(2))
    assert first.json() == again.json()
    assert service.post("/forecasts", json={"city": "Rome"}, headers=key).status_code == 409


def run_django(database: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the Django program: a process of its own has settings of its own."""
    pytest.importorskip("django", reason="Django is not installed: it is in requirements/dev.lock")
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "django_orders.py")], cwd=folder, env={**os.environ, "RAMET_DB": database},
        capture_output=True, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip


async def check_orders(database: str, folder: Path) -> None:
    """An order that was declined has left no row and no task, and the others were shipped by theirs."""
    done = run_django(database, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "declined: a falcon costs 900, the credit is 100",
        "2 orders, 2 tasks",
        "an owl: shipped",
        "a finch: shipped",
    ]
    async with App().client(database, create=False) as client:
        assert await states_of(client) == {("ship", "success"): 2}


@pytest.mark.process
def test_django_without_a_database_says_so_in_one_line(tmp_path: Path) -> None:
    done = run_django(str(tmp_path), tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"error: {tmp_path} is a folder: give the path of a database file in it"]


@pytest.mark.process
async def test_an_order_and_its_task_are_one_transaction_of_django(tmp_path: Path) -> None:
    await check_orders(str(tmp_path / "shop.db"), tmp_path)


@pytest.mark.process
@pytest.mark.server
async def test_an_order_and_its_task_are_one_transaction_of_django_on_a_server(
    ramet_postgres_url: str, tmp_path: Path
) -> None:
    await check_orders(ramet_postgres_url, tmp_path)
