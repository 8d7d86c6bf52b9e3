"""Writes docs/reference/api.md: every public name with its signature and its docstring, read from the source.

Run it with `make docs`. Nothing of ramet is imported, so the text does not depend on the interpreter that wrote it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from docs.generate_shared import REFERENCE, module_tree, string_after, without_roles

PAGE = REFERENCE / "api.md"

HEAD = """# The Python API

Everything in `ramet.__all__`, what a client has as `client.schedules` and `client.settings`, what `ramet.fetch` and
`ramet.llm` publish to handlers, what `ramet.jobs` publishes about matches, and `ramet.testing`, and nothing else, is
the public API. This page is written by
`docs/generate_api.py` from the docstrings: change those, then run `make docs`.
Times are Unix seconds (`*_at`), durations seconds (`*_seconds`).
"""

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Programs", ("App", "Context", "SyncContext", "Outcome", "TaskEvent", "EventName", "Worker", "Setting")),
    (
        "Submitting and asking",
        (
            "Client",
            "SyncClient",
            "PathArguments",
            "TaskOptions",
            "SubmitResult",
            "SpawnResult",
            "TreeNode",
            "Explanation",
        ),
    ),
    ("Many tasks at once", ("TaskFilter", "BulkAction", "BulkSelection", "BulkResult")),
    ("Looking at paths", ("PathPage", "PathTask", "PathChain", "PathImpact")),
    ("Taking tasks", ("Claim", "SyncClaim", "Spawn", "ClaimResult", "StateCount")),
    ("Tasks and lineages", ("Task", "TaskState", "Attempt", "Block", "TaskHistory", "Lineage", "LineageState")),
    (
        "Rules",
        (
            "Limits",
            "PRESETS",
            "BlockReason",
            "ErrorClass",
            "url_key",
            "title_key",
            "text_key",
            "path_key",
            "display_key",
        ),
    ),
    ("Money", ("dollars", "as_usd", "NANO_DOLLARS", "AMOUNT_MAX", "Costs", "Ceiling")),
    ("For libraries on top of ramet", ("new_id", "own_logger")),
    ("Errors to raise", ("Transient", "Permanent", "RetryAfter")),
)
REST = "Errors to catch"
"""Where names go that no group claims."""

PARTS = {
    "client.schedules": ("Schedules", "ramet.engine.client.schedules"),
    "client.settings": ("Settings", "ramet.engine.client.settings"),
}
"""Attributes of a client that are documented here, with the class of each. `SyncClient` has them without `await`."""
PACKAGES = {
    "ramet.fetch": "Pages in handlers",
    "ramet.llm": "Models in handlers",
    "ramet.jobs": "Matches of the jobs pipeline",
    "ramet.testing": "For tests",
}
"""Published packages beside `ramet` itself, with their headings."""

FOR_THE_ENGINE = frozenset(
    "take_settlement settlement_for settled buffers_kept keep_alive let_go take inside drain on_drain opened "
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


def class_page(node: ast.ClassDef, tree: ast.Module, public: set[str]) -> Iterator[str]:
    """A class: how to make one, its fields, its methods."""
    twin = TWINS.get(node.name)
    body = twin_body(node, tree, public) if twin else class_bodies(node, tree, public)
    made = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    if made and node.name not in HANDED_OUT:
        yield f"```python\n{signature(made[-1], method=True).replace('__init__', node.name, 1)}\n```"
    yield markdown(ast.get_docstring(node) or "")
    if twin:
        yield f"It has all that `{twin}` has; these are called without `await`:"
    fields = list(field_lines(body))
    if fields:
        yield "\n".join(fields)
    for item in body:
        if isinstance(item, Function) and not (item.name.startswith("_") or is_property(item)):
            if item.name in FOR_THE_ENGINE or is_overload(item):
                continue
            yield f"```python\n{signature(item, method=True)}\n```"
            yield markdown(ast.get_docstring(item) or "")


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
    parts = [f"### `{heading or name}`"]
    for node, docstring in named(tree.body, name):
        if isinstance(node, ast.ClassDef):
            parts += class_page(node, tree, public)
        elif isinstance(node, Function):
            if is_overload(node):
                continue
            parts += [f"```python\n{signature(node, method=False)}\n```", markdown(docstring)]
        else:
            parts += [f"```python\n{ast.unparse(node)}\n```", markdown(docstring)]
    if len(parts) == 1:
        raise LookupError(f"{module} does not define {name}: import it in ramet/__init__.py from where it is defined")
    return "\n\n".join(part for part in parts if part)


def page() -> str:
    """The whole reference."""
    modules = public_names()
    grouped = {name for _, names in GROUPS for name in names}
    groups = [*GROUPS, (REST, tuple(name for name in sorted(modules) if name not in grouped))]
    parts = [HEAD.strip()]
    for title, names in groups:
        present = [name for name in names if name in modules]
        if present:
            parts.append(f"## {title}")
            parts += [entry(name, modules[name], set(modules)) for name in present]
            if "Client" in present:
                parts += [part_of_client(part) for part in PARTS]
    for package, title in PACKAGES.items():
        parts.append(f"## {title}: `{package}`")
        published = public_names(package)
        parts += [entry(name, published[name], set(published), heading=f"{package}.{name}") for name in published]
    return "\n\n".join(parts) + "\n"


def part_of_client(part: str) -> str:
    """Render the attributes of a client."""
    name, module = PARTS[part]
    return entry(name, module, set(), heading=part)
