"""Print what the rules make of the recorded profiles: ``python -m tests.jobs.companies.report [FILE]``."""

# ruff: noqa: T201 - a report is printed

from __future__ import annotations

import sys
from pathlib import Path

from tests.jobs.companies.recorded_profiles import REMOTE_FIRST, TAGS, read_profiles, reported
from tests.jobs.corpus import corpus_file


def main(path: Path) -> None:
    """The figures, each with its counts."""
    read = read_profiles(path)
    report = reported(read)
    print(f"profiles: {report.profiles}")
    print(f"remote-first right: {report.remote_right} of {report.profiles}; precision {report.remote_precision:.2f}")
    for (policy, found), count in sorted(report.remote.items()):
        print(f"  {policy:16} {'remote-first' if found else 'not':12} {count}")
    print(f"size found: {report.size_found} of {report.size_told}; agrees with its class: {report.size_agrees}")
    tags = report.tags
    print(
        f"languages ({len(TAGS)} tags): precision {tags['both'] / (tags['both'] + tags['more']):.2f}"
        f" ({tags['both']} of {tags['both'] + tags['more']}),"
        f" recall {tags['both'] / (tags['both'] + tags['missed']):.2f}"
        f" ({tags['both']} of {tags['both'] + tags['missed']})"
    )
    for name in ("about", "culture", "mission", "size", "headquarters_location", "industry", "founded", "offices"):
        print(f"  {name}: {sum(bool(getattr(facts, name)) for _, facts in read)} of {report.profiles}")
    for profile, facts in read:
        expected = profile["expected"]
        if (expected["remote_policy"] in REMOTE_FIRST) != facts.remote_first:
            evidence = facts.evidence.get("remote_first", ())
            print(f"  remote: {expected['title']}: {expected['remote_policy']}, {facts.remote_first} {evidence}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else corpus_file("companies/profiles_dev.jsonl"))
