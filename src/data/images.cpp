// Pictures: idx files, and PNG files that a table names.
#include "data/images.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>

#include "data/gzip.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/image.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kImageColumns = {"file", "label", "split", "id"};
const std::vector<std::string> kCountColumns = {"file", "number", "split", "id"};

/// Width, height and channels of the first picture of a load, which all others must have.
class CommonSize {
 public:
  void check(std::size_t width, std::size_t height, std::size_t channels,
             const std::string& where) {
    const std::array size = {width, height, channels};
    if (first_.empty()) {
      first_ = where;
      size_ = size;
    }
    HEED_CHECK(size == size_, "{}: {}, but {} has {}; scale the pictures to one size", where,
               text(size), first_, text(size_));
  }

 private:
  static std::string text(const std::array<std::size_t, 3>& size) {
    return fmt::format("{}×{} pixels in {} channel{}", size[0], size[1], size[2],
                       size[2] == 1 ? "" : "s");
  }

  std::array<std::size_t, 3> size_ = {};
  std::string first_;  // where it stands
};

/// A picture as an input. Its rows stand as a level until the grid of the whole data is known.
void set_image(Example& example, std::size_t width, std::size_t height, std::size_t channels,
               std::string_view bytes) {
  Values& values = example.values["image"];
  values.width = static_cast<std::int64_t>(channels);
  values.data.reserve(bytes.size());
  for (const char byte : bytes)
    values.data.push_back(static_cast<float>(static_cast<unsigned char>(byte)) / 255.0f);
  example.levels["image"] = {std::vector<std::int64_t>(height, static_cast<std::int64_t>(width))};
}

/// An idx file: magic number, sizes (all big-endian), then bytes.
struct Idx {
  fs::path file;
  std::string bytes;
  std::vector<std::size_t> sizes;

  Idx(fs::path path, std::size_t axes) : file(std::move(path)), bytes(read_unpacked(file)) {
    const std::size_t header = 4 * (axes + 1);
    HEED_CHECK(bytes.size() >= header && number(0) == 0x800 + axes,
               "{}: no idx file of bytes in {} axes; its magic number must be {}; fetch it again",
               file.string(), axes, 0x800 + axes);
    for (std::size_t axis = 0; axis < axes; ++axis) sizes.push_back(number(axis + 1));
    HEED_CHECK(bytes.size() - header == total(),
               "{}: {} bytes follow the header, {} says {}; the file is damaged, fetch it again",
               file.string(), bytes.size() - header, join_sizes(), total());
    bytes.erase(0, header);
  }

 private:
  std::size_t number(std::size_t place) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes[4 * place + i]);
    return value;
  }
  /// The product of the sizes; of those that no file has, something larger than any file.
  std::size_t total() const {
    constexpr std::size_t kLargest = std::size_t{1} << 48;
    std::size_t product = 1;
    for (const std::size_t size : sizes) {
      HEED_CHECK(size > 0, "{}: its sizes are {}; there is nothing in it", file.string(),
                 join_sizes());
      product = size > kLargest / product ? kLargest : product * size;
    }
    return product;
  }
  std::string join_sizes() const {
    std::vector<std::string> parts;
    for (const std::size_t size : sizes) parts.push_back(std::to_string(size));
    return join(parts, "×");
  }
};

bool is_idx(const fs::path& file) { return file.string().find(".idx3") != std::string::npos; }

/// train-images.idx3.gz → train-labels.idx1.gz
fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = name.find(from);
    HEED_CHECK(at != std::string::npos,
               "{}: its labels are looked for under the name with 'labels' for 'images' and 'idx1' "
               "for 'idx3'; '{}' is not in it",
               images.string(), from);
    name.replace(at, from.size(), to);
  };
  replace("images", "labels");
  replace("idx3", "idx1");
  return images.parent_path() / name;
}

void read_idx(const fs::path& file, FileNeeds needs, CommonSize& common, const TakePlaced& take) {
  const Idx images(file, 3);
  std::optional<Idx> labels;
  const fs::path beside = labels_beside(file);
  HEED_CHECK(!needs.label || is_there(beside), "{}: no such file; the labels of {} are needed",
             beside.string(), file.filename().string());
  if (is_there(beside)) labels.emplace(beside, 1);
  HEED_CHECK(!labels || labels->sizes[0] == images.sizes[0],
             "{}: {} labels for {} images of {}; fetch both files of one part", beside.string(),
             labels->sizes[0], images.sizes[0], file.string());
  common.check(images.sizes[2], images.sizes[1], 1, file.string());
  const std::size_t pixels = images.sizes[1] * images.sizes[2];
  for (std::size_t i = 0; i < images.sizes[0]; ++i) {
    Placed placed{.example = {}, .split = "", .line = i + 1};
    set_image(placed.example, images.sizes[2], images.sizes[1], 1,
              std::string_view(images.bytes).substr(i * pixels, pixels));
    if (labels) placed.example.label = std::to_string(static_cast<unsigned char>(labels->bytes[i]));
    take(std::move(placed));
  }
}

metrics::Image read_png(const fs::path& png, const std::string& where) {
  try {
    return metrics::read_image(png);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

/// The number of a picture, a float in the end; NaN where it is not known.
double picture_number(const std::string& text, const std::string& where,
                      const std::string& column) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (text.empty()) return number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  HEED_CHECK(error == std::errc() && end == text.data() + text.size() &&
                 std::isfinite(static_cast<float>(number)),
             "{}: the {} is '{}'; a number is needed, at most 3e38", where, column, text);
  return number;
}

/// A table whose column `file` names a PNG, relative to the table's folder.
void read_png_table(const fs::path& file, const DataSource& source, FileNeeds needs,
                    const std::vector<std::string>& roles, CommonSize& common,
                    const TakePlaced& take) {
  std::vector<std::string> required = {"file"};
  if (needs.label) required.push_back(roles[1]);
  if (needs.split) required.emplace_back("split");
  const std::vector<Column> columns = wanted_columns(source, roles, required);
  for (const Row& row : read_table(file, columns)) {
    const std::string where = at_line(file, row.line);
    const auto cell = [&](std::size_t column) {
      return std::string(trim(row.cells[column].value_or("")));
    };
    const std::string answer = cell(1);
    HEED_CHECK(!needs.label || !answer.empty(), "{}: the {} is empty; fill it in or remove the row",
               where, columns[1].name);
    Placed placed{.example = {}, .split = cell(2), .line = row.line};
    placed.example.id = cell(3).empty() ? cell(0) : cell(3);
    if (roles[1] == "label") {
      placed.example.label = answer;
    } else {
      placed.example.number = picture_number(answer, where, columns[1].name);
    }
    HEED_CHECK(!cell(0).empty(), "{}: the {} is empty; fill it in or remove the row", where,
               columns[0].name);
    const fs::path png = file.parent_path() / cell(0);
    HEED_CHECK(is_there(png), "{}: there is no file '{}'", where, png.string());
    const metrics::Image image = read_png(png, where);
    common.check(image.width, image.height, image.channels,
                 fmt::format("{}: '{}'", where, png.string()));
    set_image(placed.example, image.width, image.height, image.channels,
              {reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
    take(std::move(placed));
  }
}

/// The grid of pictures of one size. Their rows leave the examples for it.
void take_grid(std::vector<Example>& examples, InputInfo& info) {
  for (Example& example : examples) {
    const auto& rows = example.levels.at("image")[0];
    info.grid = {static_cast<std::int64_t>(rows.size()), rows.at(0)};
    info.width = example.values.at("image").width;
    example.levels.erase("image");
  }
}

/// Reads files whose pictures are all as large as the first it meets: one reader a load.
ReadPart picture_reader(const std::vector<std::string>& columns) {
  const auto common = std::make_shared<CommonSize>();
  return
      [=](const fs::path& file, const DataSource& source, FileNeeds needs, const TakePlaced& take) {
        if (!is_idx(file)) return read_png_table(file, source, needs, columns, *common, take);
        HEED_CHECK(columns[1] == "label", "{}: idx files hold labels; their kind is 'image'",
                   file.string());
        HEED_CHECK(!needs.split, "{}: an idx file has no split; give 'train' (and 'val', 'test')",
                   file.string());
        read_idx(file, needs, *common, take);
      };
}

DataKind picture_kind(const std::string& id, const std::string& doc,
                      const std::vector<std::string>& columns) {
  const auto fresh = [=] {
    return file_kind(id, doc, columns, {{.name = "image"}}, picture_reader(columns));
  };
  DataKind kind = fresh();
  kind.load = [=](const DataSource& source) {
    HEED_CHECK(source.max_length == 0, "task: max_length cuts texts; a picture is whole");
    Dataset data = fresh().load(source);
    for (auto* part : {&data.train, &data.val, &data.test}) {
      take_grid(*part, data.inputs[0]);
      for (const Example& example : *part) {
        HEED_CHECK(!std::isnan(example.number), "image '{}': it has no number to learn from",
                   example.id);
      }
    }
    return data;
  };
  kind.load_examples = [=](const std::string& file, const DataSource& source) {
    std::vector<Example> examples = fresh().load_examples(file, source);
    InputInfo info{.name = "image"};
    take_grid(examples, info);
    return examples;
  };
  return kind;
}

}  // namespace

DataKind image_kind() { return picture_kind("image", "a label for a picture", kImageColumns); }

DataKind count_kind() { return picture_kind("count", "a number for a picture", kCountColumns); }

}  // namespace heed
