// The option parser and the lookup, without torch, so that the sanitizers see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/attention/registry.hpp"
#include "heed/attention/registry_json.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

using testing::HasSubstr;

PartInfo toy() {
  return {
      .id = "toy",
      .group = Group::align,
      .title = "Toy",
      .formula = "x",
      .paper = "–",
      .advice = "none",
      .options = {
          {.name = "alpha", .fallback = 1.5, .doc = "a number", .min = 1, .max = 4},
          {.name = "mode",
           .fallback = std::string("a"),
           .doc = "a choice",
           .choices = {"alpha", "beta"}},
          {.name = "k", .fallback = std::int64_t{2}, .doc = "a whole number", .min = 1, .max = 9},
          {.name = "flag", .fallback = false, .doc = "a flag"}}};
}

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, DefaultsFillInAndWholeNumbersAreNumbers) {
  const Options options = resolve(toy(), {{"alpha", std::int64_t{2}}, {"flag", true}}, "config");
  EXPECT_EQ(get<double>(options, "alpha"), 2.0);
  EXPECT_EQ(get<std::int64_t>(options, "k"), 2);
  EXPECT_TRUE(get<bool>(options, "flag"));
}

TEST(Options, MistakesNameTheOptionAndTheRemedy) {
  const auto error = [](Options given) {
    return error_of([&] { resolve(toy(), given, "f.toml:3"); });
  };
  EXPECT_THAT(error({{"alfa", 1.0}}),
              HasSubstr("f.toml:3: 'toy' has no option 'alfa'; did you mean 'alpha'?"));
  EXPECT_THAT(error({{"alpha", std::string("x")}}),
              HasSubstr("'alpha' is \"x\", a number is needed"));
  EXPECT_THAT(error({{"alpha", 9.0}}), HasSubstr("needed is 1 … 4"));
  EXPECT_THAT(error({{"alpha", std::nan("")}}), HasSubstr("needed is 1 … 4"));
  EXPECT_THAT(error({{"k", 2.5}}), HasSubstr("a whole number is needed"));
  EXPECT_THAT(error({{"mode", std::string("betta")}}), HasSubstr("did you mean 'beta'?"));
  EXPECT_THAT(error({{"flag", std::int64_t{1}}}), HasSubstr("true or false is needed"));
}

TEST(Lookup, SuggestsTheNearestIdAndRefusesWhatIsOnlyPlanned) {
  PartInfo later = toy();
  later.id = "later";
  later.status = Status::planned;
  const Registry registry({toy(), later});
  EXPECT_THAT(error_of([&] { registry.find(Group::align, "toi"); }),
              HasSubstr("unknown align 'toi'; did you mean 'toy'?"));
  EXPECT_EQ(registry.find_built(Group::align, "toy").title, "Toy");
  EXPECT_THAT(error_of([&] { registry.find_built(Group::align, "later"); }),
              HasSubstr("'later' is planned, not built yet; built today: toy"));
}

TEST(Lookup, AnIdInTwoGroupsNeedsItsGroup) {
  PartInfo other = toy();
  other.group = Group::queries;
  const Registry registry({toy(), other});
  EXPECT_THAT(error_of([&] { registry.find("toy"); }), HasSubstr("say align/toy or queries/toy"));
  EXPECT_EQ(registry.find("queries/toy").group, Group::queries);
}

TEST(Spec, ReadsBothFormsAndNothingElse) {
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(spec_from_json(Json("dot"), "score").id, "dot");
  const PartSpec spec =
      spec_from_json(Json::parse(R"({"id": "toy", "alpha": 1.25, "k": 3, "flag": true})"), "align");
  EXPECT_EQ(std::get<double>(spec.options.at("alpha")), 1.25);
  EXPECT_EQ(std::get<std::int64_t>(spec.options.at("k")), 3);
  for (const char* wrong : {"3", "[]", "{}", R"({"id": 3})", R"({"id": "a", "b": [1]})", "null"}) {
    EXPECT_NE(error_of([&] { spec_from_json(Json::parse(wrong), "score"); }), "no error") << wrong;
  }
}

}  // namespace
}  // namespace heed
