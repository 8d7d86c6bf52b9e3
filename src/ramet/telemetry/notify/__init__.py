"""Ways to people that leave the machine: a signed webhook, and everything that apprise speaks.

The engine finds them in the entry-point group ``ramet.alert_channels``. Each reads its own environment variables and is
there only when they are set. No secret of theirs is stored, logged or shown.
"""
