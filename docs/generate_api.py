"""Writes docs/reference/api: every public name with its signature and its docstring, a page for each subject.

docs/reference/api.md lists all of them. Everything is read from the source.

Run it with `make docs`. Nothing of ramet is imported, so the text does not depend on the interpreter that wrote it.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from docs.generate_shared import REFERENCE, module_tree, string_after, without_roles, written_by

PAGE = REFERENCE / "api.md"
FOLDER = REFERENCE / "api"

HEAD = """# The Python API

The public API is everything in `ramet.__all__`, what a client has as `client.schedules` and `client.settings`, what
`ramet.fetch` and `ramet.llm` publish to handlers, what `ramet.jobs` publishes about matches and `ramet.wiki` about
its graph, and `ramet.testing`; nothing else. Times are Unix seconds (`*_at`), durations seconds (`*_seconds`).
"""


class Subject(NamedTuple):
    """A page of the reference."""

    title: str
    lead: str
    names: tuple[str, ...] = ()
    """Of `ramet`; `Client.Reading` is the part of a client that this base class defines, `[:name]` what of it is before
    a method and `[name:]` what is from it on; a dot before a name is a part of a client, such as `.schedules`."""
    package: str = "ramet"


SUBJECTS: Mapping[str, Subject] = {
    "app": Subject("App", "A program: its kinds, queues, resources and schedules.", ("App",)),
    "workers": Subject(
        "Workers and pipelines",
        "What runs handlers, for ever or to an end, and what a program may add to it.",
        ("Worker", "run_once", "sync_run_once", "RunOptions", "RunReport", "Pipeline", "Setting", "TaskEvent",
         "EventName"),
    ),
    "context": Subject("Context", "What a handler has at hand: its task, and the verbs of its work.",
                       ("Context", "SyncContext")),
    "handlers": Subject(
        "In handlers",
        "How work ends, and what the verbs of a context take and return.",
        ("Outcome", "TaskArguments", "SpawnHandle", "TaskCall", "TaskCalls", "BatchContext", "SyncBatchContext",
         "Reservation", "SyncReservation", "Blob", "Statement", "StatementResult", "Joined", "JoinedTask", "JoinRound",
         "BoundTask", "BindResult", "item_settlement", "ItemSettlement", "ItemResult", "InvokeResult"),
    ),
    "errors": Subject("Exceptions", "Those that handlers raise, then those that callers and handlers catch.",
                      ("Transient", "Permanent", "RetryAfter", "Retry", "ErrorClass")),
    "client": Subject(
        "Client: submitting and waiting",
        "Starting work, waiting for it, and claiming it without a worker.",
        ("Client", "Client.Waiting", "Client.PullVerbs", "SubmitOptions", "TaskOptions", "PathArguments",
         "SubmitResult", "SpawnResult", "TaskHandle", "SyncTaskHandle"),
    ),
    "client-tasks": Subject("Client: reading tasks", "Questions about tasks, keys and refused spawns.",
                            ("Client.Reading[:lineage]",)),
    "client-lineages": Subject("Client: reading lineages", "Questions about lineages, counts, money and paths.",
                               ("Client.Reading[lineage:]",)),
    "client-operating": Subject(
        "Client: deciding about tasks", "What operators do to tasks and lineages: cancel, retry, pause, offer again.",
        ("Client.Operating[:pause_queue]", "TaskFilter", "BulkAction", "BulkSelection", "BulkResult",
         "ReofferResult"),
    ),
    "client-limits": Subject(
        "Client: queues, limits, alerts", "What holds work back, who does it, and what people hear of it.",
        ("Client.Operating[pause_queue:]",),
    ),
    "client-parts": Subject(
        "Client: schedules, settings, without await",
        "`client.schedules`, `client.settings`, and the client for programs without an event loop.",
        (".schedules", ".settings", "Schedule", "ScheduleSlot", "schedule_slot", "SyncClient"),
    ),
    "claims": Subject("Claims", "A task that a program took without a worker.",
                      ("Claim", "SyncClaim", "Spawn", "ClaimResult")),
    "tasks": Subject(
        "Tasks and lineages", "What is stored of the work, as the questions of a client return it.",
        ("Task", "TaskState", "Attempt", "AttemptLog", "LogLine", "TaskHistory", "TaskCheckpoint", "Lineage",
         "LineageState", "LineageOutcome", "OutcomeKind", "LineageTotals", "LineagePage"),
    ),
    "limits": Subject(
        "Limits, keys and money", "The bounds of a lineage, what the guard says, and what tasks are about.",
        ("Limits", "PRESETS", "Budget", "BlockReason", "Allowed", "Blocked", "Block", "BlockPage", "ParentBlockCount",
         "StopEntry", "url_key", "title_key", "text_key", "path_key", "display_key", "dollars", "as_usd",
         "NANO_DOLLARS", "AMOUNT_MAX", "Costs", "Ceiling"),
    ),
    "values": Subject(
        "Other values",
        "Paths, queues, resources, alerts, counts, explanations and timelines, by name; helpers for libraries, too.",
    ),
    "fetch": Subject("ramet.fetch", "Polite, guarded fetching in handlers.", package="ramet.fetch"),
    "llm": Subject("ramet.llm", "Models in handlers, under a ceiling of money.", package="ramet.llm"),
    "wiki": Subject("ramet.wiki", "Reading the graph of a wiki run.", package="ramet.wiki"),
    "jobs": Subject("ramet.jobs", "Matches of the jobs pipeline.", package="ramet.jobs"),
    "testing": Subject("ramet.testing", "For tests of programs that use ramet.", package="ramet.testing"),
}  # fmt: skip
"""The pages, by the names of their files. A public name that no page claims goes to `errors` if it is an exception, and
to `values` if not."""

PARTS = {
    "client.schedules": ("Schedules", "ramet.engine.client.schedules"),
    "client.settings": ("Settings", "ramet.engine.client.settings"),
}
"""Attributes of a client that are documented here, with the class of each. `SyncClient` has them without `await`."""
FOR_THE_ENGINE = frozenset(
    "begin take_settlement settlement_for settled buffers_kept keep_alive let_go take inside drain on_drain opened "
    "state_text state_stored claims_noted claims_left_over note_text note_stored claims_taken "
    "buffered buffer_again declare refresh limits keys link_keys note_known".split()
)
"""Methods without an underscore that are nevertheless none of a user's business."""

HANDED_OUT = frozenset({
    "Claim", "Client", "SyncClaim", "SyncClient", "Context", "SyncContext", "TaskFailed", "Schedules", "Settings",
})  # fmt: skip
"""Classes that users are given and never construct."""

TWINS = {"SyncContext": "Context", "SyncClient": "Client", "SyncClaim": "Claim"}
"""Classes that are told in full under another name, and here only where they differ."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def public_names(package: str = "ramet") -> dict[str, str]:
    """Module by name, from the imports of a package's __init__.py, for the names in __all__."""
    tree = module_tree(package)
    modules = {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    [names] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    ]
    return {name: modules[name] for name in names}


def named(body: list[ast.stmt], name: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statement that defines a name, with the docstring that follows it where it is an assignment."""
    for at, node in enumerate(body):
        if isinstance(node, ast.ClassDef | Function) and node.name == name:
            yield node, ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == name:
                yield node, string_after(body, at)


def markdown(docstring: str) -> str:
    """A docstring as Markdown: roles become code, sections become lists."""
    lines: list[str] = []
    section = False
    for line in without_roles(docstring).splitlines():
        if line in ("Args:", "Returns:", "Raises:", "Attributes:"):
            lines += [f"*{line}*", ""]
            section = True
        elif section and line.startswith("    ") and not line.startswith("     "):
            item = line.strip()
            name, colon, rest = item.partition(": ")
            is_name = bool(colon) and re.fullmatch(r"[\w., ]+", name) is not None
            lines.append(f"- `{name}`: {rest}" if is_name else item)
        elif section and line.startswith("     "):
            lines.append("  " + line.strip())
        else:
            section = section and not line.strip()
            lines.append(line)
    return "\n".join(lines).strip()


def signature(node: Function, *, method: bool) -> str:
    """As a caller writes it: without self."""
    arguments = node.args
    if method and [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]][:1] in (["self"], ["cls"]):
        arguments = without_first(arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    parameters = broken(ast.unparse(arguments), prefix + node.name + returns)
    return f"{prefix}{node.name}({parameters}){returns}"


def without_first(arguments: ast.arguments) -> ast.arguments:
    """Parameters without the first one: self, or what stands for it."""
    return ast.arguments(
        arguments.posonlyargs[1:],
        arguments.args[0 if arguments.posonlyargs else 1 :],
        arguments.vararg, arguments.kwonlyargs, arguments.kw_defaults, arguments.kwarg, arguments.defaults,
    )  # fmt: skip


def broken(parameters: str, rest: str) -> str:
    """A long parameter list, one a line."""
    if len(parameters) + len(rest) < 96:
        return parameters
    parts, depth, start = [], 0, 0
    for at, character in enumerate(parameters):
        depth += (character in "[(") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(parameters[start : at + 1].strip())
            start = at + 1
    parts.append(parameters[start:].strip() + ",")
    return "\n    " + "\n    ".join(parts) + "\n"


def is_overload(node: Function) -> bool:
    """True for a signature that only type checkers read."""
    return any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)


def is_property(node: Function) -> bool:
    """True for a method that reads like an attribute."""
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def class_bodies(node: ast.ClassDef, tree: ast.Module, public: set[str]) -> list[ast.stmt]:
    """The members of a class, those of its non-public bases first, wherever in ramet these are defined."""
    body: list[ast.stmt] = []
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id not in public:
            home = home_of(base.id, tree)
            for found, _ in named(home.body, base.id):
                if isinstance(found, ast.ClassDef):
                    body += class_bodies(found, home, public)
    return [*body, *(as_method(item, tree) for item in node.body)]


def as_method(item: ast.stmt, tree: ast.Module) -> ast.stmt:
    """A member of a class as users see it: a method that is made of another one with the other's signature.

    ``get = of_store(Store.get, "Return one task.")`` and ``settle = blocking(Reservation.settle)``.
    """
    if not (
        isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and isinstance(item.value, ast.Call)
    ):
        return item
    how, arguments = ast.unparse(item.value.func), item.value.args
    if how not in ("of_store", "blocking"):
        return item
    origin = function_of(arguments[0], tree)
    text = ast.literal_eval(arguments[1]) if how == "of_store" else f"See :meth:`{ast.unparse(arguments[0])}`."
    kind = ast.AsyncFunctionDef if how == "of_store" else ast.FunctionDef
    parameters = without_first(origin.args)
    parameters.args.insert(0, ast.arg("self"))
    documentation: list[ast.stmt] = [ast.Expr(ast.Constant(text))]
    return kind(item.targets[0].id, parameters, documentation, [], origin.returns)


def function_of(name: ast.expr, tree: ast.Module) -> Function:
    """The function that an expression in a module names, such as ``Store.get``; of a verb, what it is made of."""
    if not (isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name)):
        raise LookupError(f"{ast.unparse(name)} is not the name of a method")
    return found_in(name.value.id, name.attr, tree)


def found_in(owner: str, name: str, tree: ast.Module) -> Function:
    """A function of a class or a module that another module knows as ``owner``."""
    home = home_of(owner, tree)
    for node, _ in named(home.body, owner):
        if isinstance(node, ast.ClassDef):
            for item, _ in named(node.body, name):
                if isinstance(item, Function):
                    return item
                if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call):
                    return function_of(item.value.args[0], home)
            for base in node.bases:
                with suppress(LookupError):
                    return found_in(ast.unparse(base), name, home)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and owner in {alias.asname or alias.name for alias in node.names}:
            [alias] = [alias.name for alias in node.names if (alias.asname or alias.name) == owner]
            with suppress(FileNotFoundError):
                for item, _ in named(module_tree(f"{node.module}.{alias}").body, name):
                    if isinstance(item, Function):
                        return item
    raise LookupError(f"{owner}.{name} is not found")


def twin_body(node: ast.ClassDef, tree: ast.Module, public: set[str]) -> list[ast.stmt]:
    """The members in which a class without ``await`` differs from the async one, as they are written."""
    body: list[ast.stmt] = []
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("Sync") and base.id not in public:
            home = home_of(base.id, tree)
            for found, _ in named(home.body, base.id):
                body += twin_body(found, home, public) if isinstance(found, ast.ClassDef) else []
    return [*body, *node.body]


def home_of(name: str, tree: ast.Module) -> ast.Module:
    """The module of ramet that defines a name used in another."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ramet."):
            continue
        if name in {alias.name for alias in node.names}:
            return module_tree(node.module or "")
    return tree


INHERITED = {"Claim": "Context"}
"""Classes with another one's methods, which are told there."""
BY_BASE = frozenset({"Client"})
"""Classes whose bases have sections of their own."""


def own_body(node: ast.ClassDef, tree: ast.Module, public: set[str]) -> list[ast.stmt]:
    """The members of a class that its section tells."""
    if node.name in TWINS:
        return twin_body(node, tree, public)
    if node.name in BY_BASE:
        return [as_method(item, tree) for item in node.body]
    return class_bodies(node, tree, public)


def inherited(node: ast.ClassDef, body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """The methods of a class that are those of the one in :data:`INHERITED`, by name."""
    origin = INHERITED.get(node.name)
    if origin is None:
        return {}
    names = public_names()
    tree = module_tree(names[origin])
    [(found, _)] = list(named(tree.body, origin))
    assert isinstance(found, ast.ClassDef)
    theirs = {ast.dump(item) for item in class_bodies(found, tree, set(names)) if isinstance(item, Function)}
    return {item.name: item for item in body if isinstance(item, Function) and ast.dump(item) in theirs}


def class_page(node: ast.ClassDef, tree: ast.Module, public: set[str], heading: str) -> Iterator[str]:
    """A class: how to make one, its fields, its methods under headings of their own."""
    twin = TWINS.get(node.name)
    body = own_body(node, tree, public)
    elsewhere = inherited(node, body)
    made = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    if made and node.name not in HANDED_OUT:
        yield f"```python\n{signature(made[-1], method=True).replace('__init__', node.name, 1)}\n```"
    yield markdown(ast.get_docstring(node) or "")
    if twin:
        yield f"It has all that `{twin}` has; these are called without `await`:"
    if told := [name for name in elsewhere if is_told(elsewhere[name])]:
        links = ", ".join(f"[`{name}`](context.md#context{name})" for name in told)
        yield f"It has these methods of a `{INHERITED[node.name]}`: {links}. And its own:"
    fields = list(field_lines(body))
    if fields:
        yield "\n".join(fields)
    for item in body:
        if isinstance(item, Function) and is_told(item) and item.name not in elsewhere:
            yield f"### `{heading}.{item.name}`"
            yield f"```python\n{signature(item, method=True)}\n```"
            yield markdown(ast.get_docstring(item) or "")


def is_told(item: ast.stmt) -> bool:
    """True for a method that users call."""
    return (
        isinstance(item, Function)
        and not (item.name.startswith("_") or is_property(item) or is_overload(item))
        and item.name not in FOR_THE_ENGINE
    )


def field_lines(body: list[ast.stmt]) -> Iterator[str]:
    """One line per field, enumeration member and property."""
    for at, item in enumerate(body):
        name, text, told = "", "", ""
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            default = f" = {ast.unparse(item.value)}" if item.value else ""
            name, text = item.target.id, f"- `{item.target.id}: {ast.unparse(item.annotation)}{default}`"
            told = string_after(body, at)
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            name, text = item.targets[0].id, f"- `{ast.unparse(item)}`"
            told = string_after(body, at)
        elif isinstance(item, Function) and is_property(item):
            returns = f": {ast.unparse(item.returns)}" if item.returns else ""
            name, text = item.name, f"- `{item.name}{returns}`"
            told = ast.get_docstring(item) or ""
        if text and not name.startswith("_"):
            yield f"{text}: {' '.join(markdown(told).split())}" if told else text


def entry(name: str, module: str, public: set[str], *, heading: str = "") -> str:
    """One public name, under another heading if need be."""
    tree = module_tree(module)
    if not list(named(tree.body, name)):
        tree = home_of(name, tree)
    parts = [f"## `{heading or name}`"]
    for node, docstring in named(tree.body, name):
        if isinstance(node, ast.ClassDef):
            parts += class_page(node, tree, public, heading or name)
        elif isinstance(node, Function):
            if is_overload(node):
                continue
            parts += [f"```python\n{signature(node, method=False)}\n```", markdown(docstring)]
        else:
            parts += [f"```python\n{ast.unparse(node)}\n```", markdown(docstring)]
    if len(parts) == 1:
        raise LookupError(f"{module} does not define {name}: import it in ramet/__init__.py from where it is defined")
    return "\n\n".join(part for part in parts if part)


def base_section(part: str, client: str = "Client") -> str:
    """A part of a client that one of its base classes defines: ``Reading``, ``Reading[:name]``, ``Reading[name:]``."""
    base, _, bounds = part.partition("[")
    first, _, end = bounds.rstrip("]").partition(":")
    modules = public_names()
    tree = module_tree(modules[client])
    home = home_of(base, tree)
    [(node, _)] = list(named(home.body, base))
    assert isinstance(node, ast.ClassDef)
    told = [item for item in class_bodies(node, home, set(modules)) if isinstance(item, Function) and is_told(item)]
    names = [item.name for item in told]
    parts = []
    for item in told[names.index(first) if first else 0 : names.index(end) if end else None]:
        parts += [f"## `{client}.{item.name}`", f"```python\n{signature(item, method=True)}\n```",
                  markdown(ast.get_docstring(item) or "")]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def is_exception(name: str, tree: ast.Module) -> bool:
    """True for a class that can be raised, as far as the source says."""
    built_in = getattr(builtins, name, None)
    if isinstance(built_in, type):
        return issubclass(built_in, BaseException)
    home = home_of(name, tree)
    return any(
        is_exception(base.id, home)
        for node, _ in named(home.body, name)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    )


@cache
def names_of(subject: str) -> tuple[str, ...]:
    """The names on a page, those first that it claims."""
    found = SUBJECTS[subject]
    modules = public_names(found.package)
    if found.package != "ramet":
        return tuple(modules)
    missing = [name for name in found.names if "." not in name and name not in modules]
    if missing:
        raise LookupError(f"{missing[0]} is no public name: take it from SUBJECTS in docs/generate_api.py")
    claimed = {name for each in SUBJECTS.values() for name in each.names}
    rest = [name for name in sorted(modules) if name not in claimed]
    if subject == "errors":
        return found.names + tuple(name for name in rest if is_exception(name, module_tree(modules[name])))
    if subject == "values":
        return tuple(name for name in rest if not is_exception(name, module_tree(modules[name])))
    return found.names


def section(name: str, subject: str) -> str:
    """One name of a page."""
    package = SUBJECTS[subject].package
    modules = public_names(package)
    if name.startswith("."):
        part, module = PARTS[f"client{name}"]
        return entry(part, module, set(), heading=f"client{name}")
    if "." in name:
        return base_section(name.partition(".")[2])
    heading = name if package == "ramet" else f"{package}.{name}"
    return entry(name, modules[name], set(modules), heading=heading)


@cache
def subject_page(subject: str) -> str:
    """A page of the reference."""
    found = SUBJECTS[subject]
    head = [f"# {found.title}", f"{found.lead} [All names](../api.md)."]
    return "\n\n".join([*head, *(section(name, subject) for name in names_of(subject))]) + "\n"


def headings(text: str, depth: int) -> list[str]:
    """The names in the headings of a page at this depth."""
    return re.findall(rf"^{'#' * depth} `([\w.]+)`$", text, flags=re.MULTILINE)


def link(name: str, subject: str) -> str:
    """A name that leads to its section."""
    return f"[`{name}`](api/{subject}.md#{name.lower().replace('.', '')})"


def page() -> str:
    """All names, each with a link to its section."""
    parts = [HEAD.strip(), written_by("generate_api", "the docstrings")]
    for subject, found in SUBJECTS.items():
        names = headings(subject_page(subject), 2)
        parts.append(f"## [{found.title}](api/{subject}.md)")
        parts.append(f"{found.lead} {', '.join(link(name, subject) for name in names)}.")
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[Path, Callable[[], str]] = {
    PAGE: page,
    **{FOLDER / f"{subject}.md": partial(subject_page, subject) for subject in SUBJECTS},
}
