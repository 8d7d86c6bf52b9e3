"""The client: submit, ask, operate, claim; async and blocking."""
