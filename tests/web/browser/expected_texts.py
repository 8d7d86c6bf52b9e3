"""What each page must say about a database: asked of the client, not of what the page is made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, unquote, urlsplit

from ramet import Client
from ramet.commands.terminal import short_usd
from ramet.jobs.match_status import matches
from ramet.web.views.task_time import FOLD_MIN

Truth = Callable[[Client, str], Awaitable[list[str]]]
"""Given the address: texts that the page shows."""


async def of_overview(client: Client, address: str) -> list[str]:
    present = await client.present()
    states = [f"{count.number} {state}" for state, count in present.lineages.items() if count.number]
    reasons = [one.opened_reason or "" for one in await client.resources() if one.opened_at is not None]
    return [
        f"Active claims\n{present.processing}", f"Workers\n{present.workers_alive}", *states, *reasons,
        *(alert.subject[:100] for alert in await client.alerts()),
    ]  # fmt: skip


async def of_lineages(client: Client, address: str) -> list[str]:
    return [lineage.tracking_id for lineage in await client.lineages(limit=20)]


async def of_lineage(client: Client, address: str) -> list[str]:
    lineage = await client.lineage(unquote(urlsplit(address).path.removeprefix("/lineages/")))
    assert lineage is not None
    counts = await client.counts(lineage.tracking_id)
    return [
        lineage.tracking_id,
        lineage.state,
        f"{lineage.tasks} of {lineage.max_tasks}",
        *{one.kind for one in counts},
    ]


async def of_timeline(client: Client, address: str) -> list[str]:
    tracking_id = unquote(urlsplit(address).path).removeprefix("/lineages/").removesuffix("/timeline")
    asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    if asked.get("only") == "failed":
        tasks = (await client.tasks(tracking_id=tracking_id, states=["failed"], limit=3)).tasks
        return [f"{task.kind} {task.key}" for task in tasks if "parent_id" not in asked]
    first = (await client.roots(tracking_id))[:3] if "parent_id" not in asked else []
    return [f"{task.kind} {task.key}" for task in first if "only" not in asked]


async def of_tasks(client: Client, address: str) -> list[str]:
    page = await client.tasks(limit=10, newest=True)  # As the page lists them: what began last is what one looks for.
    return [f"{task.kind} {task.key}" for task in page.tasks]


async def of_task(client: Client, address: str) -> list[str]:
    task_id = urlsplit(address).path.removeprefix("/tasks/")
    history = await client.history(task_id)
    assert history is not None
    task = history.task
    # Three or more that went the same way are one line.
    some = history.attempts if len(history.attempts) < FOLD_MIN else ()
    claims = [f"claim {attempt.fence} by {attempt.worker}" for attempt in some]
    return [task_id, task.kind, task.key, task.state, task.tracking_id, *claims]


async def of_joined(client: Client, address: str) -> list[str]:
    asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    found = await client.joined(asked["task_id"], round_=int(asked["round"]) if "round" in asked else None)
    assert found is not None
    return [f"Join {found.round} of {found.rounds}", *(f"{one.kind} {one.key}" for one in found.rows)]


async def of_paths(client: Client, address: str) -> list[str]:
    return [" / ".join(one.path) for one in (await client.paths()).tasks if one.behind]


async def of_resources(client: Client, address: str) -> list[str]:
    found = await client.resources()
    return [*(one.name for one in found), *(one.opened_reason for one in found if one.opened_reason)]


async def of_queues(client: Client, address: str) -> list[str]:
    found = await client.queues()
    return [*(one.name for one in found), *(one.paused_reason for one in found if one.paused_reason)]


async def of_workers(client: Client, address: str) -> list[str]:
    workers, unserved = await client.workers(), await client.unserved()
    return [*(one.name for one in workers), *(one.queue for one in unserved)]


async def of_schedules(client: Client, address: str) -> list[str]:
    return [one.name for one in await client.schedules.all()]


async def of_schedule(client: Client, address: str) -> list[str]:
    [name] = parse_qs(urlsplit(address).query)["name"]
    return [name, *(slot.tracking_id for slot in await client.schedules.slots(name) if slot.tracking_id)]


async def of_alerts(client: Client, address: str) -> list[str]:
    return [
        text
        for one in await client.alerts(firing=False)
        for text in (one.pattern.replace("_", " "), one.subject, one.state)
    ]


async def of_alert(client: Client, address: str) -> list[str]:
    alert = await client.alert(int(urlsplit(address).path.rpartition("/")[2]))
    assert alert is not None
    return [alert.pattern.replace("_", " "), alert.subject, alert.state, f"{alert.count} check"]


async def of_costs(client: Client, address: str) -> list[str]:
    costs = await client.costs()
    dearest = [lineage.tracking_id for lineage in await client.lineages() if lineage.spent]
    return [short_usd(costs.total.spent), *dearest]


async def of_settings(client: Client, address: str) -> list[str]:
    return [one.name for one in await client.settings.all()]


async def of_stop_list(client: Client, address: str) -> list[str]:
    return [text for one in await client.stop_list() for text in (one.value, one.reason or "")]


async def of_acts(client: Client, address: str) -> list[str]:
    acts = (await client.acts())[:20]
    return [text for one in acts for text in (one.act, one.by, one.reason or "")]


async def of_blocks(client: Client, address: str) -> list[str]:
    [tracking_id] = parse_qs(urlsplit(address).query)["tracking_id"]
    return [text for one in await client.blocks(tracking_id, limit=10) for text in (one.key, one.reason, one.detail)]


async def of_branches(client: Client, address: str) -> list[str]:
    [parent_id] = parse_qs(urlsplit(address).query)["parent_id"]
    return [text for one in await client.branches(parent_id=parent_id) for text in (one.kind, one.state)]


async def of_twigs(client: Client, address: str) -> list[str]:
    asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    tasks = (await client.tasks(kind=asked["kind"], states=[asked["state"]], parent_id=asked.get("parent_id"))).tasks
    return [task.key for task in tasks if "parent_id" in asked]


async def of_spend(client: Client, address: str) -> list[str]:
    [tracking_id] = parse_qs(urlsplit(address).query)["tracking_id"]
    return [tracking_id]


async def of_explain(client: Client, address: str) -> list[str]:
    asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    return [asked["key"]] if "key" in asked else ["Explain a task, or a kind and key"]


async def of_act(client: Client, address: str) -> list[str]:
    asked = parse_qs(urlsplit(address).query)
    return [asked[name][0] for name in ("tracking_id", "queue", "resource") if name in asked]


async def of_search(client: Client, address: str) -> list[str]:
    [text] = parse_qs(urlsplit(address).query).get("q", [""])
    found = [one.tracking_id for one in await client.lineages(limit=1_000) if text and one.tracking_id.startswith(text)]
    return found[:20] or ["Enter the id of a task"]


async def of_api_docs(client: Client, address: str) -> list[str]:
    return ["/api/v1/overview"]


async def of_matches(client: Client, address: str) -> list[str]:
    asked = parse_qs(urlsplit(address).query)
    found = [] if asked else await matches(client, now=client.clock.now())
    return [one.match.title or "" for one in found[:3]]


async def of_opening(client: Client, address: str) -> list[str]:
    [listing_id] = parse_qs(urlsplit(address).query)["id"]
    rows = await client.read("SELECT title, company FROM jobs_listings WHERE listing_id = ?", (listing_id,))
    return [text for text in rows[0] if text]


async def of_rejected(client: Client, address: str) -> list[str]:
    return ["Rejected openings"]


async def of_wiki_runs(client: Client, address: str) -> list[str]:
    return [run_id for (run_id,) in await client.read("SELECT DISTINCT run_id FROM wiki_articles")]


async def of_wiki_run(client: Client, address: str) -> list[str]:
    [run_id] = parse_qs(urlsplit(address).query)["run"]
    [(titles,)] = await client.read("SELECT COUNT(*) FROM wiki_articles WHERE run_id = ?", (run_id,))
    return [run_id, f"of {titles} known titles"]


async def of_wiki_search(client: Client, address: str) -> list[str]:
    return ["Search articles"]


async def of_wiki_article(client: Client, address: str) -> list[str]:
    return [parse_qs(urlsplit(address).query)["title"][0], "Neighbourhood"]


async def of_bulk(client: Client, address: str) -> list[str]:
    asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    states = [asked["state"]] if "state" in asked else []
    tasks = [task async for task in client.all_tasks(states=states, kind=asked.get("kind"))]
    return [f"{asked['act']} {len(tasks)} task"] if states and "tracking_id" not in asked else ["task"]


async def of_llm_jobs(client: Client, address: str) -> list[str]:
    names = await client.read("SELECT DISTINCT job_id FROM llm_answers")
    return [job_id.removeprefix("llm-") for (job_id,) in names]


async def of_llm_job(client: Client, address: str) -> list[str]:
    [name] = parse_qs(urlsplit(address).query)["name"]
    lineage = await client.lineage(f"llm-{name}")
    assert lineage is not None
    return [name, lineage.tracking_id, "Errors by kind"]


async def of_llm_answer(client: Client, address: str) -> list[str]:
    return ["Prompt", *parse_qs(urlsplit(address).query)["task"]]


TRUTHS: dict[str, Truth] = {
    "bulk": of_bulk,
    "llm:jobs": of_llm_jobs, "llm:job": of_llm_job, "llm:answer": of_llm_answer,
    "jobs:matches": of_matches, "jobs:opening": of_opening, "jobs:rejected": of_rejected,
    "wiki:runs": of_wiki_runs, "wiki:run": of_wiki_run, "wiki:search": of_wiki_search, "wiki:article": of_wiki_article,
    "overview": of_overview, "lineages": of_lineages, "lineage": of_lineage, "tasks": of_tasks, "task": of_task,
    "joined": of_joined, "timeline": of_timeline,
    "paths": of_paths, "resources": of_resources, "queues": of_queues, "workers": of_workers,
    "schedules": of_schedules, "schedule": of_schedule, "alerts": of_alerts, "alert": of_alert, "costs": of_costs,
    "settings": of_settings, "stop-list": of_stop_list, "acts": of_acts, "blocks": of_blocks, "branches": of_branches,
    "twigs": of_twigs, "spend": of_spend, "explain": of_explain, "act": of_act, "api-docs": of_api_docs,
    "search": of_search,
}  # fmt: skip
