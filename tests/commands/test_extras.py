"""What an extra lacks is read from what the distribution says that it needs."""

from __future__ import annotations

from ramet.commands.extras import Extra, extras

REQUIRES = [
    "click>=8.1",
    'no-such-package-one[speed]>=2; extra == "web"',
    "no_such_package_two ; extra == 'web'",
    "click; extra == 'web'",
    'click; python_version >= "3.11" and extra == "metrics"',
    'no-such-package-one; extra == "dev"',
    'no-such-package-one; extra == "docs"',
]


def test_each_extra_lists_what_is_not_installed_and_how_to_bring_it() -> None:
    metrics, web = extras(REQUIRES)
    assert metrics == Extra("metrics", ())
    assert web == Extra("web", ("no-such-package-one", "no_such_package_two"))
    assert web.install == "pip install 'ramet[web]'"


def test_of_the_installed_ramet_every_extra_for_users_is_told() -> None:
    names = {extra.name for extra in extras()}
    assert {"web", "wiki", "llm", "jobs", "postgres", "metrics", "traces", "alerts"} <= names
    assert names.isdisjoint({"dev", "docs"})
