"""Alerts: when one is raised, and how it is sent."""
