"""``ramet backup`` and ``ramet restore``."""

from __future__ import annotations

from pathlib import Path

from ramet.store.address import shown
from tests.cli.conftest import Cli


def test_a_backup_is_made_and_brought_back(cli: Cli, tmp_path: Path) -> None:
    cli.submit("node", {"name": "a"})
    copy = tmp_path / "copy.db"
    said = cli.good("backup", str(copy))
    assert said.startswith(f"backup {copy}: 1 lineage, ")
    assert said.endswith(" bytes, checked\n")
    assert f"{copy} exists: give another path, or --force" in cli.bad("backup", str(copy))
    [told] = cli.documents("backup", str(copy), "--force")
    assert (told["path"], told["lineages"], told["epoch"]) == (str(copy), 1, 0)
    cli.submit("node", {"name": "b"})
    assert "exists" in cli.bad("restore", str(copy))
    said = cli.good("restore", str(copy), "--force")
    assert f"what stood there is kept as {cli.database}.replaced" in said
    cli.work()
    assert "1 lineage" in cli.good("backup", str(copy), "--force")


def test_what_cannot_be_copied_is_one_line(cli: Cli, tmp_path: Path) -> None:
    assert "no database at" in cli.bad("backup", str(tmp_path / "copy.db"))
    cli.submit("node", {"name": "a"})
    assert "does not exist: create it" in cli.bad("backup", str(tmp_path / "no" / "copy.db"))
    assert "is a folder" in cli.bad("backup", str(tmp_path))
    assert "is the database itself" in cli.bad("backup", str(cli.database), "--force")
    assert "no backup at" in cli.bad("restore", str(tmp_path / "no.db"), "--force")


def test_people_begin_with_a_file_and_move_to_a_server_and_back(cli: Cli, tmp_path: Path, postgres_url: str) -> None:
    _, lineage = cli.submit("node", {"name": "a", "depth": 1})
    copy, server = tmp_path / "copy.db", Cli(cli.database, postgres_url)
    cli.good("backup", str(copy))
    said = server.good("restore", str(copy))
    assert said.startswith(f"restored {shown(postgres_url)}: 1 lineage, ")
    assert "never replaced" in server.bad("restore", str(copy), "--force")
    assert "has tasks, and they are not replaced" in server.bad("restore", str(copy))
    server.work()
    assert server.documents("status", lineage)[0]["states"]["success"] == 3
    [made] = server.documents("backup", str(copy), "--force")
    assert (made["path"], made["lineages"]) == (str(copy), 1)
    cli.good("restore", str(copy), "--force")
    assert cli.documents("status", lineage)[0]["states"]["success"] == 3


def test_tables_of_apps_are_carried_or_left_out_by_name(cli: Cli, tmp_path: Path, postgres_url: str) -> None:
    cli.submit("node", {"name": "a"})
    cli.change("CREATE TABLE IF NOT EXISTS notes (name TEXT)")
    cli.change("CREATE TABLE diary (page TEXT)")
    copy, server = tmp_path / "copy.db", Cli(cli.database, postgres_url)
    assert "diary (0), notes (0): rows counted, equal" in cli.good("backup", str(copy))
    assert "no app declares diary, so a copy would lose the rows: declare them (--app" in server.bad(
        "restore", str(copy)
    )
    assert "no module 'nothing.here'" in server.bad("restore", str(copy), "--app", "nothing.here:app")
    said = server.good("restore", str(copy), "--leave", "*")
    assert "notes (0): rows counted, equal" in said
    assert "left out, as you said: diary" in said
    [told] = server.documents("backup", str(copy), "--force", "--leave", "notes")
    assert ["notes", 0] not in told["carried"]
    assert told["left_out"] == ["notes"]
