"""``ramet backup`` and ``ramet restore``."""

from __future__ import annotations

from pathlib import Path

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
