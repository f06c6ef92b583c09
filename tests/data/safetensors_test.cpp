#include "heed/data/safetensors.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "data/scratch.hpp"
#include "heed/base/file.hpp"
#include "heed/data/safetensors_header.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;
using Named = std::vector<std::pair<std::string, torch::Tensor>>;

/// Equal to the last bit, NaN included.
bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.numel() == 0 ||
          std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(), a.nbytes()) == 0);
}

Named one_of_each_type() {
  Named tensors;
  int index = 0;
  for (const auto type :
       {torch::kBool, torch::kUInt8, torch::kFloat64, torch::kInt8, torch::kFloat32, torch::kInt16,
        torch::kFloat16, torch::kInt64, torch::kBFloat16, torch::kInt32}) {
    tensors.emplace_back(fmt::format("t{}", index++), torch::arange(-3, 4).to(type).reshape({7}));
  }
  return tensors;
}

TEST(SafeTensors, EveryTypeSurvives) {
  const Scratch scratch;
  const auto path = scratch.folder() / "w.safetensors";
  const Named tensors = one_of_each_type();
  write_safetensors(path, tensors, {{"epoch", "3"}, {"note", "é \" \n"}});
  const SafeTensors read = read_safetensors(path);
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors)
    EXPECT_TRUE(same_bits(read.tensors.at(name), tensor)) << name;
  EXPECT_EQ(read.metadata,
            (std::map<std::string, std::string>{{"epoch", "3"}, {"note", "é \" \n"}}));
}

TEST(SafeTensors, ShapesStridesAndNonFiniteValuesSurvive) {
  const Scratch scratch;
  const auto path = scratch.folder() / "w.safetensors";
  const float inf = std::numeric_limits<float>::infinity();
  const Named tensors = {{"scalar", torch::tensor(2.5)},
                         {"empty", torch::empty({0, 4})},
                         {"transposed", torch::arange(6).reshape({2, 3}).t()},
                         {"slice", torch::arange(20.0f).reshape({4, 5}).slice(1, 1, 4, 2)},
                         {"broadcast", torch::ones({1, 3}).expand({2, 3})},
                         {"learned", torch::ones({2}, torch::requires_grad())},
                         {"limits", torch::tensor({inf, -inf, std::nanf(""), -0.0f, 1e-45f})}};
  write_safetensors(path, tensors);
  const SafeTensors read = read_safetensors(path);
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(same_bits(read.tensors.at(name), tensor.detach())) << name;
    EXPECT_FALSE(read.tensors.at(name).requires_grad()) << name;
  }
}

TEST(SafeTensors, NoTensorsIsAFileToo) {
  const Scratch scratch;
  write_safetensors(scratch.folder() / "none", {});
  EXPECT_TRUE(read_safetensors(scratch.folder() / "none").tensors.empty());
}

TEST(SafeTensors, EachTensorIsAlignedInTheFile) {
  const Scratch scratch;
  const auto path = scratch.folder() / "w.safetensors";
  write_safetensors(path, one_of_each_type());
  const auto header = parse_safetensors(read_file(path), "w");
  for (const auto& entry : header.entries) {
    EXPECT_EQ((header.data_begin + entry.begin) % safetensors_dtype_size(entry.dtype), 0u)
        << entry.name;
  }
}

TEST(SafeTensors, TheSameTensorsGiveTheSameBytes) {
  const Scratch scratch;
  write_safetensors(scratch.folder() / "a", one_of_each_type(), {{"k", "v"}});
  write_safetensors(scratch.folder() / "b", one_of_each_type(), {{"k", "v"}});
  EXPECT_EQ(read_file(scratch.folder() / "a"), read_file(scratch.folder() / "b"));
}

TEST(SafeTensors, AFileCutOrChangedAtAnyByteIsAnInputErrorThatNamesIt) {
  const Scratch scratch;
  const auto path = scratch.folder() / "w.safetensors";
  write_safetensors(path, {{"w", torch::arange(6.0f)}, {"flag", torch::tensor({true, false})}});
  const std::string bytes = read_file(path);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::string cut = scratch.write("cut", bytes.substr(0, i));
    expect_parts(message_of([&] { read_safetensors(cut); }), {cut + ": "});
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    const std::string altered = scratch.write("altered", changed);
    expect_parts(message_of([&] { read_safetensors(altered); }), {altered + ": "});
  }
}

TEST(SafeTensors, ABoolOfAnotherProgramMustBeZeroOrOne) {
  const Scratch scratch;
  const std::string header = R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const std::string sound = scratch.write("sound", bytes + header + std::string("\x01\x00", 2));
  EXPECT_TRUE(torch::equal(read_safetensors(sound).tensors.at("m"), torch::tensor({true, false})));
  const std::string broken = scratch.write("broken", bytes + header + "\x01\x02");
  expect_parts(message_of([&] { read_safetensors(broken); }), {broken, "'m'", "BOOL"});
}

TEST(SafeTensors, WhatCannotBeWrittenIsAnInputErrorAndLeavesTheOldFile) {
  const Scratch scratch;
  const auto path = scratch.folder() / "w.safetensors";
  write_safetensors(path, {{"w", torch::ones({2})}});
  const torch::Tensor w = torch::ones({2});
  expect_parts(message_of([&] {
                 write_safetensors(path, {{"u", torch::Tensor()}});
               }),
               {"'u'", "defined"});
  expect_parts(message_of([&] {
                 write_safetensors(path, {{"c", w.to(torch::kComplexFloat)}});
               }),
               {"'c'", "Complex"});
  expect_parts(message_of([&] {
                 write_safetensors(path, {{"s", w.to_sparse()}});
               }),
               {"'s'", "sparse"});
  expect_parts(message_of([&] { write_safetensors(path, {{"w", w}, {"w", w}}); }), {"'w'"});
  expect_parts(message_of([&] {
                 write_safetensors(scratch.folder() / "no" / "w", {{"w", w}});
               }),
               {"no/w"});
  EXPECT_TRUE(torch::equal(read_safetensors(path).tensors.at("w"), w));
}

TEST(SafeTensors, AMissingFileIsAnInputError) {
  expect_parts(message_of([] { read_safetensors("no/such.safetensors"); }),
               {"no/such.safetensors"});
}

}  // namespace
}  // namespace heed
