"""Running handlers: slots, calls, invocations."""
