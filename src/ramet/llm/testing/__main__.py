"""``python -m ramet.llm.testing``: run the stand-in until it is interrupted."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from ramet.llm.testing.script import Script, script_from
from ramet.llm.testing.server import StandIn


@click.command()
@click.option("--port", default=0, show_default=True, help="Of this machine; 0: one that is free.")
@click.option(
    "--script", "script_path", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A JSON file."
)
def main(port: int, script_path: Path | None) -> None:
    """Our own fake of a provider, for tests and first steps. Its address is printed once it listens."""
    import json

    try:
        script = Script() if script_path is None else script_from(json.loads(script_path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise click.BadParameter(str(error), param_hint="--script") from error
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with StandIn(script, port=port) as standin:
        click.echo(standin.url)
        ended.wait()


if __name__ == "__main__":
    main()
