#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "heed/data/dataset.hpp"

namespace heed {

/// What a person fills in to ask a model of this kind: the columns of a row but for the answer.
/// Empty: its examples are no rows of a table (pictures, graphs).
std::vector<std::string> text_fields(const std::string& kind);

/// One example, read as a row of a table with these cells would be; a field that is not given is an
/// empty cell. Of `source` only kind, lowercase and max_length are used; `inputs` are the model's,
/// of which those in sentences get them whatever the kind. InputError "inputs: …" for a field the
/// kind does not have, an empty one it needs, and text that is not UTF-8.
Example read_fields(const DataSource& source, std::span<const InputInfo> inputs,
                    const std::map<std::string, std::string>& fields);

/// The text of a field that JSON gives as a string, a number, true or false, or as an array of
/// these: tokens, joined by spaces, or sentences (strings with spaces in them), joined by line
/// ends. InputError, starting with `where`, for anything else.
std::string field_text(const nlohmann::json& value, const std::string& where,
                       const std::string& field);

}  // namespace heed
