#include "serve/request.hpp"

#include "heed/base/error.hpp"
#include "heed/base/json_text.hpp"
#include "heed/base/words.hpp"
#include "heed/data/fields.hpp"

namespace heed::serve {
namespace {

using nlohmann::json;

const std::vector<std::string> kKeys = {"run",  "inputs",  "id",       "drop",
                                        "mask", "replace", "normalise"};

json parse_body(std::string_view body) {
  HEED_CHECK(shallow_json(body).size() == body.size(), "the body is nested too deeply");
  try {
    return json::parse(body);
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    const std::string_view message = error.what();
    const std::size_t start = message.find("] ");
    throw InputError(fmt::format("the body is not valid JSON: {}",
                                 start == message.npos ? message : message.substr(start + 2)));
  }
}

std::string text_of(const json& value, std::string_view key) {
  HEED_CHECK(value.is_string(), "'{}' is of type {}; a string is needed", key, value.type_name());
  return value.get<std::string>();
}

void check_object(const json& value, std::string_view key, std::string_view needed) {
  HEED_CHECK(value.is_object(), "'{}' is of type {}; an object is needed: {}", key,
             value.type_name(), needed);
}

Positions positions_of(const json& value, std::string_view key) {
  check_object(value, key, "{\"text\": [0, 3]}");
  Positions result;
  for (const auto& [input, list] : value.items()) {
    HEED_CHECK(list.is_array(), "'{}.{}' is of type {}; an array of positions is needed", key,
               input, list.type_name());
    for (const json& item : list) {
      HEED_CHECK(item.is_number_unsigned(), "'{}.{}' has {}; positions are whole numbers from 0",
                 key, input, item.is_number() ? item.dump() : item.type_name());
      result[input].push_back(item.get<std::size_t>());
    }
  }
  return result;
}

std::map<std::string, std::string> fields_of(const json& value) {
  check_object(value, "inputs", "{\"text\": \"the food was good\"}");
  std::map<std::string, std::string> fields;
  for (const auto& [name, text] : value.items()) fields[name] = field_text(text, "inputs", name);
  return fields;
}

}  // namespace

PredictRequest parse_request(std::string_view body) {
  const json json_body = parse_body(body);
  HEED_CHECK(json_body.is_object(), "the body is of type {}; a JSON object is needed",
             json_body.type_name());
  PredictRequest request;
  for (const auto& [key, value] : json_body.items()) {
    if (key == "run") {
      request.run = text_of(value, key);
    } else if (key == "inputs") {
      request.fields = fields_of(value);
    } else if (key == "id") {
      request.id = text_of(value, key);
    } else if (key == "drop") {
      request.drop = positions_of(value, key);
    } else if (key == "mask") {
      request.mask = positions_of(value, key);
    } else if (key == "replace") {
      check_object(value, key, "{\"attention\": [0.5, 0.5]}");
      request.replace = value;
    } else if (key == "normalise") {
      HEED_CHECK(value.is_boolean(), "'normalise' is of type {}; true or false is needed",
                 value.type_name());
      request.normalise = value.get<bool>();
    } else {
      throw InputError(fmt::format("unknown key '{}'{}", key, suggestion(key, kKeys)));
    }
  }
  HEED_CHECK(json_body.contains("inputs") != json_body.contains("id"),
             "give either 'inputs', the texts, or 'id', an example of the test part");
  return request;
}

}  // namespace heed::serve
