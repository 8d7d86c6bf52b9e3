"""What a type checker sees of the public API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.process
def test_type_checkers_see_the_signatures_of_the_synchronous_client(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from ramet import App\n"
        "client = App().sync_client('x.db')\n"
        "reveal_type(client.submit('kind', 1, key='a').id)\n"
        "client.submit('kind', keys='a')\n"
        "reveal_type(client.claim('kind')[0].complete())\n"
        "reveal_type(client.schedules.add('kind', 1, cron='* * * * *').name)\n"
        "client.schedules.pause(1)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line.partition("script.py:")[2] for line in done.stdout.splitlines()]
    assert 'Revealed type is "str"' in told[0].replace("builtins.", "")
    assert told[1].startswith('4: error: Unexpected keyword argument "keys"')
    assert "ramet.engine.client.claim.ClaimResult" in told[2]
    assert 'Revealed type is "str"' in told[3].replace("builtins.", "")
    assert told[4].startswith("7: error: Argument 1 has incompatible type"), told[4]
