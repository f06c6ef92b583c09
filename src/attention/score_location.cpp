#include "heed/attention/registry.hpp"
#include "heed/attention/score.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

/// The query alone says where to look: row l of W is the place l.
class Location : public Score {
 public:
  explicit Location(const Options& options) : most_(get<std::int64_t>(options, "max_keys")) {}

  std::vector<ParamInfo> params() const override {
    return {{.name = "W", .shape = {"max_keys", "d_q"}}};
  }
  Letters default_sizes(const Problem&) const override { return {{"max_keys", most_}}; }

  Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const override {
    const Tensor& W = params.at("W");
    const std::int64_t K = k.size(-2), most = W.size(-2);
    HEED_CHECK(K <= most,
               "attend: score 'location': there are {} keys, W has rows for {}; a module needs the "
               "option max_keys = {} or more",
               K, most, K);
    return project(W.narrow(-2, 0, K), q);
  }

  Params from_key(const Params& params, std::int64_t first) const override {
    const Tensor& W = params.at("W");
    return {{"W", W.narrow(-2, first, W.size(-2) - first)}};
  }

 private:
  std::int64_t most_;
};

}  // namespace

PartInfo location() {
  return {
      .id = "location",
      .group = Group::score,
      .title = "Location",
      .formula = R"((W q)_l)",
      .paper = "Luong et al. 2015, eq. 8 (location-based)",
      .inputs = "query; of the keys only their number",
      .time = "O(Q K d_q)",
      .memory = "O(Q K)",
      .advice = "when the place matters and the content does not",
      .suits = {"place"},
      .options = {{.name = "max_keys",
                   .fallback = std::int64_t{512},
                   .doc = "rows of W when a module makes it: the greatest number of keys",
                   .min = 1,
                   .max = 1e6}},
      .promises = "W q is torch's product",
      .make = [](const Options& options) -> std::unique_ptr<Score> {
        return std::make_unique<Location>(options);
      },
  };
}

}  // namespace heed
