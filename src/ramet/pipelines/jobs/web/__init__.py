"""Asking servers for pages and lists: guarded, polite, conditional."""
