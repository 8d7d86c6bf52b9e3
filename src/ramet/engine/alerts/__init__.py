"""Alerts: the monitor, notifications and their channels."""
