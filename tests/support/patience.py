"""How long a test waits for what must happen: until pytest's own guard against hanging, whatever the machine's speed.

No test has a shorter limit of its own (``tests/gate/test_patience.py``): a limit that nine busy programs can exceed
says nothing about the code under test.
"""

from __future__ import annotations

HANG_SECONDS = 290.0
"""A little less than the time-out of a test in ``pyproject.toml``, so that the error names what was waited for."""
