#include <array>

#include "data/generate.hpp"
#include "heed/data/language.hpp"

namespace heed {
namespace {

constexpr std::array<std::string_view, 12> kPhonemes = {"aa", "eh", "iy", "ow", "uw", "s",
                                                        "sh", "t",  "k",  "m",  "n",  "l"};
constexpr std::int64_t kFrame = 8;
constexpr std::uint64_t kVoice = 20150101;  // one voice, whatever the corpus' seed

/// Normal enough, and the same bits everywhere: a sum of twelve uniform numbers.
float noise(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return static_cast<float>(sum);
}

using Prototypes = std::array<std::array<float, kFrame>, kPhonemes.size()>;

const Prototypes& prototypes() {
  static const Prototypes table = [] {
    Random random(kVoice);
    Prototypes result;
    for (auto& prototype : result) {
      for (float& value : prototype) value = noise(random);
    }
    return result;
  }();
  return table;
}

void add_frames(Random& random, std::size_t count, const std::array<float, kFrame>& centre,
                float weight, Example& example) {
  for (std::size_t i = 0; i < count; ++i) {
    for (const float value : centre)
      example.values["frames"].data.push_back(value + 0.7f * noise(random));
    example.gold["frames"].push_back(weight);
  }
}

Example utterance(Random& random) {
  Example example;
  example.values["frames"].width = kFrame;
  const std::size_t length = 3 + random.below(6);
  std::size_t before = kPhonemes.size();
  for (std::size_t i = 0; i < length; ++i) {
    const bool silence = random.chance(0.3);
    if (silence) add_frames(random, 1 + random.below(3), {}, 0.0f, example);
    // A phoneme that follows itself without silence could not be told from a long one.
    std::size_t next = random.below(kPhonemes.size());
    while (!silence && next == before) next = random.below(kPhonemes.size());
    const std::size_t first = example.gold["frames"].size(), lasts = 2 + random.below(5);
    add_frames(random, lasts, prototypes()[next], 1.0f, example);
    for (std::size_t frame = first; frame < first + lasts; ++frame)
      example.links.emplace_back(example.target.size(), frame);
    example.target.emplace_back(kPhonemes[next]);
    before = next;
  }
  return example;
}

}  // namespace

Dataset phonemes(const CorpusOptions& options) {
  return generate("phonemes", {}, {{.name = "frames", .width = kFrame}}, options, utterance);
}

}  // namespace heed
