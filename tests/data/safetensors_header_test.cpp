#include "heed/data/safetensors_header.hpp"

#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;

/// A file as another program writes it: no checksum.
std::string foreign(const std::string& header, std::size_t data_bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> 8 * i & 0xFF);
  return file + header + std::string(data_bytes, '\x01');
}

std::string sealed() {
  std::string file =
      safetensors_prefix({{.name = "w", .dtype = "F32", .shape = {2, 3}, .begin = 0, .end = 24},
                          {.name = "é\"x", .dtype = "U8", .shape = {}, .begin = 24, .end = 25}},
                         {{"epoch", "3"}, {"tricky", "\"heed.crc32\":\"00000000\""}});
  file += std::string("0123456789abcdefghijklmno");
  seal_safetensors(file);
  return file;
}

std::string reason(const std::string& file) {
  return message_of([&] { parse_safetensors(file, "run/weights.safetensors"); });
}

TEST(SafeTensorsHeader, ComesBackAsItWasWritten) {
  const std::string file = sealed();
  const SafeTensorsHeader header = parse_safetensors(file, "f");
  ASSERT_EQ(header.entries.size(), 2u);
  EXPECT_EQ(header.entries[0].name, "w");
  EXPECT_EQ(header.entries[0].dtype, "F32");
  EXPECT_EQ(header.entries[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header.entries[1].name, "é\"x");
  EXPECT_EQ(header.entries[1].begin, 24u);
  EXPECT_EQ(header.data_begin % 8, 0u);
  EXPECT_EQ(file.substr(header.data_begin), "0123456789abcdefghijklmno");
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{
                                 {"epoch", "3"}, {"tricky", "\"heed.crc32\":\"00000000\""}}));
}

TEST(SafeTensorsHeader, AFileCutAtAnyByteIsRefusedWithItsName) {
  const std::string file = sealed();
  for (std::size_t size = 0; size < file.size(); ++size) {
    expect_parts(reason(file.substr(0, size)),
                 {"run/weights.safetensors: not a sound safetensors file: "});
  }
  expect_parts(reason(file + "x"), {"1 bytes follow the last tensor"});
}

TEST(SafeTensorsHeader, AnyChangedByteIsRefused) {
  const std::string file = sealed();
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int flip : {0x01, 0x20, 0x80, 0xFF}) {
      std::string altered = file;
      altered[i] = static_cast<char>(altered[i] ^ flip);
      EXPECT_THROW(parse_safetensors(altered, "f"), InputError)
          << "byte " << i << " flipped by " << flip;
    }
  }
}

TEST(SafeTensorsHeader, TheChecksumIsCrc32OfTheFileWithItsDigitsZero) {
  // Known answer, by an implementation of our own: bit by bit, polynomial 0xEDB88320.
  std::string file = safetensors_prefix({}, {});
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : file) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  seal_safetensors(file);
  EXPECT_NE(file.find(fmt::format("\"heed.crc32\":\"{:08x}\"", ~crc)), file.npos) << file;
}

TEST(SafeTensorsHeader, AFileOfAnotherProgramNeedsNoChecksum) {
  const auto header = parse_safetensors(
      foreign(
          R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[0,3],"data_offsets":[2,2]},)"
          R"( "a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}  )",
          2),
      "f");
  ASSERT_EQ(header.entries.size(), 2u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.metadata.at("format"), "pt");
  EXPECT_TRUE(parse_safetensors(foreign("{}", 0), "f").entries.empty());
}

TEST(SafeTensorsHeader, EachMalformedTableIsRefusedWithItsReason) {
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  struct Case {
    std::string header;
    std::size_t bytes;
    const char* why;
  };
  const Case cases[] = {
      {"", 0, "does not start with"},
      {" {}", 0, "does not start with"},
      {"[]", 0, "does not start with"},
      {"{", 0, "not JSON"},
      {"{}x", 0, "not JSON"},
      {"{\"\xFF\":1}", 0, "not UTF-8"},
      {R"({"a":5})", 0, "not an object"},
      {R"({"__metadata__":5})", 0, "__metadata__"},
      {R"({"__metadata__":{"k":1}})", 0, "'k' is not a string"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "'k' comes twice"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "'a' comes twice"},
      {R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "no dtype"},
      {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "no shape"},
      {R"({"a":{"dtype":"U8","shape":[1]}})", 1, "no data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "more than"},
      {entry("3", "[1]", "[0,1]"), 1, "dtype of 'a' is not a string"},
      {entry("\"F8\"", "[1]", "[0,1]"), 1, "'F8'"},
      {entry("\"U8\"", "1", "[0,1]"), 1, "shape of 'a' is not a list"},
      {entry("\"U8\"", "[-1]", "[0,1]"), 1, "dimension of 'a'"},
      {entry("\"U8\"", "[1.0]", "[0,1]"), 1, "dimension of 'a'"},
      {entry("\"U8\"", "[1]", "[0,1.5]"), 1, "offset of 'a'"},
      {entry("\"U8\"", "[1]", "[0]"), 1, "two data_offsets"},
      {entry("\"U8\"", "[1]", "[1,0]"), 1, "ends before it begins"},
      {entry("\"U8\"", "[2]", "[0,1]"), 1, "1 bytes, its shape and dtype need 2"},
      {entry("\"F32\"", "[1]", "[0,1]"), 1, "need 4"},
      {entry("\"U8\"", "[2]", "[0,2]"), 1, "cut short"},
      {entry("\"U8\"", "[1]", "[1,2]"), 2, "gap before 'a'"},
      {entry("\"U8\"", "[1]", "[0,1]"), 2, "follow the last tensor"},
      {entry("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0, "too large"},
      {entry("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), 0, "too large"},
      {entry("\"U8\"", "[0,4294967296,2147483648]", "[0,0]"), 0, "too large"},
      {entry("\"F64\"", "[2305843009213693952]", "[0,0]"), 0, "too large"},
      {entry("\"U8\"", "[18446744073709551615]", "[0,18446744073709551615]"), 0, "too large"},
      {entry("\"U8\"", "[18446744073709551616]", "[0,1]"), 0, "dimension of 'a'"},
      {entry("\"U8\"", "[1]", "[18446744073709551615,0]"), 0, "ends before"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "'b' overlaps"},
      {R"({"__metadata__":{"heed.format":"1"}})", 0, "checksum is gone"},
      {R"({"__metadata__":{"heed.crc32":"00000000"}})", 0, "checksum does not agree"},
      {R"({"__metadata__":{"heed.crc32":"0"}})", 0, "checksum does not agree"},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.header);
    expect_parts(reason(foreign(wrong.header, wrong.bytes)),
                 {"run/weights.safetensors", wrong.why});
  }
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  expect_parts(reason(foreign(entry("\"U8\"", (ones + "]").c_str(), "[0,1]"), 1)),
               {"64 dimensions"});
}

TEST(SafeTensorsHeader, AnAbsurdHeaderLengthIsRefusedBeforeAnythingIsRead) {
  expect_parts(reason("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"), {"over the limit"});
  expect_parts(reason(std::string("\x03\0\0\0\0\0\0\0{}", 10)), {"claims 3 bytes, 2 are there"});
  expect_parts(reason(foreign(std::string(50'000, '{'), 0)), {"not JSON"});
}

TEST(SafeTensorsHeader, RandomChangesToAFileWithoutChecksumNeverBreakTheTable) {
  const std::string sound = foreign(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                    R"("b":{"dtype":"I8","shape":[3],"data_offsets":[16,19]}})",
                                    19);
  Random random(1);
  std::size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = sound;
    for (std::size_t k = 1 + random.below(3); k > 0; --k) {
      file[random.below(file.size() - 19)] = random.chance(0.7)
                                                 ? "0123456789,[]{}\":-"[random.below(18)]
                                                 : static_cast<char>(random.below(256));
    }
    try {
      const SafeTensorsHeader header = parse_safetensors(file, "f");
      std::uint64_t end = 0;
      for (const SafeTensorsEntry& entry : header.entries) {
        EXPECT_EQ(entry.begin, end);
        std::uint64_t bytes = safetensors_dtype_size(entry.dtype);
        for (const std::int64_t size : entry.shape) bytes *= static_cast<std::uint64_t>(size);
        EXPECT_EQ(entry.end - entry.begin, bytes);
        end = entry.end;
      }
      EXPECT_EQ(header.data_begin + end, file.size());
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000u);
}

TEST(SafeTensorsHeader, WritingRefusesNamesAndKeysTheFormatCannotHold) {
  const SafeTensorsEntry entry{.name = "a", .dtype = "U8", .shape = {0}};
  expect_parts(message_of([&] { safetensors_prefix({entry, entry}, {}); }), {"'a'"});
  expect_parts(message_of([] {
                 safetensors_prefix({{.name = "__metadata__", .dtype = "U8", .shape = {0}}}, {});
               }),
               {"__metadata__"});
  expect_parts(message_of([] { safetensors_prefix({}, {{"heed.crc32", "1"}}); }), {"heed.crc32"});
  expect_parts(message_of([] { safetensors_prefix({}, {{"k", "\xFF"}}); }), {"'k'", "UTF-8"});
}

}  // namespace
}  // namespace heed
