"""Contexts: what a handler holds and may ask for."""
