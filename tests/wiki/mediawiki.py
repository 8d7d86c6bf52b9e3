"""A real MediaWiki on loopback: Debian's package on SQLite behind PHP's own server, with faults that can be switched.

It is built once, which takes a while, and copied for whoever needs one: a copy runs from where it lies.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ramet.testing.postgres_server.programs import until
from ramet.testing.postgres_server.server import free_port
from tests.support.waiting import HANG_SECONDS
from tests.wiki.mediawiki_pages import export

SOURCE = Path("/usr/share/mediawiki")
NEEDED = ("mbstring", "xml", "intl", "sqlite3", "pdo_sqlite")
MEMORY = Path("/dev/shm")
HOST = "127.0.0.1"
WORKERS = 4
"""Requests that the server works on at once."""

SETTINGS = r"""
$wgServer = "http://" . ( $_SERVER["HTTP_HOST"] ?? "127.0.0.1" );
$wgScriptPath = ""; $wgArticlePath = "/index.php?title=$1"; $wgUsePathInfo = false;
$wgCacheDirectory = __DIR__ . "/cache"; $wgUploadDirectory = __DIR__ . "/images";
$wgMainCacheType = CACHE_NONE; $wgParserCacheType = CACHE_NONE; $wgJobRunRate = 0;
$wgRightsText = "A licence of the tests"; $wgRightsUrl = "https://licence.example/";
// The extension that marks pages of several meanings is not in the package: this is its word and its property.
$wgExtensionMessagesFiles["RametMeanings"] = __DIR__ . "/meanings.php";
$wgHooks["GetDoubleUnderscoreIDs"][] = static function ( &$ids ) { $ids[] = "disambiguation"; };
// Texts are parsed with the templates of a file, and no others, while it is there; then references are known too.
if ( is_file( __DIR__ . "/templates.json" ) ) {
	foreach ( [ "Cite", "ParserFunctions", "Poem" ] as $name ) { wfLoadExtension( $name ); }
	$wgHooks["ApiMakeParserOptions"][] = static function ( $options ) {
		$rametKnown = json_decode( file_get_contents( __DIR__ . "/templates.json" ), true );
		$options->setTemplateCallback( static function ( $title, $parser = false ) use ( $rametKnown ) {
			return [ "text" => $rametKnown[$title->getText()] ?? "", "finalTitle" => $title, "deps" => [] ];
		} );
	};
}
// Faults: a request looks at the file once, under a lock, and takes one from a counter that is above zero.
if ( PHP_SAPI !== "cli" && str_ends_with( $_SERVER["SCRIPT_NAME"] ?? "", "/api.php" ) ) {
	$rametFile = fopen( __DIR__ . "/faults.json", "c+" );
	flock( $rametFile, LOCK_EX );
	$rametFaults = json_decode( stream_get_contents( $rametFile ), true ) ?: [];
	$rametStatus = 0;
	foreach ( [ "429", "503", "503_without_time", "500" ] as $name ) {
		if ( ( $rametFaults[$name] ?? 0 ) > 0 ) {
			$rametFaults[$name]--;
			rewind( $rametFile ); ftruncate( $rametFile, 0 ); fwrite( $rametFile, json_encode( $rametFaults ) );
			$rametStatus = (int)$name;
			$rametTold = $name !== "503_without_time" && $rametStatus !== 500;
			break;
		}
	}
	flock( $rametFile, LOCK_UN );
	$rametTitles = $_REQUEST["titles"] ?? "";
	$rametBegan = microtime( true );
	register_shutdown_function( static function () use ( $rametBegan, $rametTitles ) {
		$line = json_encode( [ "began" => $rametBegan, "ended" => microtime( true ), "status" => http_response_code(),
			"agent" => $_SERVER["HTTP_USER_AGENT"] ?? "", "method" => $_SERVER["REQUEST_METHOD"],
			"titles" => $rametTitles === "" ? [] : explode( "|", $rametTitles ) ] );
		file_put_contents( __DIR__ . "/requests.jsonl", "$line\n", FILE_APPEND | LOCK_EX );
	} );
	if ( !empty( $rametFaults["slow_ms"] ) ) { usleep( 1000 * (int)$rametFaults["slow_ms"] ); }
	if ( !empty( $rametFaults["poison"] ) && in_array( $rametFaults["poison"], explode( "|", $rametTitles ) ) ) {
		$rametStatus = 500;
	}
	if ( $rametStatus ) {
		http_response_code( $rametStatus );
		if ( !empty( $rametTold ) ) { header( "Retry-After: 2" ); }
		header( "Content-Type: text/plain" );
		die( "a fault of the tests\n" );
	}
	// MediaWiki itself answers maxlag then: every job that waits counts as a thousand seconds.
	if ( !empty( $rametFaults["lag"] ) ) { $wgJobQueueIncludeInMaxLagFactor = 0.001; }
}
"""
MEANINGS = '<?php\n$magicWords = [];\n$magicWords["en"] = [ "disambiguation" => [ 0, "__DISAMBIG__" ] ];\n'

LIMITS = ("-d", "memory_limit=512M", "-d", "display_errors=0")
SERVE = 'php "$@" & read -r _; kill -9 0'
"""Ends with whoever holds the other end of its input; PHP's workers would outlive their master."""


class Asked(NamedTuple):
    """A request that the server worked on: when, by whom, for what."""

    began: float
    ended: float
    status: int
    agent: str
    method: str
    titles: list[str]


@cache
def missing() -> str:
    """Why no MediaWiki can be run here; empty if one can."""
    if shutil.which("php") is None or not (SOURCE / "api.php").exists():
        return "no MediaWiki is installed (Debian: apt-get install mediawiki php-cli php-sqlite3 php-mbstring php-xml)"
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True, check=True).stdout.lower().split()
    without = [name for name in NEEDED if name not in modules]
    return f"PHP has no {', '.join(without)} (Debian: apt-get install php-{without[0]})" if without else ""


def fingerprint() -> str:
    """Changes with whatever a built wiki is made of."""
    version = (SOURCE / "includes" / "Defines.php").read_text(encoding="utf-8")
    return hashlib.sha256("\n".join([version, SETTINGS, MEANINGS, export()]).encode()).hexdigest()[:16]


def build(folder: Path) -> None:
    """Make a wiki with the pages of `mediawiki_pages` in a new folder."""
    for name in ("data", "cache", "images"):
        (folder / name).mkdir(parents=True)
    where = ["--dbtype", "sqlite", "--dbpath", str(folder / "data"), "--dbname", "wiki"]
    password = secrets.token_hex(12)
    _php(
        folder,
        "install.php",
        "--confpath",
        str(folder),
        *where,
        "--scriptpath",
        "",
        "--pass",
        password,
        "Wiki",
        "Admin",
    )
    settings = folder / "LocalSettings.php"
    text = settings.read_text(encoding="utf-8").replace(f'"{folder / "data"}"', '__DIR__ . "/data"')
    settings.write_text(text + SETTINGS, encoding="utf-8")
    (folder / "meanings.php").write_text(MEANINGS, encoding="utf-8")
    pages = folder / "pages.xml"
    pages.write_text(export(), encoding="utf-8")
    _php(folder, "importDump.php", "--no-updates", str(pages))
    for script in ("rebuildall.php", "runJobs.php", "initSiteStats.php"):
        _php(folder, script, *(["--update"] if script.startswith("init") else []))


def _php(folder: Path, script: str, *words: str, said: str = "") -> str:
    settings = folder / "LocalSettings.php"
    environment = {"PATH": "/usr/bin:/bin", "MW_CONFIG_FILE": str(settings)} if settings.exists() else None
    run = subprocess.run(
        ["php", "-d", "memory_limit=1G", str(SOURCE / "maintenance" / script), *words],
        input=said,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert run.returncode == 0, f"{script}: {run.stdout[-1000:]}{run.stderr[-1000:]}"
    return run.stdout


class MediaWiki:
    """A running copy of a built wiki. Ends with this process, however that ends."""

    def __init__(self, built: Path, folder: Path) -> None:
        shutil.copytree(built, folder)
        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.faults()

    @property
    def address(self) -> str:
        """Of its front page."""
        return f"http://{HOST}:{self.port}/"

    @property
    def api(self) -> str:
        """Of its api.php."""
        return f"{self.address}api.php"

    def faults(self, **switched: int | bool | str) -> None:
        """What goes wrong from now on, and nothing else.

        `{"429": n}`, `{"503": n}` and `{"500": n}` answer so the next n times, the first two with a time to come back;
        `{"503_without_time": n}`; `slow_ms`; `lag=True` is MediaWiki's own `maxlag`; `poison="Title"` breaks every
        call that asks for the title.
        """
        (self._folder / "faults.json").write_text(json.dumps(switched), encoding="utf-8")

    def asked(self) -> list[Asked]:
        """The requests to the API since the last `forget`, in the order of their ends."""
        log = self._folder / "requests.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [Asked(**json.loads(line)) for line in lines]

    def forget(self) -> None:
        """Forget the requests up to now."""
        (self._folder / "requests.jsonl").unlink(missing_ok=True)

    def templates(self, texts: Mapping[str, str]) -> None:
        """Parse texts with these templates from now on, by title without namespace; any other one is empty."""
        (self._folder / "templates.json").write_text(json.dumps(texts), encoding="utf-8")

    def edit(self, title: str, text: str) -> None:
        """Write a page. Leaves a job waiting where other pages show it."""
        _php(self._folder, "edit.php", "--user", "Admin", title, said=text)

    def dump(self) -> str:
        """All pages with all their revisions, as MediaWiki's own script exports them."""
        return _php(self._folder, "dumpBackup.php", "--full", "--quiet")

    def query(self, words: str) -> Any:
        """The API's answer to a GET, as JSON."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=HANG_SECONDS)
        try:
            connection.request("GET", f"/api.php?format=json&formatversion=2&{words}")
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def __enter__(self) -> Self:
        log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            ["sh", "-c", SERVE, "php", *LIMITS, "-S", f"{HOST}:{self.port}", "-t", str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={
                "PATH": "/usr/bin:/bin",
                "PHP_CLI_SERVER_WORKERS": str(WORKERS),
                "MW_CONFIG_FILE": str(self._folder / "LocalSettings.php"),
            },
        )
        log.close()
        until(self._answers, "MediaWiki answers")
        self.forget()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            return "query" in self.query("action=query&meta=siteinfo")
        except (OSError, ValueError, http.client.HTTPException):
            return False


def built_once(folder: Path) -> Path:
    """The wiki in this folder. Of all processes that want it first, one builds it and the others wait."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            # Ten thousand small transactions take a minute on a disk and seconds in memory.
            memory = MEMORY if os.access(MEMORY, os.W_OK) else None
            with tempfile.TemporaryDirectory(dir=memory) as place:
                build(Path(place) / "wiki")
                shutil.copytree(Path(place) / "wiki", folder)
            done.touch()
    return folder
