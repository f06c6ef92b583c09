#include "heed/data/word_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

#include "data/scratch.hpp"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::expect_parts;
using ::testing::IsEmpty;
using testing::message_of;
using testing::Scratch;

std::string packed(const Scratch& scratch, const std::string& name, const std::string& text) {
  const std::string path = (scratch.folder() / name).string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

TEST(WordTable, ReadsGloveAndWord2VecAndTheirPackedForms) {
  const Scratch scratch;
  const std::string rows = "the 0.5 -1.25e-3\n, 2 3\r\nß 4 -5 \n";
  for (const std::string& path :
       {scratch.write("glove.txt", rows), scratch.write("w2v.vec", "3 2\n" + rows),
        packed(scratch, "glove.txt.gz", rows)}) {
    const WordTable table = read_word_table(path);
    EXPECT_THAT(table.words, ElementsAre("the", ",", "ß")) << path;
    EXPECT_THAT(table.values, ElementsAre(0.5f, -1.25e-3f, 2, 3, 4, -5)) << path;
    EXPECT_EQ(table.width, 2u);
  }
}

TEST(WordTable, LinesAreWholeWhereverTheChunksEnd) {
  const Scratch scratch;
  constexpr std::size_t kChunk = 1 << 18;
  for (const std::size_t length : {kChunk - 5, kChunk - 4, kChunk - 3, kChunk, 2 * kChunk + 1}) {
    const std::string word(length, 'w'), rows = word + " 1 2\nlast 3 4";
    for (const std::string& path : {scratch.write("v", rows), packed(scratch, "v.gz", rows)}) {
      const WordTable table = read_word_table(path);
      EXPECT_THAT(table.words, ElementsAre(word, "last")) << length;
      EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4)) << length;
    }
  }
}

TEST(WordTable, AByteOrderMarkIsNoPartOfAWord) {
  const Scratch scratch;
  EXPECT_THAT(read_word_table(scratch.write("v", "\xEF\xBB\xBFgood 1\nfood 2\n")).words,
              ElementsAre("good", "food"));
  EXPECT_THAT(read_word_table(scratch.write("v",
                                            "\xEF\xBB\xBF"
                                            "1 1\nfood 2\n"))
                  .words,
              ElementsAre("food"));
}

TEST(WordTable, WhatIsTooSmallForAFloatIsZero) {
  const Scratch scratch;
  const WordTable table =
      read_word_table(scratch.write("v", "a 1e-60 -1e-60 1e-40 3.4028235e38\n"));
  EXPECT_THAT(table.values, ElementsAre(0, 0, 1e-40f, 3.4028235e38f));
}

TEST(WordTable, TheFirstOfAWordIsKeptAndTheRestCounted) {
  const Scratch scratch;
  const WordTable table = read_word_table(scratch.write("v", "a 1\nb 2\na 3\n"));
  EXPECT_THAT(table.words, ElementsAre("a", "b"));
  EXPECT_THAT(table.values, ElementsAre(1, 2));
  EXPECT_EQ(table.repeated, 1u);
}

TEST(WordTable, ALimitStopsReading) {
  const Scratch scratch;
  const WordTable table =
      read_word_table(scratch.write("v", "a 1\nb 2\nnot a row\n"), {.limit = 2});
  EXPECT_THAT(table.words, ElementsAre("a", "b"));
}

TEST(WordTable, MistakesNameFileAndLine) {
  const Scratch scratch;
  const auto read = [&](std::string_view text) {
    const std::string path = scratch.write("v.txt", text);
    return message_of([&] { read_word_table(path); });
  };
  expect_parts(read(""), {"v.txt:1:"});
  expect_parts(read("3 2\n"), {"v.txt:1:"});
  expect_parts(read("a 1 2\nb 1\n"), {"v.txt:2:", "1 numbers", "2"});
  expect_parts(read("a 1 2\nb 1 2 3\n"), {"v.txt:2:", "3 numbers"});
  expect_parts(read("a 1\nb x\n"), {"v.txt:2:", "'x'"});
  expect_parts(read("a 1\nb 1x\n"), {"v.txt:2:", "'1x'"});
  expect_parts(read("a 1\nb nan\n"), {"v.txt:2:", "'nan'"});
  expect_parts(read("a 1\nb inf\n"), {"v.txt:2:", "'inf'"});
  expect_parts(read("a 1\nb 1e99\n"), {"v.txt:2:", "'1e99'"});
  expect_parts(read("a 1\nb 1e39\n"), {"v.txt:2:", "'1e39'"});
  expect_parts(read({"a 1\nst\0aff 2\nb 3\n", 18}), {"v.txt:2:", "NUL"});
  expect_parts(read("a 1\nb\n"), {"v.txt:2:"});
  expect_parts(read("a 1\n\nb 2\n"), {"v.txt:2:"});
  expect_parts(read("a 1\nb  2\n"), {"v.txt:2:"});
  expect_parts(read("a 1\n\xFF 2\n"), {"v.txt:2:", "UTF-8"});
  for (const auto& read_table : {read_word_table, read_wink_table}) {
    expect_parts(message_of([&] { read_table("no/v.txt", {}); }), {"no/v.txt", "No such file"});
    expect_parts(message_of([&] { read_table("/dev/null/v.txt", {}); }), {"Not a directory"});
    expect_parts(message_of([&] { read_table(scratch.folder(), {}); }),
                 {scratch.folder().string(), "folder"});
  }
}

TEST(WordTable, APackedFileCutShortIsAnError) {
  const Scratch scratch;
  std::string rows;
  for (int i = 0; i < 3000; ++i) rows += fmt::format("w{} {} {}\n", i, i * 7919 % 1000, i % 17);
  const std::string path = packed(scratch, "v.gz", rows);
  EXPECT_EQ(read_word_table(path).words.size(), 3000u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_parts(message_of([&] { read_word_table(path); }), {"v.gz:"});
}

TEST(WordTable, APackedFileMayBeSeveralAndNothingElse) {
  const Scratch scratch;
  const auto bytes = [&](const std::string& rows) {
    std::ifstream file(packed(scratch, "one.gz", rows), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string two = bytes("a 1\nb") + bytes(" 2\n");
  EXPECT_THAT(read_word_table(scratch.write("v.gz", two)).words, ElementsAre("a", "b"));
  const std::string path = scratch.write("v.gz", two + "garbage");
  expect_parts(message_of([&] { read_word_table(path); }), {"v.gz:3:", "follows"});
}

constexpr const char* kWink =
    R"({"precision":8,"size":2,"dimensions":2,"words":["the","\"é"],"vectors":{"the":[0.5,-1,9.5,0],"\"é":[3,4e-1,9,1]},"unkVector":[0,0,0,-1]})";

TEST(WinkTable, KeepsTheDimensionsAndLeavesOutTheRest) {
  const Scratch scratch;
  const WordTable table = read_wink_table(scratch.write("v.json", kWink));
  EXPECT_THAT(table.words, ElementsAre("the", "\"é"));
  EXPECT_THAT(table.values, ElementsAre(0.5f, -1, 3, 0.4f));
  EXPECT_EQ(read_wink_table(scratch.write("v.json", kWink), {.limit = 1}).words.size(), 1u);
}

TEST(WinkTable, MistakesNameTheFileAndTheWord) {
  const Scratch scratch;
  const auto read = [&](std::string_view text) {
    const std::string path = scratch.write("v.json", text);
    return message_of([&] { read_wink_table(path); });
  };
  expect_parts(read(""), {"v.json:1:", "not JSON"});
  expect_parts(read("{}"), {"v.json:1:"});
  expect_parts(read(R"({"vectors":{"a":[1]}})"), {"v.json:1:", "dimensions"});
  expect_parts(read(R"({"dimensions":2,"vectors":{"a":[1,2],"b":[1]}})"),
               {"'b'", "1 numbers", "2"});
  for (const char* width : {"0", "1", "2", "99999999999"}) {
    expect_parts(
        read(fmt::format(R"({{"dimensions":2,"vectors":{{"a":[1,2]}},"dimensions":{}}})", width)),
        {"v.json:1:", "second time"});
  }
  expect_parts(read(R"({"dimensions":2,"dimensions":1,"vectors":{"a":[1,2]}})"), {"second time"});
  expect_parts(
      read(R"({"dimensions":2,"vectors":{"a":[1,2]},"dimensions":3,"vectors":{"b":[1,2,3]}})"),
      {"second time"});
  expect_parts(read(R"({"dimensions":1,"vectors":{"b":["x"]}})"), {"'b'", "a string"});
  expect_parts(read(R"({"dimensions":1,"vectors":{"b":[null]}})"), {"'b'", "null"});
  expect_parts(read(R"({"dimensions":1,"vectors":{"b":[[1]]}})"), {"'b'", "a list"});
  expect_parts(read(R"({"dimensions":1,"vectors":{"b":{"x":1}}})"), {"'b'", "an object"});
  expect_parts(read(R"({"dimensions":1,"vectors":{"b":7}})"), {"'b'", "out of its list"});
  expect_parts(read(R"({"dimensions":1,"vectors":{"b":[1e99]}})"), {"'b'", "finite"});
  expect_parts(read("{\"dimensions\":1,\"vectors\":{\"\xFF\":[1]}}"), {"v.json:1:", "byte"});
  for (std::size_t cut = 1; cut < std::string_view(kWink).size(); ++cut) {
    expect_parts(read(std::string_view(kWink).substr(0, cut)), {"v.json:1:"});
  }
}

TEST(StandIns, AreTheFirstRuleThatFindsSomething) {
  const std::set<std::string, std::less<>> table = {
      "the",    "The",     "not", "is",    "an",    "me",   "do",    "\"",       "(",
      "twelve", "-",       "it",  "forty", "five",  "well", "known", "thousand", "hundred",
      "good",   "million", "!",   "gb",    "first", "and",  "or",    "cannot",   "h1n1"};
  const auto of = [&](std::string_view word) {
    return stand_ins(word, [&](std::string_view w) { return table.contains(w); });
  };
  EXPECT_THAT(of("The"), ElementsAre("The"));
  EXPECT_THAT(of("GOOD"), ElementsAre("good"));
  EXPECT_THAT(of("n't"), ElementsAre("not"));
  EXPECT_THAT(of("'s"), ElementsAre("is"));
  EXPECT_THAT(of("A"), ElementsAre("an"));
  EXPECT_THAT(of("i"), ElementsAre("me"));
  EXPECT_THAT(of("``"), ElementsAre("\""));
  EXPECT_THAT(of("-LRB-"), ElementsAre("("));
  EXPECT_THAT(of("--"), ElementsAre("-"));
  EXPECT_THAT(of("12"), ElementsAre("twelve"));
  EXPECT_THAT(of("45"), ElementsAre("forty", "five"));
  EXPECT_THAT(of("450"), ElementsAre("hundred"));
  EXPECT_THAT(of("1,234.5"), ElementsAre("thousand"));
  EXPECT_THAT(of("12345678"), ElementsAre("million"));
  EXPECT_THAT(of("$12"), ElementsAre("twelve"));
  EXPECT_THAT(of("h1n1"), ElementsAre("h1n1"));
  EXPECT_THAT(of("good."), ElementsAre("good"));
  EXPECT_THAT(of("don't"), ElementsAre("do", "not"));
  EXPECT_THAT(of("Can't"), ElementsAre("cannot"));
  EXPECT_THAT(of("it's"), ElementsAre("it", "is"));
  EXPECT_THAT(of("well-known"), ElementsAre("well", "known"));
  EXPECT_THAT(of("well-zzz"), ElementsAre("well"));
  EXPECT_THAT(of("and/or"), ElementsAre("and", "or"));
  EXPECT_THAT(of("zzz"), IsEmpty());
  EXPECT_THAT(of("!!"), ElementsAre("!"));
  EXPECT_THAT(of("??"), IsEmpty());
  EXPECT_THAT(of("12gb"), ElementsAre("twelve", "gb"));
  EXPECT_THAT(of("1st"), ElementsAre("first"));
  EXPECT_THAT(of("5th"), ElementsAre("five"));
  EXPECT_THAT(of(""), IsEmpty());
}

}  // namespace
}  // namespace heed
