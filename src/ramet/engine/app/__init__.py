"""The app: a program's kinds, stages, limits and tables."""
