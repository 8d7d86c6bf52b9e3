"""The handlers of the five kinds."""
