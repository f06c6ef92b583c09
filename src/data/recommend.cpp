// Lists of who took what, in one domain or two: an item is left out of a user's history, and asked
// for.
#include "data/recommend.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNegatives = 999;
constexpr std::size_t kRecent = 5;  // the last items of a history: what a user wants at present

const std::vector<std::string> kListColumns = {"user", "item", "split", "time"};

struct User {
  std::vector<std::string> train, test;
};

/// The users of one file in the order of their first rows, items in order of time or of rows. Items
/// are called by the file's name too, so that two domains never share one.
struct ItemDomain {
  std::vector<std::string> order;
  std::unordered_map<std::string, User> users;
};

double parse_time(const std::string& text, const std::string& where) {
  double time = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
  // NaN is before and after everything, which sorting does not survive.
  HEED_CHECK(error == std::errc() && end == text.data() + text.size() && std::isfinite(time),
             "{}: the time is '{}'; a number is needed", where, text);
  return time;
}

/// The rows of a file in order of time, if it tells times: of all rows or of none.
std::vector<Row> rows_in_order(const fs::path& file, std::span<const Column> columns) {
  struct Taken {
    double time;
    Row row;
  };
  std::vector<Row> rows = read_table(file, columns);
  if (std::ranges::none_of(rows, [](const Row& row) { return row.cells[3].has_value(); }))
    return rows;
  std::vector<Taken> taken;
  for (Row& row : rows) {
    const std::string time(trim(row.cells[3].value_or(""))), where = at_line(file, row.line);
    HEED_CHECK(!time.empty(), "{}: the {} is empty; fill it in or remove the row", where,
               columns[3].name);
    taken.push_back({parse_time(time, where), std::move(row)});
  }
  std::ranges::stable_sort(taken, {}, &Taken::time);
  rows.clear();
  for (Taken& one : taken) rows.push_back(std::move(one.row));
  return rows;
}

ItemDomain read_domain(const DataSource& source, const std::string& name) {
  const fs::path file = find_file(name, source.base);
  const std::vector<Column> columns =
      wanted_columns(source, kListColumns, std::vector<std::string>{"user", "item", "split"});
  ItemDomain domain;
  for (const Row& row : rows_in_order(file, columns)) {
    const std::string where = at_line(file, row.line);
    const auto cell = [&](std::size_t column) {
      std::string text(trim(row.cells[column].value_or("")));
      HEED_CHECK(!text.empty(), "{}: the {} is empty; fill it in or remove the row", where,
                 columns[column].name);
      return text;
    };
    const std::string user = cell(0), split = lower(cell(2));
    const std::string item = fmt::format("{}:{}", file.stem().string(), cell(1));
    HEED_CHECK(split == "train" || split == "test",
               "{}: split '{}' is unknown; one of train, test (val is taken from train)", where,
               split);
    if (!domain.users.contains(user)) domain.order.push_back(user);
    User& own = domain.users[user];
    const bool twice = std::ranges::find(own.train, item) != own.train.end() ||
                       std::ranges::find(own.test, item) != own.test.end();
    HEED_CHECK(!twice, "{}: user '{}' took item '{}' before; one row is enough", where, user,
               cell(1));
    (split == "train" ? own.train : own.test).push_back(item);
  }
  return domain;
}

/// Makes examples of users.
class Asker {
 public:
  Asker(const std::vector<std::string>& labels, const ItemDomain* other, std::uint64_t seed)
      : labels_(labels), other_(other), random_(seed) {}

  /// Which item comes after `history`?
  Example ask(const std::string& id, const std::string& user, std::vector<std::string> history,
              const std::string& item) const {
    Example example{.id = id, .inputs = {}, .label = item, .gold = {}};
    const std::size_t length = history.size();
    example.views["recent"] = {
        .of = "history", .begin = length - std::min(length, kRecent), .end = length};
    example.inputs["history"] = std::move(history);
    if (other_) example.inputs["source"] = elsewhere(user);
    return example;
  }

  /// What the user took in the other domain, if there is one.
  std::vector<std::string> elsewhere(const std::string& user) const {
    if (!other_) return {};
    const auto found = other_->users.find(user);
    return found == other_->users.end() ? std::vector<std::string>() : found->second.train;
  }

  /// The right item among others that the user never took, as places in the labels; the right one
  /// first.
  void add_candidates(Example& example, const User& user) {
    std::unordered_set<std::string> taken(user.train.begin(), user.train.end());
    taken.insert(user.test.begin(), user.test.end());
    Values candidates{.width = 1, .data = {place(example.label)}};
    std::unordered_set<std::size_t> drawn;
    std::size_t free = labels_.size();
    for (const std::string& item : taken) free -= std::ranges::binary_search(labels_, item) ? 1 : 0;
    while (candidates.data.size() < 1 + std::min(kNegatives, free)) {
      const std::size_t i = random_.below(labels_.size());
      if (!taken.contains(labels_[i]) && drawn.insert(i).second)
        candidates.data.push_back(static_cast<float>(i));
    }
    example.values["candidates"] = std::move(candidates);
  }

 private:
  float place(const std::string& item) const {
    return static_cast<float>(std::ranges::lower_bound(labels_, item) - labels_.begin());
  }

  const std::vector<std::string>& labels_;
  const ItemDomain* other_;
  Random random_;
};

std::vector<std::string> without(const std::vector<std::string>& items, std::size_t place) {
  std::vector<std::string> rest = items;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(place));
  return rest;
}

/// A validation item of each user with two training items or more, where another user's training
/// part still has it: user → place in `train`.
std::unordered_map<std::string, std::size_t> choose_validation(const ItemDomain& domain,
                                                               std::uint64_t seed) {
  std::unordered_map<std::string, std::size_t> left;  // how often an item is still in training
  for (const auto& [user, own] : domain.users) {
    for (const std::string& item : own.train) ++left[item];
  }
  Random random(seed);
  std::unordered_map<std::string, std::size_t> chosen;
  for (const std::string& user : domain.order) {
    const User& own = domain.users.at(user);
    if (own.train.size() < 2) continue;
    const std::size_t place = random.below(own.train.size());
    if (left[own.train[place]] < 2) continue;
    --left[own.train[place]];
    chosen[user] = place;
  }
  return chosen;
}

std::vector<std::string> known_items(const ItemDomain& domain) {
  std::set<std::string> items;
  for (const auto& [user, own] : domain.users) items.insert(own.train.begin(), own.train.end());
  return {items.begin(), items.end()};
}

Dataset load_recommend(const DataSource& source) {
  HEED_CHECK(!source.data.empty(),
             "task: a list of who took what is one file: give 'data', not 'train'");
  HEED_CHECK(source.max_length == 0, "task: max_length cuts texts; a history is whole");
  const ItemDomain domain = read_domain(source, source.data);
  std::optional<ItemDomain> other;
  if (!source.source.empty()) {
    HEED_CHECK(fs::path(source.source).stem() != fs::path(source.data).stem(),
               "task: 'data' and 'source' have the same name '{}'; items are told apart by it",
               fs::path(source.data).stem().string());
    other = read_domain(source, source.source);
    HEED_CHECK(
        std::ranges::any_of(domain.order,
                            [&](const std::string& user) { return other->users.contains(user); }),
        "task: no user of 'source' {} is in 'data' {}; a user needs one name in both",
        source.source, source.data);
  }
  Dataset data{.name = fs::path(source.data).stem().string(),
               .labels = known_items(domain),
               .train = {},
               .val = {},
               .test = {},
               .inputs = {{.name = "history"}, {.name = "recent"}}};
  if (other) data.inputs.insert(data.inputs.begin() + 1, {.name = "source"});
  HEED_CHECK(!data.labels.empty(), "{}:1: no row has split 'train'; nothing to learn from",
             source.data);
  const auto validation = choose_validation(domain, Random::derive(source.seed, 21));
  Asker asker(data.labels, other ? &*other : nullptr, Random::derive(source.seed, 22));
  for (const std::string& name : domain.order) {
    const User& user = domain.users.at(name);
    const auto held = validation.find(name);
    const std::vector<std::string> kept =
        held == validation.end() ? user.train : without(user.train, held->second);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept.size() == 1 && !other) continue;  // no history to ask about
      data.train.push_back(
          asker.ask(fmt::format("{}-{}", name, i + 1), name, without(kept, i), kept[i]));
    }
    data.users.push_back({.history = kept, .source = asker.elsewhere(name)});
    if (held != validation.end()) {
      data.val.push_back(asker.ask(name, name, kept, user.train[held->second]));
      asker.add_candidates(data.val.back(), user);
    }
    for (const std::string& item : user.test) {
      if (!std::ranges::binary_search(data.labels, item)) continue;  // nobody could know it
      data.test.push_back(asker.ask(name, name, user.train, item));
      asker.add_candidates(data.test.back(), user);
    }
  }
  const bool asked =
      std::ranges::any_of(domain.users, [](const auto& user) { return !user.second.test.empty(); });
  HEED_CHECK(!asked || !data.test.empty(),
             "{}: no item of the test rows is in a training row, so nobody could know it; give "
             "test rows of items that somebody took",
             source.data);
  return data;
}

}  // namespace

DataKind recommend_kind() {
  return {.id = "recommend",
          .doc = "the next item of a user, from a history in one domain or two",
          .columns = kListColumns,
          .load = load_recommend,
          .load_examples = {}};
}

Dataset tastes(const CorpusOptions& options) {
  constexpr std::size_t kTastes = 8, kItems = 16, kOfEach = 3;
  const auto name = [](const char* domain, std::size_t taste, std::size_t item) {
    return fmt::format("{}:{}-{:02}", domain, static_cast<char>('a' + taste), item);
  };
  Dataset data;
  data.name = "recommend";
  data.inputs = {{.name = "history"}, {.name = "source"}, {.name = "recent"}};
  for (std::size_t taste = 0; taste < kTastes; ++taste) {
    for (std::size_t i = 0; i < kItems; ++i) data.labels.push_back(name("film", taste, i));
  }
  const auto fill = [&](std::vector<Example>& part, const char* id, std::size_t size,
                        std::uint64_t stream, bool candidates) {
    Random random(Random::derive(options.seed, stream));
    const auto items = [&](const char* domain, std::size_t taste, std::size_t count) {
      std::vector<std::size_t> all(kItems);
      for (std::size_t i = 0; i < kItems; ++i) all[i] = i;
      random.shuffle(std::span(all));
      std::vector<std::string> some;
      for (std::size_t i = 0; i < count; ++i) some.push_back(name(domain, taste, all[i]));
      return some;
    };
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t present = random.below(kTastes),
                        past = (present + 1 + random.below(kTastes - 1)) % kTastes;
      std::vector<std::string> now = items("film", present, kOfEach + 1);
      ItemDomain other;
      const std::string user = fmt::format("{}-{}", id, i + 1), item = now.back();
      now.pop_back();
      other.users[user].train = items("book", present, kOfEach);
      std::vector<std::string> history = items("film", past, kOfEach);
      history.insert(history.end(), now.begin(), now.end());
      random.shuffle(std::span(history));
      Asker asker(data.labels, &other, random.next());
      Example example = asker.ask(user, user, history, item);
      for (const std::string& one : history)
        example.gold["history"].push_back(std::ranges::find(now, one) != now.end() ? 1.0f : 0.0f);
      if (candidates) {
        asker.add_candidates(example, {.train = history, .test = {item}});
      } else {
        data.users.push_back({.history = history, .source = asker.elsewhere(user)});
        data.users.back().history.push_back(item);
      }
      part.push_back(std::move(example));
    }
  };
  fill(data.test, "test", options.test, 3, true);
  fill(data.val, "val", options.val, 2, true);
  fill(data.train, "train", options.train, 1, false);
  return data;
}

}  // namespace heed
