// The API in OpenAPI 3.1. Written here, beside the code it tells of; tests/serve holds one against
// the other.
#include <nlohmann/json.hpp>

#include "serve/service.hpp"

namespace heed::serve {
namespace {

constexpr std::string_view kDocument = R"json({
  "openapi": "3.1.0",
  "info": {
    "title": "heed serve",
    "summary": "Ask trained runs, look at their attention, and move it by hand",
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
  },
  "paths": {
    "/": {"get": {
      "operationId": "page", "summary": "The live page", "security": [{}, {"bearer": []}, {"query": []}],
      "responses": {"200": {"description": "HTML", "content": {"text/html": {"schema": {"type": "string"}}}},
                    "401": {"$ref": "#/components/responses/Error"}, "403": {"$ref": "#/components/responses/Error"}}
    }},
    "/healthz": {"get": {
      "operationId": "health", "summary": "Whether it answers",
      "responses": {"200": {"description": "It does", "content": {"application/json": {"schema": {
        "type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}}}}},
        "401": {"$ref": "#/components/responses/Error"}, "403": {"$ref": "#/components/responses/Error"}}
    }},
    "/openapi.json": {"get": {
      "operationId": "openapi", "summary": "This document",
      "responses": {"200": {"description": "OpenAPI 3.1", "content": {"application/json": {"schema": {"type": "object"}}}},
                    "401": {"$ref": "#/components/responses/Error"}, "403": {"$ref": "#/components/responses/Error"}}
    }},
    "/api/runs": {"get": {
      "operationId": "runs", "summary": "The runs that can be asked, and what they read",
      "responses": {"200": {"description": "The runs", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Runs"}}}},
                    "401": {"$ref": "#/components/responses/Error"}, "403": {"$ref": "#/components/responses/Error"}}
    }},
    "/api/predict": {"post": {
      "operationId": "predict", "summary": "What a run says of a text, with other weights if given",
      "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}},
      "responses": {
        "200": {"description": "The answer", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Reply"}}}},
        "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
        "403": {"$ref": "#/components/responses/Error"}, "411": {"$ref": "#/components/responses/Error"},
        "413": {"$ref": "#/components/responses/Error"}, "415": {"$ref": "#/components/responses/Error"},
        "503": {"description": "Too many requests are waiting",
                "headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds"}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
      }
    }}
  },
  "security": [{}, {"bearer": []}],
  "components": {
    "securitySchemes": {
      "bearer": {"type": "http", "scheme": "bearer", "description": "With --token"},
      "query": {"type": "apiKey", "in": "query", "name": "token", "description": "With --token, for the page alone"}
    },
    "responses": {
      "Error": {"description": "What is wrong and what is needed",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    },
    "schemas": {
      "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
      "Positions": {"type": "object", "description": "Of each input, from 0",
                    "additionalProperties": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
      "Text": {"description": "A text; or tokens; or sentences (strings with spaces in them); or points",
               "oneOf": [{"type": "string"},
                         {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "number"},
                                                               {"type": "array", "items": {"type": "number"}}]}}]},
      "Weight": {"type": "number", "minimum": 0},
      "Row": {"type": "object", "required": ["row", "weights"], "additionalProperties": false,
              "properties": {"row": {"type": "array", "items": {"type": "integer", "minimum": 0},
                                     "description": "Its place on the axes before the keys: head, query"},
                             "weights": {"type": "array", "items": {"$ref": "#/components/schemas/Weight"}}}},
      "Weights": {"description": "K numbers for every row of the map; all its numbers, flat or nested; or single rows, which leave the others as they were",
                  "oneOf": [{"type": "array", "items": {"$ref": "#/components/schemas/Weight"}},
                            {"type": "array", "items": {"type": "array"}},
                            {"$ref": "#/components/schemas/Row"},
                            {"type": "array", "items": {"$ref": "#/components/schemas/Row"}}]},
      "Request": {
        "type": "object", "additionalProperties": false,
        "oneOf": [{"required": ["inputs"]}, {"required": ["id"]}],
        "properties": {
          "run": {"type": "string", "description": "Which run; may be left out when there is one"},
          "inputs": {"type": "object", "description": "The texts, by the names in /api/runs",
                     "additionalProperties": {"$ref": "#/components/schemas/Text"}},
          "id": {"type": "string", "description": "Instead of inputs: an example of the run's test part"},
          "drop": {"$ref": "#/components/schemas/Positions",
                   "description": "Words to take out of the input before the model reads it"},
          "mask": {"$ref": "#/components/schemas/Positions",
                   "description": "Words that stay, with weight 0 in every map over that input; the other weights of a row grow to its former sum. Counted after drop"},
          "replace": {"type": "object", "description": "Weights to use, by the map's name; of the input after drop",
                      "additionalProperties": {"$ref": "#/components/schemas/Weights"}},
          "normalise": {"type": "boolean", "default": false,
                        "description": "Divide each given row by its sum; else weights are taken as they are"}
        }
      },
      "Prediction": {"type": "object", "required": ["label"],
        "properties": {"label": {"type": "string"},
                       "probabilities": {"type": "array", "items": {"type": "number"}, "description": "In the order of the run's labels"},
                       "sequence": {"type": "array", "items": {"type": "string"}},
                       "number": {"type": "number"}}},
      "Map": {"type": "object", "required": ["name", "axes", "query_input", "key_input", "shape", "data"],
        "properties": {"name": {"type": "string"},
                       "axes": {"type": "array", "items": {"type": "string"}},
                       "query_input": {"type": ["string", "null"]}, "key_input": {"type": ["string", "null"]},
                       "shape": {"type": "array", "items": {"type": "integer"}},
                       "data": {"type": "array", "items": {"type": "number"}, "description": "Row by row, with all digits"}}},
      "Reply": {"type": "object", "required": ["id", "inputs", "prediction"],
        "properties": {
          "id": {"type": "string"},
          "inputs": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
          "maps": {"type": "array", "items": {"$ref": "#/components/schemas/Map"}},
          "gold": {"type": "object"},
          "prediction": {"$ref": "#/components/schemas/Prediction"},
          "without": {"$ref": "#/components/schemas/Prediction", "description": "When there are edits: the prediction without them"},
          "left_out": {"type": "array", "items": {"type": "string"}, "description": "Maps too large to be sent"}
        }},
      "Runs": {"type": "object", "required": ["heed", "limits", "runs"],
        "properties": {
          "heed": {"type": "string"},
          "limits": {"type": "object", "required": ["tokens", "bytes"],
                     "properties": {"tokens": {"type": "integer"}, "bytes": {"type": "integer"}}},
          "runs": {"type": "array", "items": {
            "type": "object",
            "required": ["name", "kind", "inputs", "labels", "mechanism", "parts", "maps", "editable", "examples"],
            "properties": {
              "name": {"type": "string"}, "kind": {"type": "string"},
              "inputs": {"type": "array", "items": {"type": "string"}, "description": "Empty: it is asked by id alone"},
              "labels": {"type": "array", "items": {"type": "string"}},
              "mechanism": {"type": "object", "properties": {"id": {"type": "string"}, "title": {"type": "string"}}},
              "parts": {"type": "array", "items": {"type": "object"}},
              "maps": {"type": "array", "items": {"type": "object"}},
              "editable": {"type": "boolean", "description": "Whether replace and mask are understood"},
              "examples": {"type": "array", "items": {
                "type": "object", "required": ["id", "inputs"],
                "properties": {"id": {"type": "string"}, "label": {"type": "string"},
                               "inputs": {"type": "object", "additionalProperties": {"type": "string"}}}}}
            }}}
        }}
    }
  }
})json";

}  // namespace

std::string openapi_json() {
  auto document = nlohmann::ordered_json::parse(kDocument);
  document["info"]["version"] = HEED_VERSION;
  return document.dump(1);
}

}  // namespace heed::serve
