"""What is kept of the ranked listings, so that the bar is a test that needs no pool: readings, and no texts.

``readings.json`` has for each listing of both draws its facts (title, company, place, and what the reader read); of the
text only the words for benefits that one country has. ``python -m tests.jobs.sampled.frozen --pool DIR`` writes it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import score_of
from ramet.jobs.posting import Posting
from ramet.jobs.text.areas import words_of_benefits
from ramet.jobs.text.posting_text import Reading, read_posting
from tests.jobs.sampled.pools import SAMPLES, listings
from tests.jobs.sampled.ranking import FOLDER, NOW, Scored, load_ranking, settings_for

FILE = FOLDER / "readings.json"
FILLER = "The text of this listing is not kept here. " * 8
"""Long enough for no strike, without a word that counts."""


def scored_readings(sample: str, profile: str) -> list[Scored]:
    """Score the kept readings of a draw as the pool's listings are scored."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    settings, found = settings_for(profile), []
    for ranked in load_ranking(SAMPLES[sample])[profile]:
        one = kept[ranked["path"]]
        posting = Posting(url="https://example.com/", description=f"{FILLER}{one['benefits']}", **one["posting"])
        reading = Reading.from_json({**one["reading"], "requirements": ""})
        verdict = judge(posting, reading, settings, NOW)
        score = score_of(posting, reading, None, settings, NOW)
        points = score.final if verdict.passed else 0.0
        said = verdict.rejection_summary
        found.append(Scored(posting.title, ranked["grade"], ranked["verdict"], points, score.is_match, said))
    return found


def readings_of(folder: Path) -> dict[str, Any]:
    """Read the ranked listings of all draws in the pools."""
    # Imported here: the module that runs the samples imports this folder's others.
    from tests.jobs.sampled.__main__ import read_pools

    pools = read_pools(folder)
    found: dict[str, Any] = {}
    for sample in SAMPLES.values():
        for profile in sample.listings:
            for item in listings(pools, profile, sample):
                posting, reading = item.posting, read_posting(item.posting).as_json()
                del reading["requirements"]
                facts = posting.model_dump(mode="json", exclude_defaults=True, exclude={"url", "description"})
                benefits = "; ".join(words_of_benefits(posting.description))
                found[item.path] = {"posting": facts, "reading": reading, "benefits": benefits}
    return found


def main() -> int:
    """Write the file from the pools."""
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.sampled.frozen", description=__doc__)
    parser.add_argument("--pool", type=Path, required=True, metavar="DIR", help="folder with a clone of each pool")
    found = readings_of(parser.parse_args().pool)
    lines = ",\n".join(f"{json.dumps(path)}: {json.dumps(found[path], ensure_ascii=False)}" for path in sorted(found))
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
