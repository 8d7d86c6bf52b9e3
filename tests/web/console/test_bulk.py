"""Bulk actions over the API: counted first, then done to the number that is confirmed."""

from __future__ import annotations

from ramet import App, Client
from ramet.web.access import Access
from tests.engine.client.test_bulk import app, failures
from tests.engine.conftest import client
from tests.web.in_process_client import visiting

__all__ = ["app", "client"]  # fixtures


async def test_the_api_counts_first_and_acts_on_the_number_that_is_confirmed(app: App, client: Client) -> None:
    ids = await failures(app, client, "a", "b")
    token = "admin-token" * 4
    headers = {"Authorization": f"Bearer {token}", "X-Ramet-By": "ada"}
    async with visiting(client, Access(token)) as visitor:

        async def ask(act: str, **body: object) -> tuple[int, dict[str, object]]:
            answer = await visitor.post(f"/api/v1/bulk/{act}", json=body, headers=headers)
            return answer.status_code, answer.json()

        status, counted = await ask("retry", kind="sync")
        assert status == 200
        assert counted == {
            "act": "retry", "selected": 2, "done": None, "left": {},
            "counts": [{"kind": "sync", "state": "failed", "tasks": 2}],
        }  # fmt: skip
        found = [await client.get(task_id) for task_id in ids]
        assert {str(task.state) for task in found if task is not None} == {"failed"}, "nothing is done yet"
        status, refused = await ask("retry", kind="sync", confirm=3)
        assert status == 400
        assert "2 tasks match by now, not 3" in str(refused)
        assert (await ask("retry"))[0] == 400, "everything is no filter"
        assert (await ask("retry", kind="sync", states=["success"], confirm=0))[0] == 400
        assert (await ask("delete", kind="sync"))[0] == 422
        status, done = await ask("retry", kind="sync", confirm=2, reason="outage over")
        assert (status, done["done"]) == (200, 2)
    [act] = await client.acts()
    assert (act.act, act.by, act.reason) == ("bulk_retry", "ada", "outage over")


async def test_tasks_below_a_path_are_cleared_and_those_beside_it_stay(client: Client) -> None:
    for path in (["doc"], ["doc", "a"], ["docs"]):
        await client.submit("sync", str(path), path=path, tracking_id="/".join(path))
    await client.submit("sync", "night", path=["doc"], queue="night", tracking_id="night")
    token = "admin-token" * 4
    async with visiting(client, Access(token)) as visitor:
        visitor.headers["Authorization"] = f"Bearer {token}"
        asked = {"path": ["doc"], "states": ["pending"]}
        assert (await visitor.post("/api/v1/bulk/cancel", json={"path": ["\x00"]})).status_code == 422
        counted = (await visitor.post("/api/v1/bulk/cancel", json=asked)).json()
        assert (counted["selected"], counted["done"]) == (2, None)
        await visitor.post("/api/v1/bulk/cancel", json={**asked, "confirm": 2})
    lineages = {one.tracking_id: one.state for one in await client.lineages()}
    assert lineages == {"doc": "finished", "doc/a": "finished", "docs": "running", "night": "running"}
