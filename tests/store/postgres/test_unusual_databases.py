"""Databases that are set up in unusual ways: used as they are, or refused in one line."""

from __future__ import annotations

import time

import pytest

from ramet.model.task.task import NewTask
from ramet.store import open_store
from ramet.store.errors import StoreError
from ramet.store.requests import NewLineage
from ramet.testing.postgres_server.databases import connect, quoted_name
from tests.postgres.servers import databases


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_without_utf_8_is_refused_in_one_line(postgres_url: str, encoding: str) -> None:
    name = f"odd_{encoding.lower()}"
    with connect(postgres_url) as server:
        server.autocommit = True
        server.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode())
    url = f"{postgres_url.rpartition('/')[0]}/{name}"
    try:
        with pytest.raises(StoreError, match=rf"{name} is in {encoding}, .*: make one in UTF-8"):
            open_store(url)
    finally:
        databases().drop(url)


async def test_settings_of_a_database_change_neither_letters_nor_the_clock(postgres_url: str) -> None:
    with connect(postgres_url) as server:
        [name] = server.execute("SELECT current_database()").fetchone() or [""]
        for setting in ("client_encoding = 'LATIN1'", "extra_float_digits = -15"):
            server.execute(f"ALTER DATABASE {quoted_name(str(name))} SET {setting}".encode())
    store = open_store(f"{postgres_url}?client_encoding=LATIN1")
    before = time.time()
    await store.submit([NewLineage("line", [NewTask("a", "page", "漢字", '"漢字"')])])
    found = await store.get("a")
    await store.close()
    assert found is not None
    assert found.key == "漢字"
    assert abs(found.created_at - before) < 3_600  # It is the server's clock; told in 15 digits less it would be 1970.
