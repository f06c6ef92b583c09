// Pictures to vectors: patches, and a grid of convolutions.
#include "models/pictures.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "heed/base/error.hpp"
#include "heed/models/config.hpp"
#include "heed/models/feature.hpp"

namespace heed {
namespace {

namespace nn = torch::nn;

/// The shape of an input's pictures. A film is `frames` of them.
struct PictureShape {
  std::int64_t frames = 1, rows = 0, columns = 0, channels = 0;

  PictureShape(const InputInfo& input, const std::string& id) {
    const std::vector<std::int64_t>& grid = input.grid;
    HEED_CHECK(input.width > 0 && (grid.size() == 2 || grid.size() == 3),
               "vectors '{}': input '{}' is no picture; leave 'trained'", id, input.name);
    if (grid.size() == 3) frames = grid[0];
    rows = grid[grid.size() - 2], columns = grid.back(), channels = input.width;
  }

  /// [B, positions, channels] → [B · frames, rows, columns, channels]
  Tensor pictures(const Padded& input) const {
    HEED_CHECK(input.values.size(1) == frames * rows * columns && input.values.size(2) == channels,
               "model: a picture of {} positions and {} channels; it was trained on {}×{} and {}",
               input.values.size(1), input.values.size(2), rows, columns, channels);
    return input.values.reshape({-1, rows, columns, channels});
  }

  /// [B · frames, n, D] → the input it stands for. Where the data has levels, each frame is a run.
  Input as_input(const Tensor& vectors, const Padded& from) const {
    const std::int64_t n = vectors.size(1), B = from.values.size(0);
    Input input{.data = vectors.reshape({B, frames * n, vectors.size(2)}),
                .lengths = torch::full({B}, frames * n, torch::kInt64),
                .name = ""};
    if (!from.levels.empty())
      input.levels = {{.sizes = torch::full({B, frames}, n, torch::kInt64),
                       .lengths = torch::full({B}, frames, torch::kInt64)}};
    return input;
  }
};

/// Small moves of each picture in training: [B, rows, columns, channels], zeros come in.
Tensor shifted(const Tensor& pictures, std::int64_t most) {
  const Tensor padded = torch::constant_pad_nd(pictures, {0, 0, most, most, most, most});
  const Tensor by = torch::randint(2 * most + 1, {pictures.size(0), 2}, torch::kInt64);
  std::vector<Tensor> moved;
  for (std::int64_t b = 0; b < pictures.size(0); ++b) {
    moved.push_back(padded[b]
                        .narrow(0, by[b][0].item<std::int64_t>(), pictures.size(1))
                        .narrow(1, by[b][1].item<std::int64_t>(), pictures.size(2)));
  }
  return torch::stack(moved);
}

/// Squares of pixels, projected, with a learned vector for each place.
class Patches : public VectorModel {
 public:
  explicit Patches(const VectorsProblem& p)
      : shape_(p.input, "patches"),
        size_(get<std::int64_t>(p.options, "size")),
        shift_(get<std::int64_t>(p.options, "shift")),
        dim_(p.dim) {
    HEED_CHECK(shape_.rows % size_ == 0 && shape_.columns % size_ == 0,
               "vectors 'patches': {}×{} positions cannot be cut into squares of {}", shape_.rows,
               shape_.columns, size_);
    project_ = register_module("project", nn::Linear(size_ * size_ * shape_.channels, dim_));
    const std::int64_t places = shape_.rows / size_ * (shape_.columns / size_);
    place_ = register_parameter("place", torch::randn({places, dim_}).mul_(0.1));
  }

  Input forward(const Padded& input) override {
    Tensor x = shape_.pictures(input);
    if (shift_ > 0 && is_training()) x = shifted(x, shift_);
    const std::int64_t rows = shape_.rows / size_, columns = shape_.columns / size_;
    x = x.reshape({-1, rows, size_, columns, size_, shape_.channels})
            .transpose(2, 3)
            .reshape({-1, rows * columns, size_ * size_ * shape_.channels});
    return shape_.as_input(project_->forward(x) + place_, input);
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  PictureShape shape_;
  std::int64_t size_, shift_, dim_;
  nn::Linear project_{nullptr};
  Tensor place_;
};

/// Convolutions, each followed by normalisation, ReLU and, while both sides are even, pooling.
class ConvGrid : public VectorModel {
 public:
  explicit ConvGrid(const VectorsProblem& p)
      : shape_(p.input, "conv"), shift_(get<std::int64_t>(p.options, "shift")), dim_(p.dim) {
    const auto layers = get<std::int64_t>(p.options, "layers");
    const auto channels = get<std::int64_t>(p.options, "channels");
    std::int64_t input = shape_.channels;
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::int64_t output = i + 1 == layers ? dim_ : channels;
      const std::int64_t groups = output % 8 == 0 ? 8 : 1;
      convolutions_.push_back(
          register_module(fmt::format("conv_{}", i + 1),
                          nn::Conv2d(nn::Conv2dOptions(input, output, 3).padding(1).bias(false))));
      norms_.push_back(register_module(fmt::format("norm_{}", i + 1),
                                       nn::GroupNorm(nn::GroupNormOptions(groups, output))));
      input = output;
    }
  }

  Input forward(const Padded& input) override {
    Tensor x = shape_.pictures(input);
    if (shift_ > 0 && is_training()) x = shifted(x, shift_);
    x = x.permute({0, 3, 1, 2}).contiguous();
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      x = torch::relu(norms_[i]->forward(convolutions_[i]->forward(x)));
      if (x.size(2) % 2 == 0 && x.size(3) % 2 == 0) x = torch::max_pool2d(x, 2);
    }
    return shape_.as_input(x.flatten(2).transpose(1, 2), input);
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  PictureShape shape_;
  std::int64_t shift_, dim_;
  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::GroupNorm> norms_;
};

OptionInfo whole_option(std::string name, std::int64_t fallback, std::string doc, double min,
                        double max) {
  return {.name = std::move(name),
          .fallback = fallback,
          .doc = std::move(doc),
          .choices = {},
          .min = min,
          .max = max};
}

}  // namespace

std::vector<PartInfo> picture_models() {
  const OptionInfo shift =
      whole_option("shift", 0, "most positions a picture is moved by in training", 0, 64);
  return {
      {.id = "patches",
       .group = Group::vectors,
       .title = "Patches of a picture",
       .formula = R"(x_l = W p_l + b + e_l)",
       .paper = "Dosovitskiy et al. 2021",
       .advice = "pictures cut into squares, each at its place",
       .options = {whole_option("size", 1, "positions a side", 1, 1024), shift},
       .promises = "same bits at the same thread count",
       .make = MakeVectors([](const VectorsProblem& p) -> std::shared_ptr<VectorModel> {
         return std::make_shared<Patches>(p);
       })},
      {.id = "conv",
       .group = Group::vectors,
       .title = "Grid of a convolutional network",
       .formula = R"(x = \mathrm{pool}(\mathrm{ReLU}(\mathrm{norm}(W * p))))",
       .paper = "LeCun et al. 1998; Xu et al. 2015",
       .advice = "pictures: what surrounds a place, wherever it is",
       .options = {whole_option("layers", 3, "how many", 1, 16),
                   whole_option("channels", 32, "width of all but the last", 1, 4096), shift},
       .promises = "same bits at the same thread count",
       .make = MakeVectors([](const VectorsProblem& p) -> std::shared_ptr<VectorModel> {
         return std::make_shared<ConvGrid>(p);
       })},
  };
}

}  // namespace heed
