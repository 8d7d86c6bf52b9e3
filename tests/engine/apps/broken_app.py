"""An app that cannot be loaded."""

raise RuntimeError("this module is broken on purpose")
