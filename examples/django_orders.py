"""Django: an order and the task that ships it are created in one transaction, so neither exists without the other.

    python examples/django_orders.py                              # keeps shop.db in the current folder
    RAMET_DB=postgresql://... python examples/django_orders.py    # on a server, where `ramet migrate` has run

Django's tables and ramet's are in one database. Inside ``transaction.atomic()`` the submit gets Django's own
connection: the task exists if and when Django commits, and a rollback removes it with the order. That is safer than
a submit in ``transaction.on_commit``, which a process that dies in between never makes. The handler writes into
Django's table with ``ctx.write``, in the transaction that ends the task.

A project has these settings in its ``settings.py``, opens the client once in each process of its server, and runs
``ramet worker`` beside it.
"""

import os
import sys
from typing import Any

import django
from django.conf import settings
from django.db import connection, models, transaction

from ramet import App, Context, StoreError, SyncClient, Worker

DATABASE = os.environ.get("RAMET_DB", "shop.db")
ORDERS = [("an owl", 5), ("a falcon", 900), ("a finch", 3)]
"""Items that are ordered, with their prices."""
CREDIT = 100


def django_database(address: str) -> dict[str, Any]:
    """Return Django's settings for the database in which ramet's tables are."""
    if not address.startswith(("postgresql:", "postgres:")):
        # A transaction that begins by reading may be too old to write: this one begins as one that writes.
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": address, "OPTIONS": {"transaction_mode": "IMMEDIATE"}}
    from psycopg.conninfo import conninfo_to_dict

    options = conninfo_to_dict(address)
    return {"ENGINE": "django.db.backends.postgresql", "NAME": options.pop("dbname"), "OPTIONS": options}


settings.configure(DATABASES={"default": django_database(DATABASE)}, USE_TZ=True)
django.setup()


class Declined(Exception):
    """The customer cannot pay."""


class Order(models.Model):  # type: ignore[misc]  # Django has no types of its own
    """One order of a customer."""

    item = models.CharField(max_length=80)
    shipped = models.BooleanField(default=False)

    class Meta:
        app_label = "shop"


app = App()


@app.task("ship")
async def ship(ctx: Context, order_id: int) -> str:
    """Ship an order, and write that down in the transaction that ends the task."""
    ctx.write("UPDATE shop_order SET shipped = TRUE WHERE id = ?", (order_id,))
    return f"order {order_id} is on its way"


def place_order(client: SyncClient, item: str, price: int) -> None:
    """Create an order and its task; an error removes both.

    Raises:
        Declined: it is more than the customer can pay.
    """
    with transaction.atomic():
        order = Order.objects.create(item=item)
        client.submit(ship, order.pk, connection=connection.connection)
        if price > CREDIT:
            raise Declined(f"{item} costs {price}, the credit is {CREDIT}")


def create_table() -> None:
    """Do what ``manage.py migrate`` does in a project."""
    if Order._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as schema:
            schema.create_model(Order)


def main() -> None:
    with app.sync_client(DATABASE) as client:
        create_table()
        for item, price in ORDERS:
            try:
                place_order(client, item, price)
            except Declined as declined:
                print(f"declined: {declined}")
        print(f"{Order.objects.count()} orders, {client.queue_size()} tasks")
        client.wait_for(Worker(app, client.asynchronous, until_idle=True).run())
        for order in Order.objects.order_by("id"):
            print(f"{order.item}: {'shipped' if order.shipped else 'waits'}")
    connection.close()


if __name__ == "__main__":
    try:
        main()
    except StoreError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
