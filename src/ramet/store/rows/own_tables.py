"""Tables that apps declare (``App(tables=...)``): the database keeps their definitions, so that copies carry them.

Every client and worker of an app writes down the ``CREATE TABLE`` and ``CREATE INDEX IF NOT EXISTS`` statements that it
runs. A backup brings them along with the rows, so that a restore needs neither the app nor its modules. But a backup
is a file from anywhere: of its statements only :func:`check_harmless` ones are run, those that define columns, keys and
indexes and call nothing. All others have to come from the app itself (``--app``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ramet.store.errors import StoreError
from ramet.store.session import Session

_CREATES = re.compile(
    r'\s*CREATE\s+(?:(TABLE)|(?:UNIQUE\s+)?INDEX)\s+IF\s+NOT\s+EXISTS\s+((?:\w+|"(?:[^"]|"")+")'
    r'(?:\s*\.\s*(?:\w+|"(?:[^"]|"")+"))?)',
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"""\s+|--[^\n]*(?:\n|$)|(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")+")|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"""
    r"""|(?P<word>[^\W\d]\w*)|(?P<sign>\[\d*\]|/(?!\*)|[(),;=<>!+\-*%|])"""
)
_BEFORE_A_LIST = frozenset(
    "CHECK KEY UNIQUE DISTINCT IDENTITY IN AND OR NOT DEFAULT AS WHEN THEN ELSE BETWEEN "  # parts of a definition
    "VARCHAR CHAR CHARACTER VARYING NUMERIC DECIMAL FLOAT TIMESTAMP TIMESTAMPTZ TIME BIT INTERVAL "  # types of a length
    "ABS COALESCE LENGTH LOWER NULLIF ROUND TRIM UPPER".split()  # functions that only compute
)
_BEFORE_A_TEXT = frozenset("DEFAULT LIKE AND OR NOT IN WHEN THEN ELSE BETWEEN".split())
"""Any other word before a text may be a part of it: E'...' ends elsewhere for a server than for this parser."""
_NEVER = frozenset("SELECT VALUES INHERITS PARTITION EXECUTE CALL RETURNING CAST".split())
_ENGINE = ("ramet_", "sqlite_", "pg_", "information_schema")
_TABLE_OPENS = 6
"""CREATE TABLE IF NOT EXISTS name: the parenthesis is the seventh."""
_TABLE_ENDS = ((), ("STRICT",), ("WITHOUT", "ROWID"), ("WITHOUT", "ROWID", ",", "STRICT"))


class Definition(NamedTuple):
    """A statement that makes a table or an index where it is missing."""

    name: str
    """Name as databases take it: in small letters, unless it is quoted."""
    is_table: bool
    statement: str
    next_number: int | None = None
    """Next value of the table's sequence, in a backup."""
    untyped: bool = False
    """True when a backup keeps its rows without types, which a file could not keep exactly."""
    trusted: bool = False
    """It is the word of an app, or of the database that is to be filled, and not of a copy."""


def definitions(statements: Sequence[str]) -> list[Definition]:
    """Those of an app's statements that define something, in order; others (a row, a view) are not kept."""
    found = []
    for statement in statements:
        created = _CREATES.match(statement)
        if created is not None:
            found.append(Definition(_folded(created[2]), created[1] is not None, statement))
    return found


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') and name.count('"') == 2 else name.lower()


def ensure(session: Session, statements: Sequence[str]) -> None:
    """Run an app's ``CREATE TABLE IF NOT EXISTS`` statements and store them, so that copies carry those tables."""
    create(session, statements, statements)


def create(session: Session, statements: Sequence[str], missing: Sequence[str]) -> None:
    """Run the statements that are ``missing``, and write all definitions down."""
    for statement in missing:
        session.run(statement)
    declare(session, statements)


def read(session: Session, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a SELECT on an app's own tables."""
    session.plan_freely()
    return session.rows(sql, parameters)


def declared(session: Session) -> list[Definition]:
    """All definitions that the database knows, in their order."""
    rows = session.rows("SELECT name, position, statement, untyped, next_number FROM ramet_own_tables")
    return [
        found._replace(untyped=bool(untyped), next_number=number)
        for _, _, statement, untyped, number in sorted(rows, key=lambda row: (row[1], row[0]))
        for found in definitions([statement])
    ]


def undeclared(session: Session, statements: Sequence[str]) -> list[Definition]:
    """Definitions that the database does not know, or knows otherwise."""
    wanted = definitions(statements)
    known = {item.name: item.statement for item in declared(session)} if wanted else {}
    return [item for item in wanted if known.get(item.name) != item.statement]


def any_new(session: Session, statements: Sequence[str]) -> bool:
    """Return True when a definition is to be written down."""
    return bool(undeclared(session, statements))


def declare(session: Session, statements: Sequence[str]) -> None:
    """Write definitions down. A known definition keeps its place; the last word about it counts."""
    new = undeclared(session, statements)
    if not new:
        return
    [(last,)] = session.rows("SELECT COALESCE(MAX(position), 0) FROM ramet_own_tables")
    session.insert(
        "ramet_own_tables",
        ("name", "position", "statement"),
        [(item.name, last + at, item.statement) for at, item in enumerate(new, 1)],
        key=("name",),
        changes=("statement",),
    )


def check_harmless(item: Definition) -> None:
    """Refuse a definition from a backup that could do more than make a table or an index.

    Raises:
        StoreError: what in it is not plain, and what to do.
    """
    why = _why_not(item)
    if why is not None:
        raise StoreError(
            f"the definition of {item.name} in the backup is not run, for it {why}: give --app MODULE:ATTRIBUTE, whose "
            "own statements are run instead"
        )


def _why_not(item: Definition) -> str | None:
    tokens = list[tuple[str, str]]()
    at = 0
    while at < len(item.statement):
        found = _TOKEN.match(item.statement, at)
        if found is None:
            return f"has {item.statement[at]!r} in it"
        at = found.end()
        if found.lastgroup is not None:
            tokens.append((found.lastgroup, found[0].upper() if found.lastgroup == "word" else found[0]))
    if tokens[-1:] == [("sign", ";")]:
        tokens.pop()
    return _why_not_tokens(tokens) or _why_not_form(item, [text for _, text in tokens])


def _why_not_tokens(tokens: Sequence[tuple[str, str]]) -> str | None:
    before, opener = ("", ""), ""
    for at, (kind, text) in enumerate(tokens):
        named = kind in ("word", "name")
        if text == ";":
            return "has several statements"
        if kind == "word" and (text in _NEVER or (text == "LIKE" and before[1] == "(")):
            return f"has {text} in it"
        if named and text.strip('"').lower().startswith(_ENGINE):
            return f"names {text.lower()}"
        if kind == "text" and (before[0] == "text" or (before[0] == "word" and before[1] not in _BEFORE_A_TEXT)):
            return f"has {before[1]} before a text"
        if text == "(" and before[0] in ("word", "name") and not _opens_a_list(before, opener, at):
            return f"calls {before[1].lower()}"
        if named:
            opener = before[1]
        before = (kind, text)
    return None


def _opens_a_list(before: tuple[str, str], opener: str, at: int) -> bool:
    """Return True where the word before a parenthesis is not a call: a word of SQL, a type, or a table's name."""
    if before[0] == "word" and before[1] in _BEFORE_A_LIST:
        return True
    return opener in ("REFERENCES", "ON") or (opener == "EXISTS" and at == _TABLE_OPENS)


def _why_not_form(item: Definition, texts: Sequence[str]) -> str | None:
    """One list in parentheses; after it nothing but what tables or indexes have there."""
    depth, first = 0, None
    for at, text in enumerate(texts):
        depth += {"(": 1, ")": -1}.get(text, 0)
        if text == "(" and first is None:
            first = at
        if depth < 0:
            return "has a parenthesis too many"
        if first is not None and not depth:
            end = tuple(texts[at + 1 :])
            if item.is_table:
                return None if first == _TABLE_OPENS and end in _TABLE_ENDS else "is of another form"
            return None if texts[first - 2] == "ON" and end[:1] in ((), ("WHERE",)) else "is of another form"
    return "has no columns"


class OwnTableChoice(NamedTuple):
    """Choice of a person for the tables that are not ours."""

    tables: Sequence[str] = ()
    """Statements of an app, which go before those that the database knows."""
    leave: Sequence[str] = ()
    """Names of tables to leave out; a pattern with ``*`` means only those that no app declares."""

    def known(self, copied: Sequence[Definition], there: Sequence[Definition] = ()) -> dict[str, Definition]:
        """All definitions by name, in their order: the app's word counts, then that of the database to fill, and the
        copy's where neither has one."""
        found: dict[str, Definition] = {}
        for item in (*definitions(self.tables), *there):
            found.setdefault(item.name.lower(), item._replace(trusted=True, untyped=False, next_number=None))
        for item in copied:
            before = found.get(item.name.lower(), item)
            found[item.name.lower()] = before._replace(untyped=item.untyped, next_number=item.next_number)
        return found

    def leaves(self, name: str, known: Mapping[str, Definition]) -> bool:
        """Return True for a table that is to be left out."""
        return name in self.leave or (
            name.lower() not in known and any("*" in one and fnmatchcase(name, one) for one in self.leave)
        )
