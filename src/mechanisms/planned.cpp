// Mechanisms that have their place in the taxonomy and no code yet.
#include "mechanisms/parts.hpp"

namespace heed {
namespace {

constexpr Status kPlanned = Status::planned;

std::vector<PartInfo> features() {
  return {
      {.id = "co.alternating",
       .group = Group::mechanism,
       .family = "features",
       .title = "Alternating co-attention",
       .formula =
           R"(c_0 = \mathrm{attend}(K_1), \; c_2 = \mathrm{attend}(c_0, K_2), \; c_1 = \mathrm{attend}(c_2, K_1))",
       .paper = "Lu et al. 2016",
       .inputs = "two",
       .advice = "two inputs that guide each other in turn",
       .status = kPlanned},
      {.id = "co.interactive",
       .group = Group::mechanism,
       .family = "features",
       .title = "Interactive co-attention",
       .formula =
           R"(c_1 = \mathrm{attend}(\bar{k}_2, K_1), \; c_2 = \mathrm{attend}(\bar{k}_1, K_2))",
       .paper = "Ma et al. 2017 (IAN)",
       .inputs = "two",
       .advice = "coarse and cheap: means ask",
       .status = kPlanned},
      {.id = "co.parallel",
       .group = Group::mechanism,
       .family = "features",
       .title = "Parallel co-attention",
       .formula = R"(A = \mathrm{act}(K_1^\top W_A K_2))",
       .paper = "Lu et al. 2016; Seo et al. 2017 (BiDAF)",
       .inputs = "two",
       .advice = "fine: every pair of words is compared",
       .status = kPlanned},
      {.id = "rotatory",
       .group = Group::mechanism,
       .family = "features",
       .title = "Rotatory",
       .formula = R"([r_l; r_r; r_{lt}; r_{rt}])",
       .paper = "Zheng & Xia 2018 (LCR-Rot)",
       .inputs = "left, target, right",
       .advice = "a target between two contexts",
       .status = kPlanned},
      {.id = "via-attention",
       .group = Group::mechanism,
       .family = "features",
       .title = "Attention-via-attention",
       .formula = R"(c_w = \mathrm{attend}(q, K_w), \; c_c = \mathrm{attend}([q; c_w], K_c))",
       .paper = "Zhao & Zhang 2018",
       .inputs = "words, characters",
       .advice = "two grains of one text",
       .status = kPlanned},
      {.id = "hierarchical",
       .group = Group::mechanism,
       .family = "features",
       .title = "Hierarchical",
       .formula = R"(s_i = \mathrm{attend}(K_{w,i}), \; d = \mathrm{attend}(K_s))",
       .paper = "Yang et al. 2016 (HAN)",
       .inputs = "one, in levels",
       .advice = "long documents: words, sentences, document",
       .status = kPlanned},
      {.id = "meta-embedding",
       .group = Group::mechanism,
       .family = "features",
       .title = "Meta-embedding",
       .formula = R"(c = \sum_e a_e (W_e x_e + b_e))",
       .paper = "Kiela et al. 2018 (DME)",
       .inputs = "several embeddings",
       .advice = "several embeddings of one word",
       .status = kPlanned},
  };
}

std::vector<PartInfo> selection() {
  return {
      {.id = "focus",
       .group = Group::mechanism,
       .family = "selection",
       .title = "Focus (query-driven)",
       .formula = R"(a = \mathrm{align}(\mathrm{score}(q, K)))",
       .paper = "Qiu, NNDL ch. 8",
       .advice = "top-down: a query selects",
       .status = kPlanned},
      {.id = "saliency.max-pool",
       .group = Group::mechanism,
       .family = "selection",
       .title = "Saliency: max pooling",
       .formula = R"(c_d = \max_l v_{l,d})",
       .paper = "Qiu, NNDL ch. 8",
       .advice = "bottom-up: the strongest feature wins",
       .status = kPlanned},
      {.id = "saliency.gate",
       .group = Group::mechanism,
       .family = "selection",
       .title = "Saliency: gates",
       .formula = R"(c = \sum_l \sigma(g(v_l)) \circ v_l)",
       .paper = "Qiu, NNDL ch. 8",
       .advice = "bottom-up: each feature opens its own gate",
       .status = kPlanned},
      {.id = "saliency.winner-take-all",
       .group = Group::mechanism,
       .family = "selection",
       .title = "Saliency: winner takes all",
       .formula = R"(c = v_{\arg\max_l \|v_l\|})",
       .paper = "Qiu, NNDL ch. 8",
       .advice = "bottom-up: one position alone",
       .status = kPlanned},
  };
}

}  // namespace

std::vector<PartInfo> planned_mechanisms() {
  std::vector<PartInfo> all;
  for (auto list : {features, selection}) {
    for (PartInfo& part : list()) all.push_back(std::move(part));
  }
  return all;
}

}  // namespace heed
