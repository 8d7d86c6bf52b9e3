"""Run random histories from a shell: ``python -m tests.paths [DATABASE] SEED`` or ``... [DATABASE] FIRST STOP``.

One seed is made small and told; of many the first that fails. The database is ``sqlite`` (the default) or ``postgres``.
"""

from __future__ import annotations

import sys

from tests.paths.histories import shrunk, survey
from tests.simulation.database import SIMULATED


def main(arguments: list[str]) -> int:
    on = arguments.pop(0) if arguments[0] in SIMULATED else "sqlite"
    numbers = [int(argument) for argument in arguments]
    found = shrunk(on, numbers[0])[1] if len(numbers) == 1 else survey(on, range(*numbers))
    sys.stdout.write(f"{found or 'the store does what the reference does'}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
