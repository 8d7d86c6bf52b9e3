"""The commands of ``ramet jobs``."""
