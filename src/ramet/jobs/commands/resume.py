"""`ramet jobs init --resume`: a profile from the text of a resume, as YAML that a person corrects."""

from __future__ import annotations

import datetime
from pathlib import Path

import click
import yaml

from ramet.commands.terminal import emit, plain
from ramet.jobs.errors import InputError
from ramet.jobs.text.resume import ResumeProfile, profile_of

BYTES_MAX = 4 * 1024 * 1024
"""Of a resume as text."""
KINDS = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a document of a word processor",
    b"\xd0\xcf\x11\xe0": "a document of a word processor",
    b"{\\rtf": "a document in rich text",
}
"""What a file is by its first bytes, where that is no text."""


def show_resume(file: Path, *, as_json: bool) -> None:
    """Write the profile that a resume tells to standard output.

    Raises:
        InputError: it is no text, or nothing in it is of use: one line that says what to do.
    """
    found = profile_of(_text_of(file), datetime.datetime.now(datetime.UTC).date())
    if not found.values.keys() - {"name"}:
        raise InputError(f"{file}: no technology, title or period was found in it: give the text of a resume")
    if as_json:
        emit({"profile": dict(found.values), "reasons": dict(found.reasons)})
        return
    click.echo(profile_text(found, file.name), nl=False)
    click.echo("nothing is stored: correct it, then `ramet jobs init --from FILE` takes it in", err=True)


def profile_text(found: ResumeProfile, origin: str) -> str:
    """The profile as YAML, with what each part was read from."""
    lines = [f"# Read in {plain(origin)} by rules. Correct it, then: ramet jobs init --from FILE", "profile:"]
    for name, value in found.values.items():
        if reason := found.reasons.get(name):
            lines.append(f"  # {plain(reason)}")
        written = yaml.safe_dump({name: value}, allow_unicode=True, sort_keys=False, width=999)
        lines += [f"  {line}" for line in written.splitlines()]
    return "\n".join(lines) + "\n"


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error}): give the text of a resume") from error
    kind = next((kind for mark, kind in KINDS.items() if content.startswith(mark)), None)
    if kind is not None:
        raise InputError(f"{file}: is {kind}: save it as text (.txt) and give that")
    if len(content) > BYTES_MAX:
        raise InputError(f"{file}: is larger than {BYTES_MAX:,} bytes: give the text of a resume only")
    try:
        return content.decode("utf-8-sig").replace("\0", "")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 at byte {error.start:,}: save it as text in UTF-8") from error
