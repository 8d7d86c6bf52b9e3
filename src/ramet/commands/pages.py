"""Pages that a package adds to the dashboard, below ``/products/NAME``.

The entry point group ``ramet.pages`` names, by the product's name, a function that returns :class:`ProductPages`. Its
pages have the guard, the scopes, the frame and the content policy of all pages: they are served to users who may read,
forms are taken from users who may act, and templates escape every text. The dashboard imports the function's module
when it starts, so that one should import nothing heavy; views may, when they are called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol

from ramet import Client
from ramet.commands.errors import UserError


class PageMissing(UserError):
    """There is no such thing to show: answered with 404. Every other :class:`UserError` is answered with 400."""


class PageVisit(Protocol):
    """A request for a page of a product. Parameters are bounded, whatever the address says."""

    @property
    def client(self) -> Client:
        """The database; in a form, a client of the product's app."""
        ...

    @property
    def now(self) -> float:
        """Unix seconds by the database's clock."""
        ...

    @property
    def by(self) -> str:
        """The name under which the visitor's acts are recorded."""
        ...

    @property
    def address(self) -> str:
        """Path and query, encoded."""
        ...

    def text(self, name: str, most: int = ...) -> str | None:
        """Return a parameter as text of at most ``most`` characters; None when it is absent or empty."""
        ...

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a parameter as a whole number within bounds."""
        ...

    def word(self, name: str, allowed: Collection[str]) -> str | None:
        """Return a parameter as one of some words; None when it is absent."""
        ...


class ProductPage(NamedTuple):
    """A page of a product."""

    path: str
    """Address below ``/products/NAME``: empty for its first page, or ``/opening``. Ids are parameters, not parts of
    it.
    """
    name: str
    """Templates make its address with ``url("NAME:name", id=...)``, where NAME is the product's."""
    template: str
    """File in the product's folder of templates. It begins with ``{% extends layout %}``, and fills ``title``,
    ``heading`` and ``live`` as the dashboard's own do.
    """
    view: Callable[[PageVisit], Awaitable[dict[str, Any]]]
    """Reads what the template shows."""


class ProductForm(NamedTuple):
    """An action of a product's page. Requires the admin scope and a form of the dashboard."""

    path: str
    """Address below ``/products/NAME``, for POST."""
    name: str
    act: Callable[[PageVisit, Mapping[str, str]], Awaitable[str]]
    """Does it, given the fields of the form, and returns a line for the visitor. It records who did it. The visitor is
    led to the field ``back``."""


class ProductPages(NamedTuple):
    """All pages of a product."""

    label: str
    """Name in the list of pages."""
    package: str
    """The package that has a folder ``templates``."""
    tables: str
    """Prefix of its own tables, such as ``jobs_``. Its pages are listed if the database has such tables."""
    app: str
    """The app that forms need, as ``module:name``."""
    pages: tuple[ProductPage, ...]
    forms: tuple[ProductForm, ...] = ()
