// The options of a part: defaults, types, ranges.
#include <fmt/format.h>

#include <cmath>

#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

std::string_view type_name(const OptionValue& value) {
  constexpr std::string_view kNames[] = {"true or false", "a whole number", "a number", "a text"};
  return kNames[value.index()];
}

// A whole number is a number too; nothing else is converted.
OptionValue convert(const OptionInfo& option, const OptionValue& given, std::string_view where) {
  if (std::holds_alternative<double>(option.fallback) &&
      std::holds_alternative<std::int64_t>(given)) {
    return static_cast<double>(std::get<std::int64_t>(given));
  }
  HEED_CHECK(given.index() == option.fallback.index(), "{}: option '{}' is {}, {} is needed", where,
             option.name, to_text(given), type_name(option.fallback));
  return given;
}

void check_range(const OptionInfo& option, const OptionValue& value, std::string_view where) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool known =
        option.choices.empty() ||
        std::find(option.choices.begin(), option.choices.end(), *text) != option.choices.end();
    HEED_CHECK(known, "{}: option '{}' is '{}'{}", where, option.name, *text,
               suggestion(*text, option.choices));
    return;
  }
  if (std::holds_alternative<bool>(value)) return;
  const double number = std::holds_alternative<double>(value)
                            ? std::get<double>(value)
                            : static_cast<double>(std::get<std::int64_t>(value));
  HEED_CHECK(std::isfinite(number) && number >= option.min && number <= option.max,
             "{}: option '{}' is {}, needed is {} … {}", where, option.name, number, option.min,
             option.max);
}

}  // namespace

std::string to_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{}", *number);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

Options resolve(const PartInfo& part, const Options& given, std::string_view where) {
  Options result;
  std::vector<std::string> names;
  for (const OptionInfo& option : part.options) {
    result[option.name] = option.fallback;
    names.push_back(option.name);
  }
  for (const auto& [name, value] : given) {
    const auto option =
        std::find_if(part.options.begin(), part.options.end(),
                     [&name = name](const OptionInfo& o) { return o.name == name; });
    HEED_CHECK(option != part.options.end(), "{}: '{}' has no option '{}'{}", where, part.id, name,
               names.empty() ? "; it has none" : suggestion(name, names));
    const OptionValue converted = convert(*option, value, where);
    check_range(*option, converted, where);
    result[name] = converted;
  }
  return result;
}

}  // namespace heed
