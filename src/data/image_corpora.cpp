// Generated pictures, in patches: one shape to find, one to follow, many to count.
#include <array>
#include <cmath>

#include "data/images.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

constexpr std::int64_t kPatch = 4;  // pixels a side

/// A picture that is drawn pixel by pixel and read patch by patch. A drawn pixel marks its patch.
class Canvas {
 public:
  explicit Canvas(std::int64_t patches)
      : patches_(patches),
        side_(patches * kPatch),
        pixels_(static_cast<std::size_t>(side_ * side_), 0.0f),
        marks_(static_cast<std::size_t>(patches * patches), 0.0f) {}

  std::int64_t side() const { return side_; }

  void noise(Random& random, double share) {
    for (float& pixel : pixels_) {
      if (random.chance(share)) pixel = static_cast<float>(0.2 + 0.6 * random.uniform());
    }
  }
  void draw(std::int64_t row, std::int64_t column, float light) {
    if (row < 0 || column < 0 || row >= side_ || column >= side_) return;
    pixels_[static_cast<std::size_t>(row * side_ + column)] = light;
    marks_[static_cast<std::size_t>(row / kPatch * patches_ + column / kPatch)] = 1.0f;
  }

  /// Appends the patches, row by row, to an input of an example.
  void add_to(Example& example, const std::string& input) const {
    Values& values = example.values[input];
    values.width = kPatch * kPatch;
    for (std::int64_t patch = 0; patch < patches_ * patches_; ++patch) {
      const std::int64_t top = patch / patches_ * kPatch, left = patch % patches_ * kPatch;
      for (std::int64_t i = 0; i < kPatch * kPatch; ++i) {
        const std::int64_t at = (top + i / kPatch) * side_ + left + i % kPatch;
        values.data.push_back(pixels_[static_cast<std::size_t>(at)]);
      }
    }
    auto& gold = example.gold[input];
    gold.insert(gold.end(), marks_.begin(), marks_.end());
  }

 private:
  std::int64_t patches_, side_;
  std::vector<float> pixels_, marks_;
};

using Form = bool (*)(std::int64_t row, std::int64_t column);
constexpr std::int64_t kSize = 7;  // of a shape, in pixels

struct NamedForm {
  const char* name;
  Form inside;
};

bool on_rim(std::int64_t row, std::int64_t column) {
  return row == 0 || column == 0 || row == kSize - 1 || column == kSize - 1;
}
constexpr std::array kForms = {
    NamedForm{"cross", [](std::int64_t r, std::int64_t c) { return r == c || r + c == kSize - 1; }},
    NamedForm{"plus",
              [](std::int64_t r, std::int64_t c) { return r == kSize / 2 || c == kSize / 2; }},
    NamedForm{"ring", on_rim},
    NamedForm{"stripes", [](std::int64_t r, std::int64_t) { return r % 2 == 0; }},
};

void draw_form(Canvas& canvas, const NamedForm& form, std::int64_t top, std::int64_t left) {
  for (std::int64_t r = 0; r < kSize; ++r) {
    for (std::int64_t c = 0; c < kSize; ++c) {
      if (form.inside(r, c)) canvas.draw(top + r, left + c, 1.0f);
    }
  }
}

std::int64_t place(Random& random, std::int64_t room) {
  return static_cast<std::int64_t>(random.below(static_cast<std::size_t>(room)));
}

Example shape_example(Random& random) {
  const NamedForm& form = kForms[random.below(kForms.size())];
  Canvas canvas(6);
  canvas.noise(random, 0.15);
  const std::int64_t room = canvas.side() - kSize + 1;
  const std::int64_t top = place(random, room), left = place(random, room);
  draw_form(canvas, form, top, left);
  Example example{.id = "", .inputs = {}, .label = form.name, .gold = {}};
  canvas.add_to(example, "image");
  return example;
}

constexpr std::int64_t kFrames = 6;

struct Motion {
  const char* name;
  std::int64_t down, right;
};
constexpr std::array kMotions = {Motion{"down", 1, 0}, Motion{"left", 0, -1}, Motion{"right", 0, 1},
                                 Motion{"still", 0, 0}, Motion{"up", -1, 0}};

Example video_example(Random& random) {
  const Motion& motion = kMotions[random.below(kMotions.size())];
  const NamedForm& form = kForms[random.below(kForms.size())];
  constexpr std::int64_t kStep = 2, kWay = kStep * (kFrames - 1);
  Example example{.id = "", .inputs = {}, .label = motion.name, .gold = {}};
  const std::int64_t room = 6 * kPatch - kSize + 1 - kWay;
  std::int64_t top = place(random, room) + (motion.down < 0 ? kWay : 0);
  std::int64_t left = place(random, room) + (motion.right < 0 ? kWay : 0);
  for (std::int64_t frame = 0; frame < kFrames; ++frame) {
    Canvas canvas(6);
    canvas.noise(random, 0.1);
    draw_form(canvas, form, top, left);
    canvas.add_to(example, "film");
    top += kStep * motion.down;
    left += kStep * motion.right;
  }
  example.levels["film"] = {std::vector<std::int64_t>(kFrames, 36)};
  return example;
}

Example crowd_example(Random& random) {
  constexpr std::int64_t kMost = 12;
  Canvas canvas(6);
  canvas.noise(random, 0.1);
  Example example{.id = "", .inputs = {}, .label = "", .gold = {}};
  std::vector<std::int64_t> cells(36);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = static_cast<std::int64_t>(i);
  random.shuffle(std::span(cells));
  const std::int64_t many = place(random, kMost + 1);
  example.number = static_cast<double>(many);
  for (std::int64_t dot = 0; dot < many; ++dot) {  // one a patch: none hides another
    const std::int64_t cell = cells[static_cast<std::size_t>(dot)];
    const std::int64_t top = cell / 6 * kPatch + place(random, 3),
                       left = cell % 6 * kPatch + place(random, 3);
    for (const std::int64_t i : {0, 1, 2, 3}) canvas.draw(top + i / 2, left + i % 2, 1.0f);
  }
  canvas.add_to(example, "image");
  return example;
}

Dataset drawn(const CorpusOptions& options, const std::string& name, InputInfo input,
              Example (*draw)(Random&)) {
  Dataset data;
  data.name = name;
  data.inputs = {std::move(input)};
  const auto fill = [&](std::vector<Example>& part, const char* part_name, std::size_t size,
                        std::uint64_t stream) {
    Random random(Random::derive(options.seed, stream));
    for (std::size_t i = 0; i < size; ++i) {
      part.push_back(draw(random));
      part.back().id = fmt::format("{}-{}", part_name, i + 1);
    }
  };
  fill(data.test, "test", options.test, 3);
  fill(data.val, "val", options.val, 2);
  fill(data.train, "train", options.train, 1);
  return data;
}

}  // namespace

Dataset shapes(const CorpusOptions& options) {
  Dataset data = drawn(options, "shapes",
                       {.name = "image", .width = kPatch * kPatch, .grid = {6, 6}}, shape_example);
  for (const NamedForm& form : kForms) data.labels.emplace_back(form.name);
  return data;
}

Dataset video(const CorpusOptions& options) {
  Dataset data =
      drawn(options, "video",
            {.name = "film", .width = kPatch * kPatch, .levels = 1, .grid = {kFrames, 6, 6}},
            video_example);
  for (const Motion& motion : kMotions) data.labels.emplace_back(motion.name);
  return data;
}

Dataset crowd(const CorpusOptions& options) {
  return drawn(options, "crowd", {.name = "image", .width = kPatch * kPatch, .grid = {6, 6}},
               crowd_example);
}

}  // namespace heed
