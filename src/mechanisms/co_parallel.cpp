#include <torch/nn/modules/linear.h>

#include "heed/attention/align.hpp"
#include "heed/base/error.hpp"
#include "heed/base/memory.hpp"
#include "heed/mechanisms/mechanism.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

// The scores come from the affinity of all pairs, so the config's alignment is used and its score
// is not: an attention with a query of zeros, whose dot products vanish, aligns the bias alone.
class CoParallel : public Mechanism {
 public:
  explicit CoParallel(const MechanismProblem& problem)
      : first_(problem.inputs[0].name),
        second_(problem.inputs[1].name),
        d1_(problem.inputs[0].dim),
        d2_(problem.inputs[1].dim),
        trilinear_(get<std::string>(problem.options, "affinity") == "trilinear"),
        max_(get<std::string>(problem.options, "aggregate") == "max"),
        compare_(get<std::string>(problem.options, "aggregate") == "compare"),
        act_(get<std::string>(problem.options, "act")) {
    check(problem.parts);
    // Inputs of one width are at first compared by similarity: a maximum teaches the best pairs
    // alone, and what starts as opposites would never be among them.
    const double scale = 1 / std::sqrt(d1_);
    if (trilinear_) {
      HEED_CHECK(d1_ == d2_,
                 "mechanism 'co.parallel': the trilinear affinity multiplies both inputs, which "
                 "are {} and {} wide; affinity 'bilinear' takes both",
                 d1_, d2_);
      for (const char* name : {"w_A1", "w_A2"})
        affinity_[name] = register_parameter(name, torch::randn({d1_}) * scale);
      affinity_["w_A3"] = register_parameter("w_A3", torch::ones({d1_}) * scale);
    } else {
      const Tensor any = torch::randn({d1_, d2_}) * scale;
      affinity_["W_A"] =
          register_parameter("W_A", d1_ == d2_ ? (torch::eye(d1_) + any) * scale : any);
    }
    using torch::nn::Linear;
    if (compare_) {
      HEED_CHECK(
          d1_ == d2_,
          "mechanism 'co.parallel': aggregate 'compare' takes the difference of both inputs, "
          "which are {} and {} wide; 'attend' and 'max' take both",
          d1_, d2_);
      W1_ = register_module("W1", Linear(4 * d1_, d1_));
      W2_ = register_module("W2", Linear(4 * d1_, d1_));
    } else if (!max_) {
      const std::int64_t h = std::max(d1_, d2_);
      const auto matrix = [&](const char* name, std::int64_t from, std::int64_t to) {
        return register_module(name, Linear(torch::nn::LinearOptions(from, to).bias(false)));
      };
      W1_ = matrix("W1", d1_, h), W2_ = matrix("W2", d2_, h);
      w1_ = matrix("w1", h, 1), w2_ = matrix("w2", h, 1);
    }
    const AttentionConfig config{
        .score = "dot", .align = problem.parts.align, .dropout = problem.parts.dropout};
    const auto attention = [&](const char* name, std::int64_t d) {
      return register_module(
          name, Attention(config, Problem{.query_dim = d, .key_dim = d, .value_dim = d}));
    };
    to_first_ = attention("to_first", d1_), to_second_ = attention("to_second", d2_);
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input k1 = zero_padding(in[first_]), k2 = zero_padding(in[second_]);
    check_memory(k1.data, k2.data);
    const Tensor A = affinity(k1.data, k2.data);  // [B, N1, N2]
    if (compare_) {
      const Tensor met1 = meet(to_first_, A, k1, k2, trace[first_]);
      const Tensor met2 = meet(to_second_, A.transpose(1, 2), k2, k1, trace[second_]);
      return concat({compared(W1_, k1, met1), compared(W2_, k2, met2)});
    }
    Tensor e1, e2;
    if (max_) {
      e1 = best(A, k2), e2 = best(A.transpose(1, 2), k1);
    } else {
      const Tensor h1 = W1_->forward(k1.data), h2 = W2_->forward(k2.data);
      e1 = w1_->forward(activate(act_, torch::matmul(A, h2) + h1)).squeeze(-1);
      e2 = w2_->forward(activate(act_, torch::matmul(A.transpose(1, 2), h1) + h2)).squeeze(-1);
    }
    return concat(
        {align(to_first_, e1, k1, trace[first_]), align(to_second_, e2, k2, trace[second_])});
  }

  std::int64_t output_dim() const override { return (d1_ + d2_) * (compare_ ? 2 : 1); }
  bool uses_query() const override { return false; }

  std::vector<WiringStep> wiring() const override {
    if (compare_) {
      return {{.name = first_, .query = first_, .keys = second_, .output = "m_1"},
              {.name = second_, .query = second_, .keys = first_, .output = "m_2"},
              {.name = "",
               .query = "",
               .keys = "",
               .output = "pools of act(W [k; m; |k - m|; k ∘ m])"}};
    }
    return {{.name = first_, .query = "affinity with " + second_, .keys = first_, .output = "c_1"},
            {.name = second_, .query = "affinity with " + first_, .keys = second_, .output = "c_2"},
            {.name = "", .query = "", .keys = "", .output = "[c_1; c_2]"}};
  }

 private:
  static void check(const AttentionSpec& parts) {
    HEED_CHECK(parts.queries.id == "singular" || parts.queries.id == "capsule",
               "mechanism 'co.parallel': its scores are an affinity of all pairs, without a query; "
               "queries must be 'singular' or 'capsule', not '{}'",
               parts.queries.id);
    HEED_CHECK(parts.dimensionality.id == "single",
               "mechanism 'co.parallel': an affinity is one number a pair; dimensionality must be "
               "'single'");
    const PartInfo& align = attention_parts().find_built(Group::align, parts.align.id);
    const Options options = resolve(align, parts.align.options, "align");
    HEED_CHECK(!std::get<MakeAlign>(align.make)(options)->needs_query(),
               "mechanism 'co.parallel': align '{}' needs a query, and here is none", align.id);
  }

  /// Refuses a batch whose affinities would not fit, before they are computed.
  static void check_memory(const Tensor& k1, const Tensor& k2) {
    const std::int64_t B = k1.size(0), N1 = k1.size(1), N2 = k2.size(1);
    const double matrices = torch::GradMode::is_enabled() ? 4 : 2;  // A, act(A) and their gradients
    check_room(
        matrices * static_cast<double>(B * N1) * static_cast<double>(N2) *
            static_cast<double>(k1.element_size()),
        "co.parallel", [&] { return fmt::format("{} affinities of {} × {} words", B, N1, N2); },
        "take a smaller batch (train.batch) or shorter inputs (task.max_length)");
  }

  Tensor affinity(const Tensor& k1, const Tensor& k2) const {
    if (!trilinear_)
      return activate(act_,
                      torch::matmul(torch::matmul(k1, affinity_.at("W_A")), k2.transpose(1, 2)));
    return torch::matmul(k1, affinity_.at("w_A1")).unsqueeze(2) +
           torch::matmul(k2, affinity_.at("w_A2")).unsqueeze(1) +
           torch::matmul(k1 * affinity_.at("w_A3"), k2.transpose(1, 2));
  }

  // The largest affinity with a valid position of the other; 0 where the other is empty.
  static Tensor best(const Tensor& A, const Input& other) {
    if (A.size(2) == 0) return A.sum(2);
    if (!other.lengths.defined()) return A.amax(2);
    const Tensor padded = valid_positions(other).logical_not().unsqueeze(1);
    return A.masked_fill(padded, -1e30).amax(2).masked_fill((other.lengths == 0).unsqueeze(1), 0);
  }

  static Tensor align(Attention& attention, const Tensor& e, const Input& keys,
                      const TraceSlot& slot) {
    const Tensor nothing = torch::zeros({e.size(0), keys.data.size(2)}, e.options());
    Asking asking{.query = {.data = nothing, .lengths = {}, .name = ""}, .keys = keys};
    asking.bias = e.unsqueeze(1);
    return attention->attend(asking, slot);
  }

  // What each position of `own` finds in `other`, [B, N, d].
  static Tensor meet(Attention& attention, const Tensor& e, const Input& own, const Input& other,
                     const TraceSlot& slot) {
    Input query = own;
    query.data = torch::zeros_like(own.data);
    Asking asking{.query = query, .keys = other};
    asking.bias = e.contiguous();
    return attention->attend(asking, slot);
  }

  Tensor compared(torch::nn::Linear& W, const Input& own, const Tensor& met) const {
    const Tensor both =
        torch::cat({own.data, met, (own.data - met).abs(), own.data * met}, /*dim=*/-1);
    Input x = own;
    x.data = activate(act_, W->forward(both));
    return concat({pool("mean", x), pool("max", x)});
  }

  std::string first_, second_;
  std::int64_t d1_, d2_;
  bool trilinear_, max_, compare_;
  std::string act_;
  Params affinity_;
  torch::nn::Linear W1_{nullptr}, W2_{nullptr}, w1_{nullptr}, w2_{nullptr};
  Attention to_first_{nullptr}, to_second_{nullptr};
};

}  // namespace

PartInfo co_parallel() {
  return {
      .id = "co.parallel",
      .group = Group::mechanism,
      .family = "features",
      .title = "Parallel co-attention",
      .formula =
          R"(A = \mathrm{act}(K_1^\top W_A K_2), \; e_1 = w_1 \cdot \mathrm{act}(W_2 K_2 A^\top + W_1 K_1), \; e_2 = w_2 \cdot \mathrm{act}(W_1 K_1 A + W_2 K_2))",
      .paper = "Lu et al. 2016; Seo et al. 2017 (BiDAF)",
      .inputs = "two",
      .time = "O(K_1 K_2 d)",
      .memory = "O(K_1 K_2)",
      .advice = "fine: every pair of words is compared; the affinity takes the place of the score",
      .suits = {"two-inputs", "pairs"},
      .options = {{.name = "affinity",
                   .fallback = std::string("bilinear"),
                   .doc = "act(k1 · W_A k2), or w · [k1; k2; k1 ∘ k2]",
                   .choices = {"bilinear", "trilinear"}},
                  {.name = "aggregate",
                   .fallback = std::string("attend"),
                   .doc = "how the affinities of one position become its score: both inputs "
                          "through it, or its largest; or it looks at the other input and is "
                          "compared with what it finds (Parikh et al. 2016)",
                   .choices = {"attend", "max", "compare"}},
                  act_option()},
      .takes = {{}, {}},
      .make = makes<CoParallel>(),
  };
}

}  // namespace heed
