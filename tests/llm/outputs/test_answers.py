"""An answer fits, or one line says where it does not, in bounded time whatever the schema."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.commands.extras import ExtraMissing
from ramet.llm.answers import Check, InvalidAnswer, open_check, open_model, schema_of
from ramet.llm.errors import InputError
from ramet.llm.schemas import LOOKS_MAX, LOOKS_UNEVALUATED_MAX, WrongSchema, check_schema

PERSON = "tests.llm.outputs.answer_models:Person"
ITEMS = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "maxLength": 5},
                    "kind": {"anyOf": [{"const": 1}, {"const": 2}]},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["items"],
}


def check_of(schema: dict[str, Any] | None = None, model: str | None = None) -> Check:
    check = open_check(schema, model)
    assert check is not None
    return check


def refusal(check: Check, text: str) -> str:
    with pytest.raises(InvalidAnswer) as caught:
        check(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_wanted_nothing_checked() -> None:
    assert open_check(None, None) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1]}',
        ' \n{"a": [1]}\n',
        '```json\n{"a": [1]}\n```',
        '```\n{"a":\n [1]}```',
        '\n~~~~ JSON\r\n{"a": [1]}\r\n~~~~ ',
    ],
    ids=repr,
)
def test_an_answer_may_be_in_a_fence(text: str) -> None:
    assert check_of({"type": "object"})(text) == {"a": [1]}


def test_fences_within_an_answer_stay() -> None:
    answer = {"a": "```json\n{}\n```"}
    assert check_of({"type": "object"})(json.dumps(answer)) == answer
    assert check_of({"type": "object"})(f"```json\n{json.dumps(answer, indent=1)}\n```") == answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "$: the answer is empty"),
        ("```json\n```", "$: the answer is empty"),
        ("Sure! {}", "$: the answer is not JSON (Expecting value"),
        ("{} {}", "$: the answer is not JSON (Extra data"),
        ('{"a": 1', "$: the answer is not JSON ("),
        ('{"a": NaN}', "$: the answer is not JSON (NaN is not a number in JSON"),
        ('{"a": 1e999}', "$: holds a number too big for JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "$: the answer is not JSON ("),
        ('{"a": "\\ud83d"}', "$: holds half of a surrogate pair"),
        ('{"\\ud83d": 1}', "$: holds half of a surrogate pair"),
        ("```\n" + " " * 500_000 + "x\n```y", "$: the answer is not JSON ("),
        ("```json {}```", "$: the answer is not JSON ("),
        ("[" * 100_000, "$: nests deeper than 200 levels"),
        (" " + "[" * 300 + "]" * 300, "$: nests deeper than 200 levels"),
    ],
    ids=lambda text: repr(text[:24]),
)
def test_what_is_no_json(text: str, said: str) -> None:
    assert refusal(check_of({}), text).startswith(said)
    assert refusal(check_of(None, PERSON), text).startswith(said)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], '$: [] is not of type "object"'),
        ({}, '$: "items" is a required property'),
        ({"items": [{"name": "a"}, {"name": "abcdef"}]}, '$.items[1].name: "abcdef" is longer than 5 characters'),
        ({"items": [{}]}, '$.items[0]: "name" is a required property'),
        ({"items": [{"name": "a", "x": 1}]}, "$.items[0]: Additional properties are not allowed ('x' was unexpected)"),
        ({"items": [{"name": "a", "kind": 3}]}, "$.items[0].kind: 3 is not allowed, or fits none of the alternatives"),
    ],
    ids=str,
)
def test_the_place_of_a_fault_is_named(answer: object, said: str) -> None:
    assert refusal(check_of(ITEMS), json.dumps(answer)) == said


def test_strange_names_and_long_values_stay_one_short_line() -> None:
    schema = {"additionalProperties": {"maxLength": 1}}
    assert refusal(check_of(schema), json.dumps({"a b\n": "xy"})) == '$["a b\\n"]: "xy" is longer than 1 character'
    said = refusal(check_of(schema), json.dumps({"k" * 10_000: "x\n" * 50_000}))
    assert len(said) < 500


def test_a_fitting_answer_is_its_value() -> None:
    answer = {"items": [{"name": "ab", "kind": 2}]}
    assert check_of(ITEMS)(json.dumps(answer)) == answer


def test_older_drafts_are_read_by_their_own_rules() -> None:
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert refusal(check_of(old), "[1]") == '$[0]: 1 is not of type "string"'


def test_a_model_reads_dates_and_fills_in() -> None:
    check = check_of(None, PERSON)
    assert check('```json\n{"name": "Ada", "born": "1815-12-10"}\n```') == {
        "name": "Ada",
        "born": "1815-12-10",
        "tags": [],
    }
    assert refusal(check, '{"name": "Ada"}') == "$.born: Field required"
    assert refusal(check, '{"name": "ada", "born": 3}').endswith("(and 1 more)")
    said = refusal(check, '{"name": "ada", "born": "1815-12-10"}')
    assert said == "$.name: Value error, write it with a capital"
    # Its own rule breaks: that too is an answer that does not fit.
    assert refusal(check, '{"name": "", "born": "1815-12-10"}').startswith("$: Person raised IndexError")


def test_a_model_goes_before_a_schema_and_has_one() -> None:
    assert check_of({"type": "array"}, PERSON)('{"name": "Ada", "born": "1815-12-10"}')["name"] == "Ada"
    schema = schema_of(PERSON)
    assert schema["required"] == ["name", "born"]
    check_schema(schema)
    assert open_model("tests.llm.outputs.answer_models:Outer.Inner") is open_model(PERSON)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("Person", "names no model; write it as package.module:Model"),
        ("a b:C", "names no model"),
        (":", "names no model"),
        ("tests.llm.outputs.answer_models:", "names no model"),
        ("no_such_module_here:Model", "cannot import the model .*ModuleNotFoundError"),
        ("tests.llm.outputs.answer_models:None_such", "cannot import the model .*AttributeError"),
        ("tests.llm.outputs.answer_models:nothing", "is not a pydantic model"),
        ("json:JSONDecoder", "is not a pydantic model"),
    ],
)
def test_a_model_that_is_none(path: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_check(None, path)


def test_a_model_of_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ramet_model_here.py").write_text("import pydantic\nclass M(pydantic.BaseModel):\n    a: int\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    assert check_of(None, "ramet_model_here:M")('{"a": 1}') == {"a": 1}


def test_a_module_that_breaks_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ramet_breaking_model.py").write_text("raise RuntimeError('two\\nlines')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"\(RuntimeError: two lines\); it must be where workers look"):
        open_check(None, "ramet_breaking_model:Model")


def chain(links: int, keyword: str = "anyOf") -> dict[str, Any]:
    """Definitions of which each refers to the next one twice, for the same value."""
    definitions: dict[str, Any] = {
        f"a{number}": {keyword: [{"$ref": f"#/$defs/a{number + 1}"}] * 2} for number in range(links)
    }
    definitions[f"a{links}"] = {"type": "string"}
    return {"$defs": definitions, "$ref": "#/$defs/a0"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"type": "strng"}, "is not a valid JSON Schema"),
    ({"pattern": "("}, "is not a valid JSON Schema"),
    ({"pattern": "(a{1000}){1000}"}, "is not a valid JSON Schema"),
    ({"$ref": "#/$defs/none"}, "is not a valid JSON Schema"),
    ({"$ref": "#none"}, "is not a valid JSON Schema"),
    ({"$ref": "http://127.0.0.1:9/s.json"}, "nothing is fetched"),
    ({"$ref": "file:///etc/passwd"}, "nothing is fetched"),
    ({"properties": {"a": {"$dynamicRef": "other.json#x"}}}, "nothing is fetched"),
    ({"$schema": "http://127.0.0.1:9/meta", "type": "string"}, "is not a valid JSON Schema"),
    ({"$id": "http://127.0.0.1:9/a", "$ref": "b"}, "nothing is fetched"),
    ({"$ref": "#"}, "refers to itself without looking into the value"),
    ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, "refers to itself without looking into the value"),
    ({"$defs": {"a": {"$anchor": "x", "not": {"$ref": "#x"}}}}, "refers to itself without looking into the value"),
    (chain(20), rf"could look at one value [\d,]+ times, over {LOOKS_MAX:,}"),
    (
        {**chain(6), "unevaluatedProperties": False},
        rf"could look at one value [\d,]+ times, over {LOOKS_UNEVALUATED_MAX}",
    ),
    (chain(20, "allOf"), "could look at one value"),
    (chain(200), "refers from definition to definition over 120 times"),
    (nested(61), "nests deeper than 60 levels"),
    (nested(3_000), "is not JSON"),
    ({"description": "x" * 70_000}, "has 70,018 bytes, over 65,536"),
    ({"maximum": float("inf")}, "is not JSON"),
]


@pytest.mark.parametrize(
    ("schema", "said"), HOSTILE, ids=[f"{place} {said}" for place, (_, said) in enumerate(HOSTILE)]
)
def test_hostile_schemas_are_refused(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongSchema, match=said) as caught:
        check_schema(schema)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    with pytest.raises(InputError, match=r"^the schema for answers "):
        open_check(schema, None)


@pytest.mark.network
def test_nothing_is_fetched_wherever_the_reference_hides() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for schema in (
            {"$ref": address},
            {"$schema": address},
            {"properties": {"default": {"$ref": address}}},
            {"$defs": {"enum": {"properties": {"const": {"$ref": address}}}}},
            {"extras": {"const": {"$ref": address}}, "$ref": "#/extras/const"},
        ):
            with pytest.raises(WrongSchema):
                check_schema(schema)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_properties_may_have_the_names_of_keywords() -> None:
    hidden = {"properties": {"default": {"properties": {"examples": {**chain(14)}}}}}
    hidden["$defs"] = hidden["properties"]["default"]["properties"]["examples"].pop("$defs")
    with pytest.raises(WrongSchema, match="could look at one value"):
        check_schema(hidden)
    named = {"properties": {name: {"type": "integer"} for name in ("$ref", "const", "not", "anyOf", "properties")}}
    assert refusal(check_of(named), '{"properties": "x"}') == '$.properties: "x" is not of type "integer"'


def test_references_are_found_by_their_escapes() -> None:
    definitions = {"a/b~c d": {"anyOf": [{"$ref": "#/$defs/a~1b~0c%20d"}]}}
    with pytest.raises(WrongSchema, match="refers to itself"):
        check_schema({"$defs": definitions, "$ref": "#/$defs/a~1b~0c%20d"})


def test_what_is_meant_as_a_value_is_not_looked_into() -> None:
    check_schema({"const": {"$ref": "https://example.org/x"}, "examples": [{"$ref": "y"}]})


def test_a_pattern_that_goes_back_for_ever_ends() -> None:
    check = check_of({"pattern": "^(a+)+$"})
    assert refusal(check, json.dumps("a" * 5_000 + "b")).startswith('$: "aaa')
    # With a look behind, the expression cannot be run in linear time: its steps are counted.
    assert refusal(check_of({"pattern": r"^(a|a|aa)*\1(?<=x)$"}), json.dumps("a" * 5_000)).startswith("$: ")


def branching(alternatives: int, keyword: str) -> dict[str, Any]:
    """A tree whose every node may be read in several ways: what fails is tried in all of them, at each level."""
    ways = [
        {"type": "object", "properties": {"op": {"type": "string"}, "l": {"$ref": "#/$defs/e"}}, "required": ["l"]}
    ] * alternatives
    return {"$defs": {"e": {keyword: [*ways, {"type": "number"}]}}, "$ref": "#/$defs/e"}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_deep_answer_to_a_branching_schema_is_judged_at_once(keyword: str) -> None:
    # 4 ways at each of 90 levels: who tries them all, or describes each, does not end.
    answer: object = "bad"
    for _ in range(90):
        answer = {"op": "+", "l": answer}
    assert refusal(check_of(branching(4, keyword)), json.dumps(answer)).startswith("$: ")


def test_a_recursive_schema_is_fine() -> None:
    tree = {"$defs": {"n": {"properties": {"kids": {"items": {"$ref": "#/$defs/n"}}, "v": {"type": "integer"}}}}}
    check = check_of({**tree, "$ref": "#/$defs/n"})
    assert check('{"kids": [{"kids": [], "v": 1}]}') == {"kids": [{"kids": [], "v": 1}]}
    assert refusal(check, '{"kids": [{"v": "x"}]}') == '$.kids[0].v: "x" is not of type "integer"'


def test_a_reference_into_alternatives_is_judged_too() -> None:
    schema = {
        "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "b": {"$ref": "#/properties/a/anyOf/0"}}
    }
    assert check_of(schema)('{"a": null, "b": 1}') == {"a": None, "b": 1}
    assert refusal(check_of(schema), '{"b": null}') == "$: the answer does not fit the schema"


def test_the_validator_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(ExtraMissing, match=r"needs the package 'jsonschema_rs': install it with .*ramet\[llm\]"):
        open_check({"type": "object", "title": "not seen before"}, None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
    | st.sampled_from(["object", "string", "#", "#/$defs/a", "#/anyOf/0", "(", "a+"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            "type properties items anyOf oneOf allOf not if then else $ref $defs a const enum required pattern "
            "additionalProperties dependentSchemas dependentRequired $anchor maximum uniqueItems contains".split()
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    schema=st.dictionaries(st.sampled_from(["anyOf", "properties", "$defs", "$ref", "not", "items"]), _JSON),
    value=_JSON,
)
def test_any_schema_is_refused_or_judges(schema: dict[str, Any], value: Any) -> None:
    try:
        check = open_check(schema, None)
    except InputError as error:
        said = str(error)
    else:
        assert check is not None
        try:
            assert check(json.dumps(value)) == value
            said = ""
        except InvalidAnswer as error:
            said = str(error)
    assert "\n" not in said


@given(text=st.text(max_size=30))
def test_any_text_is_refused_or_a_value(text: str) -> None:
    try:
        value = check_of({})(text)
        json.dumps(value).encode()
        said = ""
    except InvalidAnswer as error:
        said = str(error)
    assert "\n" not in said
