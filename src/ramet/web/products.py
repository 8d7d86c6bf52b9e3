"""Pages of installed packages, below ``/products/NAME``: what :mod:`ramet.commands.pages` describes, served."""

from __future__ import annotations

import importlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import Any, NamedTuple, TypeVar

from jinja2 import BaseLoader, PackageLoader, PrefixLoader
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ramet import App, Client, StoreError
from ramet.commands.errors import UserError, one_line
from ramet.commands.pages import PageMissing, PageVisit, ProductForm, ProductPage, ProductPages
from ramet.web.guard import form_of
from ramet.web.page import BadInput, NotFound, Page, View, Visit, visit_of
from ramet.web.views.action import back_to, require_admin

GROUP = "ramet.pages"
"""Entry points: each names a function without arguments that returns the pages of a product."""
LOOK_SECONDS = 30.0
"""Time for which the absence of a product's tables is remembered."""
_TABLES = "SELECT name FROM ramet_own_tables"


class Product(NamedTuple):
    """An installed product that has pages."""

    name: str
    pages: ProductPages

    def page_name(self, one: ProductPage | ProductForm) -> str:
        """Return the name of the route."""
        return f"{self.name}:{one.name}"

    @property
    def first(self) -> str:
        """The name of its first page."""
        return self.page_name(self.pages.pages[0])


def installed() -> tuple[Product, ...]:
    """Return the products of installed packages, by name."""
    found = sorted(entry_points(group=GROUP), key=lambda one: one.name)
    return tuple(Product(one.name, one.load()()) for one in found)


def loader(products: Sequence[Product]) -> BaseLoader:
    """Return the templates of products, as ``NAME/file.html``."""
    return PrefixLoader({one.name: PackageLoader(one.pages.package) for one in products})


@dataclass(slots=True)
class UsedProducts:
    """Those products of which a database has tables: their pages are listed. Read at most every half a minute."""

    products: Sequence[Product]
    used: Sequence[Product] = ()
    """Products in use, as they were read last."""
    _looked_at: float | None = None

    async def look(self, client: Client) -> None:
        """Read the products in use, unless they were read a moment ago or all are used."""
        now = time.monotonic()
        recent = self._looked_at is not None and now - self._looked_at < LOOK_SECONDS
        if recent or len(self.used) == len(self.products):
            return
        names = [str(name) for (name,) in await client.read(_TABLES)]
        self.used = [one for one in self.products if any(name.startswith(one.pages.tables) for name in names)]
        self._looked_at = now


def pages_of(products: Sequence[Product]) -> list[Page]:
    """Return the pages of products as pages of the dashboard; none changes while it is open."""
    return [
        Page(f"/products/{product.name}{one.path}", product.page_name(one), f"{product.name}/{one.template}",
             _view(product, one), live=False)
        for product in products
        for one in product.pages.pages
    ]  # fmt: skip


def forms_of(products: Sequence[Product]) -> list[BaseRoute]:
    """Return the routes of the forms of products."""
    return [
        Route(
            f"/products/{product.name}{one.path}", _acted(product, one), name=product.page_name(one), methods=["POST"]
        )
        for product in products
        for one in product.pages.forms
    ]


def _view(product: Product, one: ProductPage) -> View:
    async def view(visit: Visit) -> dict[str, Any]:
        return await _guarded(product, lambda: one.view(visit))

    return view


def _acted(product: Product, one: ProductForm) -> Callable[[Request], Awaitable[Response]]:
    async def act(request: Request) -> Response:
        visit, form = visit_of(request), await form_of(request)
        require_admin(visit)
        acting = replace(visit, dashboard=replace(visit.dashboard, client=await _client_of(product, visit.client)))
        line = await _guarded(product, lambda: _done(one, acting, form))
        visit.dashboard.flashes.tell(visit.visitor.csrf, line)
        return RedirectResponse(back_to(form.get("back", "")), status_code=303)

    return act


async def _done(one: ProductForm, visit: PageVisit, form: Mapping[str, str]) -> str:
    return await one.act(visit, form)


async def _client_of(product: Product, client: Client) -> Client:
    """Return a client of the product's app over the same open store, which is not closed with it."""
    module, _, name = product.pages.app.partition(":")
    app = getattr(importlib.import_module(module), name)
    assert isinstance(app, App)
    own = Client(app.registry, client.store, app.limits, tables=app.tables, clock=client.clock)
    await own.ensure_tables()
    return own


Answer = TypeVar("Answer")


async def _guarded(product: Product, call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Return a product's answer; raise its user errors as those of the dashboard."""
    try:
        return await call()
    except PageMissing as error:
        raise NotFound(one_line(error)) from error
    except UserError as error:
        raise BadInput(one_line(error)) from error
    except StoreError as error:
        if product.pages.tables not in str(error):
            raise
        raise NotFound(f"this database has nothing of `ramet {product.name}` yet") from error
