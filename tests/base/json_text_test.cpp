#include "heed/base/json_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace heed {
namespace {

std::string nested(std::size_t depth, const std::string& inside = "") {
  return std::string(depth, '[') + inside + std::string(depth, ']');
}

TEST(ShallowJson, KeepsTextThatIsNotDeep) {
  for (const std::string& text : {nested(200), R"({"a": [1, {"b": "]]"}]})" + nested(199),
                                  std::string("]]]]"), std::string("\"\\"), std::string()})
    EXPECT_EQ(shallow_json(text), text);
}

TEST(ShallowJson, BracketsInTextsAreText) {
  const std::string text = "[\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"]";
  EXPECT_EQ(shallow_json(text), text);
}

TEST(ShallowJson, GivesNothingForWhatIsDeep) {
  EXPECT_EQ(shallow_json(nested(201)), "");
  EXPECT_EQ(shallow_json(std::string(1 << 20, '{')), "");
  EXPECT_EQ(shallow_json("[\"]\"," + nested(200) + "]"), "");
}

}  // namespace
}  // namespace heed
