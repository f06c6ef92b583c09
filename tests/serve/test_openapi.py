"""The document of the API against its standard, and the API against the document."""

import json

import jsonschema
import openapi_spec_validator
import pytest


@pytest.fixture(scope="module")
def document(server):
    status, _, document = server.request("GET", "/openapi.json")
    assert status == 200
    return document


def matches(document, name, value):
    """InvalidDocument if `value` is not what components/schemas/NAME says."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


def test_is_valid_openapi(document):

    openapi_spec_validator.validate(document)
    assert document["openapi"] == "3.1.0"


def test_every_route_answers_as_written(server, document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            body = json.dumps({"inputs": {"text": "good"}}) if method == "post" else None
            status, headers, _ = server.request(method.upper(), path, body, {"Content-Type": "application/json"})
            assert str(status) in operation["responses"], path
            assert headers["Content-Type"].split(";")[0] in operation["responses"]["200"]["content"]


def test_answers_and_requests_match_their_schemas(server, document):
    matches(document, "Runs", server.request("GET", "/api/runs")[2])
    plain = server.ask("the food was good")
    name, row = plain["maps"][0]["name"], plain["maps"][0]["data"]
    requests = [
        {"inputs": {"text": "the food was good"}},
        {"inputs": {"text": ["the", "food", "was", "good"]}, "mask": {"text": [0]}},
        {"id": "test-1", "drop": {"text": [0]}},
        {"inputs": {"text": "the food was good"}, "replace": {name: row}, "normalise": True},
        {"inputs": {"text": "the food was good"}, "replace": {name: {"row": [0, 0], "weights": row}}},
    ]
    for request in requests:
        matches(document, "Request", request)
        status, answer = server.predict(request)
        assert status == 200, answer
        matches(document, "Reply", answer)


def test_what_the_schema_refuses_the_server_refuses(server, document):
    for request in ({}, {"inputs": {"text": "a"}, "other": 1}, {"inputs": {"text": "a"}, "drop": {"text": [-1]}},
                    {"inputs": "a"}, {"inputs": {"text": "a"}, "normalise": 1}, {"inputs": {"text": "a"}, "id": "1"}):  # fmt: skip
        with pytest.raises(jsonschema.ValidationError):
            matches(document, "Request", request)
        status, answer = server.predict(request)
        assert status == 400
        matches(document, "Error", answer)
