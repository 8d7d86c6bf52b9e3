"""``python -m ramet.cli``: the same as ``ramet``."""

from ramet.cli import main

if __name__ == "__main__":
    main()
