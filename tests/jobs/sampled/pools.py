"""The public pools that the held-out postings are drawn from, and the draw: by a committed seed, never by hand.

A pool is one commit of a public repository. Its texts are not part of this project: an item is named by its path and
the SHA-256 of its text. ``--pool DIR`` names a folder with a clone of each, ``DIR/OWNER+NAME/repo`` (bare or not) or
``DIR/OWNER+NAME``.

Two rules say which items can be drawn: at least 800 characters of text without markup, and of items of one company
whose texts begin with the same 200 letters and digits only the first by path.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramet.jobs.posting import Posting

CHARACTERS_MIN = 800
_OPENING = 200
_MARKUP = re.compile(r"<[^<>]{0,1000}>|&\w{1,8};|&#\w{1,8};")
_ADDRESS_LINE = re.compile(r"\A\s*\*\*URL:\*\*[^\n]*\n")
_COMMENTARY = re.compile(r"\n(?:-{3}\n+)?## Layer B\b.*", re.DOTALL)
"""What the owner of the pool thinks of a posting, below the posting."""
_BUILDS_SOFTWARE = re.compile(
    r"\b(?:software|engineer|developer|programmer|devops|architect|full[- ]?stack|back[- ]?end|front[- ]?end|sre)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Item:
    """One posting of a pool."""

    path: str
    """``OWNER/NAME:FILE`` or ``OWNER/NAME:FILE#ID``."""
    posting: Posting

    @property
    def sha256(self) -> str:
        """Of the text as the pool has it, in UTF-8."""
        return hashlib.sha256(self.posting.description.encode()).hexdigest()

    @property
    def characters(self) -> int:
        """Of the text without markup, runs of spaces counted once."""
        return len(" ".join(_MARKUP.sub(" ", self.posting.description).split()))

    @property
    def opening(self) -> tuple[str, str]:
        """The same for two items that are taken for one."""
        letters = re.sub(r"\W", "", _MARKUP.sub(" ", self.posting.description).lower())
        return (self.posting.company or "").strip().lower(), letters[:_OPENING]


Read = Callable[[dict[str, bytes]], Iterator[tuple[str, Posting]]]
"""Makes (path, posting) pairs of the files of a pool."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One commit of a public repository, and how its files become postings."""

    repository: str
    commit: str
    files: str
    """A pattern that the whole path of a file has to match."""
    read: Read


def _analytics(files: dict[str, bytes]) -> Iterator[tuple[str, Posting]]:
    for path, content in files.items():
        folder, _, name = path.rpartition("/")
        facts = files.get(f"{folder}/{folder.rpartition('/')[2]}.json")
        if name != "jd_archive.md" or facts is None:
            continue
        about = json.loads(facts)
        place = about.get("job_location") or ""
        yield (
            path,
            Posting(
                url=about.get("source_url") or "https://example.com/",
                title=about["role"],
                company=about["company"],
                location=None if place.lower().startswith("not stated") else place or None,
                description=_COMMENTARY.sub("", _ADDRESS_LINE.sub("", content.decode())).strip(),
            ),
        )


def _india(files: dict[str, bytes]) -> Iterator[tuple[str, Posting]]:
    for path, content in files.items():
        for row in json.loads(content):
            address = str(row["jobUrl"]).partition("?")[0]
            yield (
                f"{path}#{address.rpartition('-')[2]}",
                Posting(
                    url=address,
                    title=row["position"],
                    company=row["company"],
                    location=row["location"],
                    description=row["job_description"] or "",
                ),
            )


def _remote_ok(files: dict[str, bytes]) -> Iterator[tuple[str, Posting]]:
    for path, content in files.items():
        for row in json.loads(content.decode("utf-8-sig"))[1:]:
            yield (
                f"{path}#{row['id']}",
                Posting(
                    url=row["url"],
                    title=row["position"],
                    company=row["company"],
                    location=row["location"] or None,
                    description=row["description"],
                ),
            )


def _remotive(files: dict[str, bytes]) -> Iterator[tuple[str, Posting]]:
    for path, content in files.items():
        for row in json.loads(content.decode("utf-8-sig"))["jobs"]:
            yield (
                f"{path}#{row['id']}",
                Posting(
                    url=row["url"],
                    title=row["title"],
                    company=row["company_name"],
                    location=row["candidate_required_location"] or None,
                    salary=row["salary"] or None,
                    description=row["description"],
                ),
            )


def _lines(files: dict[str, bytes]) -> Iterator[tuple[str, Posting]]:
    for path, content in files.items():
        for line in filter(None, content.decode().split("\n")):
            row: dict[str, Any] = json.loads(line)
            yield (
                f"{path}#{row['id']}",
                Posting(
                    url=row["url"],
                    title=row["title"],
                    company=row["company"],
                    location=row["location"] or None,
                    description=row["description"] or "",
                ),
            )


ANALYTICS = Pool(
    "jeremychia/analytics-engineers-job-descriptions", "823c29ec80fad7a8dee614f12971c4dddc72edd2",
    r"data/.*(?:\.json|jd_archive\.md)", _analytics,
)  # fmt: skip
"""Data roles, most of them in Europe."""
INDIA = Pool(
    "NikhilKalloli/soro-ass", "c718cfcf825ed98963367e9a7401598de9ca32f5",
    r"analysis/part_1_enrich\.json", _india,
)  # fmt: skip
"""Postings in India, all on one line each."""
REMOTE_OK = Pool(
    "JACKAS5/resume-helper", "aa125689074656b19b6b0b9c46d59246288b6bbc",
    r"remoteok\.json", _remote_ok,
)  # fmt: skip
"""An answer of a board of remote work: many roles, in HTML, some places in the wrong encoding, as the board sent it."""
REMOTIVE = Pool(
    "PriyanshuTarsauliya/WorkVerse", "86ee21e9d93745f3bad354b7885669424aa26b9a",
    r"remotive\.json", _remotive,
)  # fmt: skip
"""An answer of another such board: with Latin America, and a field for pay."""
CONSTRUCTION = Pool(
    "shiggins03/unifier-jobs", "13caa8c542ce39beba108297dac83fc144d226ee",
    r"data/jobs\.jsonl", _lines,
)  # fmt: skip
"""Construction and its software, in the United States."""
FINANCE = Pool(
    "shiggins03/fpna-jobs", "1cc08ecf7c2fa295506593324e36b5e0fdfda305",
    r"data/jobs\.jsonl", _lines,
)  # fmt: skip
"""Planning and finance, in the United States."""
POOLS = (ANALYTICS, INDIA, REMOTE_OK, REMOTIVE, CONSTRUCTION, FINANCE)

Listings = dict[str, tuple[tuple[Pool, bool, int], ...]]
"""Profile to what its 30 listings are drawn from: the pool, whether the title has to have a word of building software,
and how many."""
EU_LISTINGS = (
    (ANALYTICS, False, 19), (INDIA, False, 4), (REMOTE_OK, False, 3), (REMOTIVE, False, 2),
    (CONSTRUCTION, False, 1), (FINANCE, False, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """A draw of texts and of listings to rank; it shares no item with the samples before it."""

    name: str
    seed_of_texts: int
    texts: tuple[int, ...]
    """How many texts are drawn of each of :data:`POOLS`, in its order."""
    seed_of_listings: int
    listings: Listings
    before: Sample | None
    suffix: str = ""
    """Ends the names of its files: labels, ranking and answers."""


FIRST = Sample("first", 28, (16, 13, 12, 5, 7, 7), 28, {
    "us": (
        (REMOTE_OK, True, 10), (REMOTIVE, True, 4), (INDIA, True, 5), (ANALYTICS, False, 4),
        (REMOTE_OK, False, 5), (CONSTRUCTION, False, 1), (FINANCE, False, 1),
    ),
    "eu": EU_LISTINGS,
}, None)  # fmt: skip
"""Seed: the number of the issue that asked for the sample, chosen before any text was looked at."""
SECOND = Sample("second", 2028, (16, 13, 12, 5, 7, 7), 2029, {
    "us": (
        (REMOTE_OK, True, 8), (REMOTIVE, True, 4), (INDIA, True, 5), (ANALYTICS, False, 6),
        (REMOTE_OK, False, 5), (CONSTRUCTION, False, 1), (FINANCE, False, 1),
    ),
    "eu": EU_LISTINGS,
}, FIRST, "-second")  # fmt: skip
"""Drawn after the rules had been changed with the first in sight: the boards of remote work have fewer titles left."""
THIRD = Sample("third", 3028, (8, 7, 6, 2, 3, 4), 0, {}, SECOND, "-third")
"""Half as many texts and no listings: drawn and labelled before rules were changed with the second in sight."""
FOURTH = Sample("fourth", 4028, (16, 13, 12, 5, 7, 7), 0, {}, THIRD, "-fourth")
"""As many texts as the first, and no listings: labelled before rules were changed with the third in sight."""
FIFTH = Sample("fifth", 5028, (20, 14, 9, 1, 8, 8), 0, {}, FOURTH, "-fifth")
"""All that is left of the boards of remote work, and of the other pools as much as makes 60: set apart before the texts
of :data:`DEVELOPMENT` were drawn, labelled by README.md after rules had been changed with those in sight."""
_DEVELOPMENT = Sample("development", 6028, (120, 55, 0, 0, 14, 11), 0, {}, FIFTH)
_DEVELOPMENT_SECOND = Sample("development-second", 7028, (60, 22, 0, 0, 10, 8), 0, {}, FIFTH)
_DEVELOPMENT_THIRD = Sample("development-third", 8028, (45, 25, 0, 0, 8, 8), 0, {}, _DEVELOPMENT)
DEVELOPMENT = (_DEVELOPMENT, _DEVELOPMENT_SECOND, _DEVELOPMENT_THIRD)
"""Texts to find kinds of misreadings in. They have no labels; none of them is in a sample. The second shares 45 texts
with the first, the third none with it."""
SAMPLES = {sample.name: sample for sample in (FIRST, SECOND, THIRD, FOURTH, FIFTH)}


def read_pool(pool: Pool, folder: Path) -> list[Item]:
    """Read all postings of a pool, sorted by path.

    Raises:
        FileNotFoundError: there is no clone of it in the folder.
        subprocess.CalledProcessError: the clone does not have the commit.
    """
    home = folder / pool.repository.replace("/", "+")
    repository = home / "repo" if (home / "repo").is_dir() else home
    if not repository.is_dir():
        raise FileNotFoundError(f"no clone of {pool.repository}: {home} is not a folder")
    listed = _git(repository, "ls-tree", "-r", "-z", "--name-only", pool.commit).decode().split("\0")
    names = [name for name in listed if re.fullmatch(pool.files, name)]
    files = dict(zip(names, _contents(repository, [f"{pool.commit}:{name}" for name in names]), strict=True))
    items = [Item(f"{pool.repository}:{path}", posting) for path, posting in pool.read(files)]
    return sorted(items, key=lambda item: item.path)


def can_be_drawn(items: Iterable[Item]) -> list[Item]:
    """Keep the items that are long enough and not a duplicate of one before, in the order of their paths."""
    first: dict[tuple[str, str], Item] = {}
    for item in sorted(items, key=lambda item: item.path):
        if item.characters >= CHARACTERS_MIN:
            first.setdefault(item.opening, item)
    return list(first.values())


def draw(items: Sequence[Item], count: int, seed: int, purpose: str) -> list[Item]:
    """Draw so many items, the same on every machine.

    Args:
        items: what can be drawn, sorted by path.
        count: how many.
        seed: of the sample.
        purpose: text that makes one draw differ from another of the same items.
    """
    return random.Random(f"{seed}/{purpose}").sample(list(items), count)


def texts(pools: dict[Pool, list[Item]], sample: Sample = FIRST) -> list[Item]:
    """Draw the sample of texts: of each pool its number."""
    taken = _drawn(pools, sample.before)
    return [
        item
        for pool, count in zip(POOLS, sample.texts, strict=True)
        for item in draw(
            [item for item in pools[pool] if item.path not in taken],
            count,
            sample.seed_of_texts,
            f"texts/{pool.repository}",
        )
    ]


def listings(pools: dict[Pool, list[Item]], profile: str, sample: Sample = FIRST) -> list[Item]:
    """Draw the listings of a profile, none of which is in the sample of texts."""
    taken = _drawn(pools, sample.before) | {item.path for item in texts(pools, sample)}
    drawn: list[Item] = []
    for pool, is_software, count in sample.listings[profile]:
        left = [
            item
            for item in pools[pool]
            if item.path not in taken and (not is_software or _BUILDS_SOFTWARE.search(item.posting.title))
        ]
        found = draw(left, count, sample.seed_of_listings, f"listings/{profile}/{pool.repository}/{is_software}")
        taken.update(item.path for item in found)
        drawn += found
    return drawn


def _drawn(pools: dict[Pool, list[Item]], sample: Sample | None) -> set[str]:
    """Paths of all items of a sample and of those before it."""
    if sample is None:
        return set()
    paths = {item.path for item in texts(pools, sample)} | _drawn(pools, sample.before)
    return paths | {item.path for profile in sample.listings for item in listings(pools, profile, sample)}


def _git(repository: Path, *arguments: str, given: bytes | None = None) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def _contents(repository: Path, names: list[str]) -> Iterator[bytes]:
    """The content of each object, from one process for all."""
    answer = _git(repository, "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
    place = 0
    for _ in names:
        line = answer.index(b"\n", place)
        size = int(answer[place:line].split()[-1])
        yield answer[line + 1 : line + 1 + size]
        place = line + 1 + size + 1
