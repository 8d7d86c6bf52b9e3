"""The API for people who write against it: the document as a page, made here, without anybody else's script."""

from __future__ import annotations

from typing import Any

from ramet.web.page import Page, Visit


async def api_docs(visit: Visit) -> dict[str, Any]:
    """Show the routes of the OpenAPI document by subject."""
    document = visit.request.app.state.api.openapi()
    subjects: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            subject = (operation.get("tags") or ["other"])[0]
            subjects.setdefault(subject, []).append(_route(document["servers"][0]["url"] + path, method, operation))
    return {"about": document["info"]["description"], "subjects": dict(sorted(subjects.items()))}


def _route(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {
            "name": parameter["name"],
            "where": parameter["in"],
            "needed": parameter.get("required", False),
            "type": type_words(parameter["schema"]),
            "about": parameter.get("description", parameter["schema"].get("description", "")),
        }
        for parameter in operation.get("parameters", ())
    ]
    good = {status: answer for status, answer in operation["responses"].items() if status.startswith("2")}
    return {
        "method": method.upper(),
        "path": path,
        "about": operation.get("description") or operation.get("summary", ""),
        "parameters": parameters,
        "body": _content(operation.get("requestBody", {})),
        "answer": next((_content(answer) for answer in good.values()), None),
    }


def _content(holder: dict[str, Any]) -> str | None:
    schema = holder.get("content", {}).get("application/json", {}).get("schema")
    return None if schema is None else type_words(schema)


def type_words(schema: dict[str, Any]) -> str:
    """Return a schema in a few words: ``integer, 1 to 200``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(type_words(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(str(one) for one in schema["enum"])
    words = str(schema.get("type", "anything"))
    if words == "array":
        words = f"list of {type_words(schema.get('items', {}))}"
    least, most = schema.get("minimum"), schema.get("maximum", schema.get("maxLength"))
    if most is not None:
        words += f", {least} to {most:,}" if least is not None else f", at most {most:,}"
    return words if schema.get("default") is None else f"{words} (default {schema['default']})"


PAGES = (Page("/api/docs", "api-docs", "api_docs.html", api_docs, live=False),)
