"""What a person says of a match: new until it was shown, hidden when dismissed, kept whatever becomes of its row."""

from __future__ import annotations

import asyncio
import csv
import io
import time

import pytest

import ramet.jobs
from ramet.jobs.errors import NotFound
from ramet.jobs.match_status import NOTE_CHARACTERS_MAX, short_id
from ramet.jobs.pipeline import app
from tests.jobs.commands.conftest import DAY, Place, refusal

ONE, TWO, THREE = (f"https://a.example/{number}" for number in (1, 2, 3))
TEXT_HASH = 0x1234_5678_9ABC_DEF0


def statuses(place: Place, *words: str) -> dict[str, str]:
    """Status by listing, as a look that leaves new ones new tells, in order."""
    return {one["listing_id"]: one["status"] for one in place.told("matches", "--keep-new", *words)}


def marked(place: Place, *words: str) -> str:
    result = place.run("mark", *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def three(place: Place) -> None:
    """Three matches of different companies, the first the best."""
    for listing_id, worth in ((ONE, 95), (TWO, 90), (THREE, 85)):
        place.add_match(listing_id, worth, company=f"Company {listing_id[-1]}")


def test_a_match_is_new_until_it_was_shown_and_new_ones_come_first(place: Place) -> None:
    three(place)
    assert [one["listing_id"] for one in place.told("matches", "--limit", "1")] == [ONE]
    assert list(statuses(place).items()) == [(TWO, "new"), (THREE, "new"), (ONE, "seen")]
    assert list(statuses(place, "--new")) == [TWO, THREE]
    shown = place.run("matches")
    assert "3 matches, 2 new" in shown.stdout
    assert set(statuses(place).values()) == {"seen"}
    assert "there are no new matches" in place.run("matches", "--new").stdout


def test_a_filter_that_hides_a_match_leaves_it_new(place: Place) -> None:
    three(place)
    place.run("matches", "--min-score", "90")
    assert statuses(place) == {THREE: "new", ONE: "seen", TWO: "seen"}


def test_several_are_marked_at_once_by_short_id_address_or_id(place: Place) -> None:
    three(place)
    assert marked(place, short_id(ONE), f"{TWO}/apply?utm_source=x", "applied", "--note", "by mail") == (
        "2 openings marked applied\n"
    )
    found = {one["listing_id"]: one for one in place.told("matches")}
    assert [(found[one]["status"], found[one]["note"]) for one in (ONE, TWO)] == [("applied", "by mail")] * 2
    assert found[ONE]["status_by"]
    assert abs(found[ONE]["status_at"] - time.time()) < DAY
    assert found[THREE]["status"] == "new"
    assert list(statuses(place, "--status", "applied")) == [ONE, TWO]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((ONE, "nonsense", "applied"), "'nonsense' is not known"),
        ((ONE, "nonsense", "https://b.example/x", "applied"), "'nonsense', 'https://b.example/x' are not known"),
        ((ONE, "hired"), "'hired' is not a status of a match: give one of seen, dismissed, applied"),
        ((ONE, "new"), "'new' is not a status of a match"),
        ((ONE, "applied", "--note", "x" * (NOTE_CHARACTERS_MAX + 1)), "the note has 2,001 characters"),
    ],
)
def test_what_cannot_be_marked_is_one_line_and_nothing_is_marked(
    place: Place, words: tuple[str, ...], said: str
) -> None:
    three(place)
    assert said in refusal(place.run("mark", *words))
    assert set(statuses(place).values()) == {"new"}


def test_a_dismissed_match_is_hidden_and_can_be_taken_back(place: Place) -> None:
    three(place)
    marked(place, ONE, "Dismissed")
    assert set(statuses(place)) == {TWO, THREE}
    assert statuses(place, "--all")[ONE] == "dismissed"
    assert [one["listing_id"] for one in place.told("matches", "--all")] == [TWO, THREE, ONE]
    marked(place, ONE, "seen")
    assert statuses(place)[ONE] == "seen"


def test_what_fits_no_more_can_be_marked_and_it_is_said_where_that_is_shown(place: Place) -> None:
    place.add_listing(ONE, reason="too many strikes")
    assert "it was no match: `ramet jobs why` shows what you said" in marked(place, ONE, "applied")
    assert [mark["status"] for mark in place.told("why", ONE)["history"]] == ["applied"]
    assert statuses(place) == {}


def test_a_look_never_replaces_what_a_person_said(place: Place) -> None:
    three(place)
    marked(place, ONE, "interviewing")
    place.run("matches")
    place.run("matches", "--all")
    assert statuses(place)[ONE] == "interviewing"


def test_a_followed_match_is_shown_after_its_board_closed_it(place: Place) -> None:
    place.add_match(ONE, 95, closed_at=time.time() - DAY)
    assert statuses(place) == {}
    marked(place, ONE, "applied", "--note", "wait for\tthem")
    told = place.run("matches").stdout
    assert "applied now" in told
    assert "closed 24 h ago" in told
    assert "wait for\\tthem" in told


def test_the_history_is_kept_and_why_shows_it(place: Place) -> None:
    three(place)
    place.run("matches")
    for status, note in (("applied", "by mail"), ("interviewing", "on Friday"), ("rejected", "no reason given")):
        marked(place, ONE, status, "--note", note)
    history = place.told("why", ONE)["history"]
    assert [(mark["status"], mark["note"]) for mark in history] == [
        ("seen", None), ("applied", "by mail"), ("interviewing", "on Friday"), ("rejected", "no reason given"),
    ]  # fmt: skip
    shown = place.run("why", ONE).stdout
    assert "interviewing" in shown
    assert "on Friday" in shown


def test_what_was_said_survives_a_new_score(place: Place) -> None:
    three(place)
    marked(place, ONE, "dismissed")
    place.write([("DELETE FROM jobs_matches WHERE listing_id = ?", [ONE])])
    assert set(statuses(place, "--all")) == {TWO, THREE}
    place.write([("DELETE FROM jobs_listings WHERE listing_id = ?", [ONE])])
    place.add_match(ONE, 99)
    assert statuses(place, "--all")[ONE] == "dismissed"


@pytest.mark.parametrize(
    ("again", "status"),
    [
        ({}, "dismissed"),
        ({"text_hash": TEXT_HASH ^ 0b11}, "dismissed"),
        ({"text_hash": ~TEXT_HASH}, "new"),
        ({"title": "Staff Python Engineer"}, "new"),
        ({"company": "Other"}, "new"),
        ({"location": "Berlin, Germany", "fingerprint": "else"}, "dismissed"),
    ],
)
def test_a_dismissed_opening_that_is_posted_again_stays_dismissed(
    place: Place, again: dict[str, object], status: str
) -> None:
    said = {"text_hash": TEXT_HASH, "fingerprint": "here"}
    place.add_match(ONE, 95, **said, closed_at=time.time())
    marked(place, ONE, "dismissed")
    place.add_match(TWO, 95, **{**said, **again})
    assert statuses(place, "--all") == {TWO: status}


def test_without_texts_only_a_closed_opening_is_taken_for_the_same(place: Place) -> None:
    place.add_match(ONE, 95, text_hash=0, fingerprint="here")
    marked(place, ONE, "dismissed")
    place.add_match(TWO, 95, text_hash=0, fingerprint="here")
    assert statuses(place, "--all")[TWO] == "new"
    place.write([("UPDATE jobs_listings SET closed_at = ? WHERE listing_id = ?", [time.time(), ONE])])
    assert statuses(place, "--all")[TWO] == "dismissed"


def test_an_opening_that_another_board_stands_for_keeps_its_status(place: Place) -> None:
    place.add_match(ONE, 95, title="Engineer")
    marked(place, ONE, "applied")
    place.add_match(TWO, 95, title="Engineer (m/f/d)")
    place.write(
        [
            ("DELETE FROM jobs_matches WHERE listing_id = ?", [ONE]),
            ("UPDATE jobs_listings SET status = 'skipped', same_as = ? WHERE listing_id = ?", [TWO, ONE]),
        ]
    )
    assert statuses(place) == {TWO: "applied"}


def test_export_has_status_note_and_times(place: Place) -> None:
    three(place)
    marked(place, ONE, "applied", "--note", "=1+1")
    marked(place, TWO, "dismissed")

    def rows(*words: str) -> dict[str, dict[str, str]]:
        text = place.run("export", "csv", *words).stdout
        return {row["listing_id"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}

    today = time.strftime("%Y-%m-%d", time.gmtime())
    one = rows()[ONE]
    assert (one["status"], one["note"], one["id"]) == ("applied", "'=1+1", short_id(ONE))
    assert one["status_at"] <= today
    assert one["saved_at"] <= today
    assert set(rows()) == {ONE, THREE}
    assert rows("--all")[TWO]["status"] == "dismissed"
    assert set(rows("--status", "new")) == {THREE}
    assert "note: =1\\+1" in place.run("export", "markdown").stdout
    assert statuses(place)[THREE] == "new"


def test_a_list_fits_into_80_columns(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert place.run("init", "--sample").exit_code == 0
    url = "https://boards.greenhouse.io/acme/jobs/" + "4" * 60
    place.add_match(url, 95, title="Engineer " * 12)
    lines = place.run("matches").stdout.splitlines()
    assert max(len(line) for line in lines if "greenhouse" not in line) <= 80
    [address] = [line for line in lines if "greenhouse" in line]
    assert address.strip() == url, "an address is one word on its line"
    assert "  new  " in lines[0]


def test_a_program_reads_and_marks_matches(place: Place) -> None:
    three(place)

    async def use() -> list[tuple[str, str]]:
        async with app.client(place.database, create=False) as client:
            await ramet.jobs.mark_matches(client, [ONE], "offer", note="good", by="Ana")
            with pytest.raises(NotFound, match="there is no listing 'nothing'"):
                await ramet.jobs.mark_matches(client, [TWO, "nothing"], "applied")
            [mark] = await ramet.jobs.match_history(client, ONE)
            assert (mark.status, mark.note, mark.marked_by) == (ramet.jobs.MatchStatus.OFFER, "good", "Ana")
            found = await ramet.jobs.matches(client, now=time.time())
            return [(one.match.listing_id, one.status) for one in found]

    assert asyncio.run(use()) == [(TWO, "new"), (THREE, "new"), (ONE, "offer")]
