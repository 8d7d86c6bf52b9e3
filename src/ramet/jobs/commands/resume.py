"""`ramet jobs init --resume`: a profile from the text of a resume, as YAML that a person corrects."""

from __future__ import annotations

import datetime
from pathlib import Path

import click
import yaml

from ramet.commands.terminal import emit, plain
from ramet.jobs.config.config_file import read_text
from ramet.jobs.errors import InputError
from ramet.jobs.text.resume import ResumeProfile, profile_of

BYTES_MAX = 4 * 1024 * 1024
"""Most bytes of a resume as text."""
_AS_TEXT = "save it as text (.txt) and give that"
KINDS = {
    b"%PDF": f"a PDF: {_AS_TEXT}",
    b"PK\x03\x04": f"a document of a word processor: {_AS_TEXT}",
    b"\xd0\xcf\x11\xe0": f"a document of a word processor: {_AS_TEXT}",
    b"{\\rtf": f"a document in rich text: {_AS_TEXT}",
}
"""Kinds of files that are not text, by their first bytes, each with what to do."""


def show_resume(file: Path, *, as_json: bool) -> None:
    """Write the profile that is read of a resume to standard output.

    Raises:
        InputError: it is not text, or nothing in it is of use: one line that says what to do.
    """
    text = read_text(
        file,
        BYTES_MAX,
        unreadable="give the text of a resume",
        too_large="give the text of a resume only",
        encoding="save it as text in UTF-8",
        kinds=KINDS,
    ).replace("\0", "")
    found = profile_of(text, datetime.datetime.now(datetime.UTC).date())
    if not found.values.keys() - {"name"}:
        raise InputError(f"{file}: no technology, title or period was found in it: give the text of a resume")
    if as_json:
        emit({"profile": dict(found.values), "reasons": dict(found.reasons)})
        return
    click.echo(profile_text(found, file.name), nl=False)
    click.echo("nothing is stored: correct it, then `ramet jobs init --from FILE` takes it in", err=True)


def profile_text(found: ResumeProfile, origin: str) -> str:
    """Return the profile as YAML, with the words that each part was read from."""
    lines = [f"# Read in {plain(origin)} by rules. Correct it, then: ramet jobs init --from FILE", "profile:"]
    for name, value in found.values.items():
        if reason := found.reasons.get(name):
            lines.append(f"  # {plain(reason)}")
        written = yaml.safe_dump({name: value}, allow_unicode=True, sort_keys=False, width=999)
        lines += [f"  {line}" for line in written.splitlines()]
    return "\n".join(lines) + "\n"
