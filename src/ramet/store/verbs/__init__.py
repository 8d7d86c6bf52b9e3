"""Verbs: what a worker, a client or an operator asks of the database, one transaction each."""
