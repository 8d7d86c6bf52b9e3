"""Changes of state: :mod:`ramet.store.state.apply` and what follows from it. The one place that changes a task's
state."""
