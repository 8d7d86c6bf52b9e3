"""The import of tasks from another queue."""
