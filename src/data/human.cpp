// What people looked at (eye tracking, clicks, marks), as the gold attention of examples.
#include <algorithm>
#include <map>
#include <set>

#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using Words = std::vector<std::string>;

/// One row: one person on one text.
struct Look {
  std::string where, id, input, weights;
  Words tokens;  // empty: not told
};

std::vector<Look> read_looks(const std::filesystem::path& file, bool lowercase) {
  const std::vector<Column> columns = {{.role = "id", .name = "id", .required = false},
                                       {.role = "tokens", .name = "tokens", .required = false},
                                       {.role = "weights", .name = "weights"},
                                       {.role = "input", .name = "input", .required = false}};
  std::vector<Look> looks;
  for (const Row& row : read_table(file, columns)) {
    const auto cell = [&](std::size_t i) { return std::string(trim(row.cells[i].value_or(""))); };
    Look look{.where = at_line(file, row.line),
              .id = cell(0),
              .input = cell(3),
              .weights = cell(2),
              .tokens = split_words(lowercase ? lower(cell(1)) : cell(1))};
    HEED_CHECK(!look.id.empty() || !look.tokens.empty(),
               "{}: neither an id nor tokens; one must tell whose weights these are", look.where);
    looks.push_back(std::move(look));
  }
  return looks;
}

/// The examples of all parts, found by id or by the words of an input.
class Index {
 public:
  Index(Dataset& data, bool by_words) {
    for (const InputInfo& input : data.inputs) inputs_.push_back(input.name);
    for (auto* part : {&data.train, &data.val, &data.test}) {
      for (Example& example : *part) {
        const auto [same, fresh] = by_id_.emplace(example.id, &example);
        if (!fresh) same->second = nullptr;
        ids_.push_back(example.id);
        if (!by_words) continue;
        for (const auto& [name, words] : example.inputs)
          by_words_[join(words, " ")].push_back({&example, name});
      }
    }
  }

  struct Place {
    Example* example;
    std::string input;
  };

  /// Where a row belongs; several texts may have the same words.
  std::vector<Place> find(const Look& look) const {
    if (look.id.empty()) {
      const auto same = by_words_.find(join(look.tokens, " "));
      std::vector<Place> places = same == by_words_.end() ? std::vector<Place>{} : same->second;
      std::erase_if(places, [&](const Place& place) {
        return !look.input.empty() && place.input != look.input;
      });
      HEED_CHECK(!places.empty(), "{}: no example has these tokens", look.where);
      return places;
    }
    const auto named = by_id_.find(look.id);
    HEED_CHECK(named != by_id_.end(), "{}: no example has the id '{}'{}", look.where, look.id,
               nearest_id(look.id));
    HEED_CHECK(named->second,
               "{}: several examples have the id '{}'; rename them, or give tokens and no id",
               look.where, look.id);
    return {{named->second, input_of(look, *named->second)}};
  }

 private:
  std::string nearest_id(const std::string& id) const {
    const auto near = nearest(id, ids_);
    return near ? fmt::format("; did you mean '{}'?", *near) : "";
  }

  /// The input a row with an id is about: the one it names, the one with its words, or the first
  /// with as many positions; else the first, which then does not fit.
  std::string input_of(const Look& look, const Example& example) const {
    if (!look.input.empty()) {
      HEED_CHECK(std::ranges::find(inputs_, look.input) != inputs_.end(), "{}: no input '{}'{}",
                 look.where, look.input, suggestion(look.input, inputs_));
      return look.input;
    }
    for (const std::string& name : inputs_) {
      const auto words = example.inputs.find(name);
      if (look.tokens.empty() ? split_words(look.weights).size() == input_length(example, name)
                              : words != example.inputs.end() && words->second == look.tokens)
        return name;
    }
    return inputs_.front();
  }

  std::vector<std::string> inputs_, ids_;
  std::map<std::string, Example*> by_id_;  // null: several have it
  std::map<std::string, std::vector<Place>> by_words_;
};

/// The words that were looked at must be the example's; a limit on lengths may have cut it.
void check_words(const Look& look, const Example& example, const std::string& input, bool cut) {
  const auto found = example.inputs.find(input);
  if (look.tokens.empty() || found == example.inputs.end()) return;
  const Words& words = found->second;
  HEED_CHECK(look.tokens.size() == words.size() || (cut && look.tokens.size() > words.size()),
             "{}: {} tokens, and example '{}' has {} in '{}'", look.where, look.tokens.size(),
             example.id, words.size(), input);
  for (std::size_t i = 0; i < words.size(); ++i) {
    HEED_CHECK(look.tokens[i] == words[i], "{}: token {} is '{}', and '{}' in example '{}'",
               look.where, i + 1, look.tokens[i], words[i], example.id);
  }
}

}  // namespace

void add_human_attention(Dataset& data, const DataSource& source) {
  if (source.human.empty()) return;
  const std::vector<Look> looks =
      read_looks(find_file(source.human, source.base), source.lowercase);
  const Index index(data, std::ranges::any_of(looks, &std::string::empty, &Look::id));
  std::map<std::pair<Example*, std::string>, std::size_t> seen;  // rows of each input so far
  for (const Look& look : looks) {
    for (const auto& [example, input] : index.find(look)) {
      const bool cut = source.max_length > 0;
      check_words(look, *example, input, cut);
      const std::size_t length = input_length(*example, input);
      const std::size_t told = cut ? std::max(length, look.tokens.size()) : length;
      std::vector<float> weights = parse_weights(look.weights, told, look.where, "the row");
      weights.resize(length);
      std::vector<float>& gold = example->gold[input];
      const auto rows = static_cast<float>(seen[{example, input}]++);
      if (rows == 0) gold.assign(length, 0.0f);  // what people did comes before a rationale
      for (std::size_t i = 0; i < length; ++i) gold[i] += (weights[i] - gold[i]) / (rows + 1);
    }
  }
}

}  // namespace heed
