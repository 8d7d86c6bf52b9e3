"""Asking servers that may mean harm: which addresses may be connected to, and how much of an answer is read."""
