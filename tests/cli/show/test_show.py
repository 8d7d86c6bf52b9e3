"""`ramet status`, `tree`, `explain` and `blocks` on a finished run: what they show is what is stored."""

from __future__ import annotations

import asyncio
import json

import pytest

from ramet import BoundedCount, TreeGroup
from ramet.cli.status import StatusSnapshot, brief_snapshot, full_snapshot
from ramet.cli.tree import groups
from ramet.store.requests import ClaimRequest
from tests.cli.apps.sample_app import app
from tests.cli.conftest import APP, Cli


@pytest.fixture
def grown(cli: Cli) -> tuple[Cli, str, str]:
    """A tree of 1 + 3 + 9 nodes, whose 12 children each asked for their parent: (command line, root, lineage)."""
    root, lineage = cli.submit("node", {"name": "r", "depth": 2, "width": 3})
    cli.work()
    return cli, root, lineage


def test_status_counts_kinds_and_states(grown: tuple[Cli, str, str]) -> None:
    cli, _, lineage = grown
    cli.submit("fails", {"text": "x"}, "--delay", "5000")
    [found] = cli.documents("status")
    assert (found["tasks"], found["live"], found["queue_size"], found["stale"]) == (14, 1, 0, 0)
    assert found["percent_complete"] == pytest.approx(100 * 13 / 14, abs=0.01)
    assert found["states"]["success"] == 13
    nodes = [row for row in found["counts"] if row["kind"] == "node"]
    assert [(row["state"], row["tasks"]) for row in nodes] == [("success", 13)]
    assert nodes[0]["mean_depth"] == pytest.approx((3 + 9 * 2) / 13)
    [one] = cli.documents("status", lineage)
    assert (one["tasks"], one["live"], len(one["lineages"])) == (13, 0, 1)
    said = cli.good("status")
    assert "14 tasks, 92.8 % complete; 0 processing, 1 in the queue, 1 of them waiting" in said
    assert "13/1k" in said


def test_what_the_guard_refused_is_told_with_the_status_of_a_lineage_and_of_all(grown: tuple[Cli, str, str]) -> None:
    cli, _, lineage = grown
    assert cli.documents("status", lineage)[0]["refused"] == {"cycle": 12}
    assert f"refused spawns: cycle 12; which: ramet blocks {lineage}\n" in cli.good("status", lineage)
    cli.submit("node", {"name": "s", "depth": 1, "width": 1})
    cli.work()
    assert cli.documents("status")[0]["refused"] == {"cycle": 13}
    assert "refused spawns: cycle 13; which: ramet blocks\n" in cli.good("status")


def test_the_result_of_a_task_is_told_up_to_a_length(cli: Cli) -> None:
    short, _ = cli.submit("node", {"name": "Ü"})
    long, _ = cli.submit("node", {"name": "x" * 600})
    cli.work()
    assert '\nresult {"name": "Ü"}\n' in cli.good("explain", short)
    assert "(all of it: `ramet tasks --json`)" in " ".join(cli.good("explain", long).split())


def test_stages_are_counted(cli: Cli) -> None:
    _, line = cli.submit("node", {"name": "r"})
    assert cli.good("stages", "no") == "no tasks of kind no: `ramet status` lists the kinds that have some\n"
    assert cli.documents("stages", "node", line) == [
        {"kind": "node", "tracking_id": line, "stages": [{"stage": None, "state": "pending", "tasks": 1}]}
    ]
    assert cli.good("stages", "node").splitlines()[-1].split() == ["-", "pending", "1"]
    assert "no lineage" in cli.bad("stages", "node", "elsewhere")


def test_the_task_of_an_end_is_shown_with_its_lineage(cli: Cli) -> None:
    async def submit() -> None:
        async with app.client(cli.address) as client:
            await client.submit("node", {"name": "r"}, tracking_id="line", on_lineage_end="elsewhere")

    asyncio.run(submit())
    assert cli.documents("tree", "line")[0]["ends"] == []
    cli.work()
    [found] = cli.documents("status", "line")
    assert [row["tracking_id"] for row in found["lineages"]] == ["line", "line#end1"]
    [end] = cli.documents("tree", "line")[0]["ends"]
    assert (end["kind"], end["state"], end["tracking_id"]) == ("elsewhere", "pending", "line#end1")
    assert f"at the end: pending elsewhere line#end1  {end['id']}" in cli.good("tree", "line")


def test_what_a_pipe_reads_has_no_blanks_at_the_ends_of_lines(grown: tuple[Cli, str, str]) -> None:
    cli, root, lineage = grown
    for words in (("explain", root), ("explain", "node", "r"), ("tree", root), ("blocks", lineage)):
        lines = cli.good(*words).splitlines()
        assert lines
        assert [line for line in lines if line != line.rstrip() and len(line) > 200] == []


def test_open_lineages_come_before_ended_ones(grown: tuple[Cli, str, str]) -> None:
    cli, _, ended = grown
    for name in ("p", "q"):
        cli.submit("node", {"name": name}, "--tracking-id", name)
    [found] = cli.documents("status", "--limit", "3")
    assert [row["tracking_id"] for row in found["lineages"]] == ["q", "p", ended]
    [found] = cli.documents("status", "--limit", "2")
    assert ([row["tracking_id"] for row in found["lineages"]], found["more_lineages"]) == (["q", "p"], True)


def test_a_claim_whose_lease_expired_is_shown_as_stale(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})

    async def claim_and_forget() -> None:
        async with app.client(cli.address) as client:
            assert await client.store.claim(ClaimRequest("gone", ["default"], ["node"], 1, -1.0))

    asyncio.run(claim_and_forget())
    assert cli.documents("status")[0]["stale"] == 1
    assert "1 claim stale" in cli.good("status")


def test_watching_sees_without_counting_what_a_full_look_counts(grown: tuple[Cli, str, str]) -> None:
    cli, _, lineage = grown
    cli.submit("fails", {"text": "x"})
    cli.work()
    cli.submit("node", {"name": "later"}, "--delay", "5000")
    cli.submit("node", {"name": "now"})

    async def looks(tracking_id: str | None) -> tuple[StatusSnapshot, StatusSnapshot]:
        async with app.client(cli.address) as client:
            client.store.counts = None  # type: ignore[assignment, method-assign]  # a brief look may not count
            brief = await brief_snapshot(client, tracking_id, 10)
        async with app.client(cli.address) as client:
            return brief, await full_snapshot(client, tracking_id, 10)

    async def claim_and_forget() -> None:
        async with app.client(cli.address) as client:
            assert await client.store.claim(ClaimRequest("gone", ["default"], ["node"], 1, -1.0))

    asyncio.run(claim_and_forget())
    for whose in (None, lineage):
        brief, full = asyncio.run(looks(whose))
        assert brief.states == full.states
        assert (brief.claimable, brief.stale, brief.percent) == (full.claimable, full.stale, full.percent)
        # How deep the tasks of a state are only a look at them tells.
        known = {(row.kind, row.state, row.wait): row.mean_depth for row in full.counts}
        assert all(
            row.mean_depth == (None if whose is None else known[row.kind, row.state, row.wait]) for row in brief.counts
        )
        assert (brief.lineages, brief.unserved, brief.over) == (full.lineages, full.unserved, full.over)
    brief, full = asyncio.run(looks(None))
    assert brief.states == {"pending": 1, "processing": 1, "success": 13, "failed": 1} | dict.fromkeys(
        ("filtered", "skipped", "cancelled"), 0
    )
    assert (brief.waits["due"], brief.waits["path"]) == (BoundedCount(1), BoundedCount(0))
    assert [(row.kind, row.state, row.tasks.number) for row in brief.counts] == [
        ("fails", "failed", 1), ("node", "live", 2), ("node", "success", 13),
    ]  # fmt: skip


def test_the_tree_shows_everything_or_says_how_much_more_there_is(grown: tuple[Cli, str, str]) -> None:
    cli, root, lineage = grown
    whole = cli.good("tree", root)
    assert len(whole.splitlines()) == 13 + 1
    assert whole.splitlines()[-1].startswith(f"lineage {lineage}")
    assert whole == cli.good("tree", lineage)
    assert whole.splitlines()[0].startswith("success node r  ")
    assert "more" not in whole
    flat = cli.good("tree", root, "--depth", "1").splitlines()
    assert [line.strip("│├└─ ") for line in flat if "more" in line] == ["... 3 more children: 3 success node"] * 3
    narrow = cli.good("tree", root, "--width", "1")
    assert narrow.count("... 2 more children: 2 success node") == 2
    [document] = cli.documents("tree", root, "--width", "2", "--depth", "1")
    assert (document["roots"][0]["more"], [node["more"] for node in document["roots"][0]["children"]]) == (1, [3, 3])


def test_the_tree_names_the_largest_groups_of_what_it_leaves_out_and_where_counting_stopped() -> None:
    kinds = [
        TreeGroup(f"kind{at}", "success", BoundedCount(5_000 - at, more=True), 1, with_children=False)
        for at in range(6)
    ]
    assert (
        groups(kinds, []) == ": at least 5,000 success kind0, 4,999 success kind1, 4,998 success kind2, "
        "4,997 success kind3, ..."
    )
    assert groups([TreeGroup("page", "failed", BoundedCount(2), 1, with_children=False)], []) == ": 2 failed page"
    assert groups([], []) == ""


def test_the_tree_of_a_lineage_says_how_many_roots_it_leaves_out(cli: Cli) -> None:
    lines = "\n".join(json.dumps({"name": str(n)}) for n in range(5))
    [first, *_] = cli.documents("submit", APP, "node", "--many", "-", "--one-lineage", input=lines)
    said = cli.good("tree", first["tracking_id"], "--width", "2").splitlines()
    assert (len(said), said[-1]) == (3, "... and 3 more roots: 3 pending node")


def test_a_failed_task_explains_why_it_was_not_tried_again(cli: Cli) -> None:
    permanent, _ = cli.submit("fails", {"text": "not found"})
    filtered, _ = cli.submit("rejects", {"text": "too dull"})
    cli.work()
    said = cli.good("explain", permanent)
    assert "it ended as failed: permanent_error (Permanent: not found)" in said
    assert "no retry: the error is permanent" in said
    lines = said.partition("traceback of claim 1:\n")[2].splitlines()
    assert lines[0] == "  Traceback (most recent call last):"
    assert lines[1].startswith('    File "tests/cli/apps/sample_app.py", line ')
    assert lines[2:] == ["      raise Permanent(payload.text)", "  Permanent: not found"]
    story = said.partition("timeline:")[2].partition("\ntraceback")[0].splitlines()
    assert [line.split()[2] for line in story[2:]] == ["submitted", "claimed", "error", "is"]
    said = cli.good("explain", filtered)
    assert "it ended as filtered: too dull" in said
    assert "no retry" not in said


def test_an_exhausted_task_tells_every_attempt(cli: Cli) -> None:
    task, _ = cli.submit("busy", {"text": "come back"})
    cli.work()
    [found] = cli.documents("explain", task)
    assert [attempt["outcome"] for attempt in found["attempts"]] == ["error"] * 4
    assert all(attempt["traceback"].endswith("Transient: come back\n") for attempt in found["attempts"])
    assert [event["what"] for event in found["timeline"]].count("claimed") == 4
    assert "no retry: that was the last attempt (4)" in cli.good("explain", task)


def test_a_scheduled_task_says_when_in_words_for_people(cli: Cli) -> None:
    task, _ = cli.submit("node", {"name": "a"}, "--delay", "7200.5")
    said = cli.good("explain", task)
    assert "it is scheduled for 20" in said
    assert "(in 2 h)" in said or "(in 120 min)" in said


def test_a_key_explains_who_holds_it_and_what_was_refused(grown: tuple[Cli, str, str]) -> None:
    cli, root, lineage = grown
    [found] = cli.documents("explain", "node", "r", "--lineage", lineage)
    assert [task["id"] for task in found["tasks"]] == [root]
    [block] = found["blocks"]
    assert (block["reason"], block["count"], block["winner"]) == ("cycle", 3, root)
    said = cli.good("explain", "node", "r")
    assert f"held by task {root} success" in said
    assert "refused 3 times, reason cycle" in said
    assert block["first_parent"] in said
    assert block["last_parent"] in said
    assert block["first_parent"] != block["last_parent"]


def test_a_key_is_also_found_by_another_spelling(cli: Cli) -> None:
    task, _ = cli.submit("node", {"name": "https://example.com/a"})
    [found] = cli.documents("explain", "node", "HTTPS://Example.COM:443/a#top")
    assert [item["id"] for item in found["tasks"]] == [task]


def test_a_refused_key_without_a_task_is_explained(cli: Cli) -> None:
    cli.submit("node", {"name": "r", "depth": 2, "width": 2}, "--max-depth", "1")
    cli.work()
    said = cli.good("explain", "node", "r.0.1")
    assert "no task has this identity" in said
    assert "reason depth" in said
    assert "depth 2 is over max_spawn_depth 1" in said


def test_blocks_total_by_reason(grown: tuple[Cli, str, str]) -> None:
    cli, _, lineage = grown
    blocks = cli.documents("blocks", lineage)
    assert (len(blocks), sum(block["count"] for block in blocks)) == (4, 12)
    assert blocks == cli.documents("blocks")
    said = cli.good("blocks", lineage, "--limit", "1")
    assert "... and 3 more rows" in said
    assert [line.split() for line in said.splitlines() if line.startswith(("cycle", "all"))] == [
        ["cycle", "12", "4"],
        ["all", "12", "4"],
    ]
    assert [block["key"] for block in cli.documents("blocks", "--key", "r.1", "--kind", "node")] == ["r.1"]
    assert cli.good("blocks", "--blocked-by", "budget") == "no refused spawns like that\n"


def test_blocks_beyond_the_stored_rows_are_in_the_totals(cli: Cli) -> None:
    # At most max_tasks rows are stored for a lineage; what is refused beyond that is only counted.
    cli.submit("node", {"name": "r", "depth": 1, "width": 9}, "--max-tasks", "2")
    cli.work()
    told = cli.documents("blocks")
    named, unnamed = ([one for one in told if ("key" in one) is has] for has in (True, False))
    assert (len(named), sum(one["count"] for one in named) + sum(one["times"] for one in unnamed)) == (2, 9)
    [totals] = [line.split() for line in cli.good("blocks").splitlines() if line.startswith("all")]
    assert totals == ["all", "9", "2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["status", "nope"], "no lineage nope"),
        (["tree", "nope"], "no task and no lineage nope"),
        (["explain", "nope"], "no task nope"),
        (["explain", "node", "nope"], "no task and no refused spawn"),
        (["explain", "node", "a", "--lineage", "nope"], "no lineage nope"),
        (["explain", "node", "two", "words"], "quote a key"),
        (["blocks", "nope"], "no lineage nope"),
    ],
)
def test_unknown_names_say_where_to_look(words: list[str], said: str, cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert said in cli.bad(*words)


def test_a_task_id_where_a_tracking_id_belongs_is_recognised(cli: Cli) -> None:
    task, lineage = cli.submit("node", {"name": "a"})
    assert cli.bad("status", task) == f"ramet: {task} is a task of lineage {lineage}: give that tracking id"


def test_a_parent_that_waits_for_its_children_is_in_no_queue(cli: Cli) -> None:
    task, line = cli.submit("bare")
    asyncio.run(join(cli))
    assert "0 processing, 2 in the queue, 1 waiting for other tasks" in cli.good("status")
    [found] = cli.documents("status", line)
    assert (found["waiting_for_tasks"], found["queue_size"], found["states"]["pending"]) == (1, 2, 3)
    assert cli.good("tree", line).startswith("waiting for 2 tasks bare ")
    [forest] = cli.documents("tree", task)
    [root] = forest["roots"]
    assert [node["waits_for"] for node in (root, *root["children"])] == [2, None, None]
    assert "it waits for 2 of 2 tasks since" in cli.good("explain", task)


async def join(cli: Cli) -> None:
    """Join for the task with two children that nothing here handles."""
    async with app.client(cli.address) as client, (await client.claim("bare"))[0] as claim:
        claim.spawn("elsewhere", key="1")
        claim.spawn("elsewhere", key="2")
        await claim.join()


def test_what_an_attempt_logged_is_shown_with_its_task(cli: Cli) -> None:
    task, _ = cli.submit("bare")
    cli.change(
        "INSERT INTO ramet_task_logs (seq, fence, tracking_id, log) SELECT seq, 1, tracking_id, "
        """'{"left_out": 7, "lines": [[1.5, "warning", "shop", "out of \\u001b[31mstock"]]}' FROM ramet_tasks"""
    )
    said = cli.good("explain", task)
    assert "log of claim 1, 7 before it left out:" in said
    assert "warning shop: out of " in said
    assert "\x1b" not in said
    [found] = cli.documents("explain", task)
    assert [(one["fence"], one["lines"][0]["logger"]) for one in found["log"]] == [(1, "shop")]
