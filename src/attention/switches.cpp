// The names of dimensionality, query and queries: switches of `Attention` and of mechanisms, not
// parts with a factory of their own.
#include "attention/parts.hpp"

namespace heed {
namespace {

std::vector<PartInfo> dimensionalities() {
  return {
      {.id = "single",
       .group = Group::dimensionality,
       .title = "Single-dimensional",
       .formula = R"(c = \sum_l a_l v_l)",
       .paper = "Bahdanau et al. 2015, eq. 5",
       .advice = "the default: one weight a key"},
      {.id = "multi",
       .group = Group::dimensionality,
       .title = "Multi-dimensional",
       .formula =
           R"(e_l = W_d^\top \mathrm{act}(W_1 q + W_2 k_l + b), \; c = \sum_l a_l \circ v_l)",
       .paper = "Shen et al. 2018 (DiSAN), section 3",
       .advice = "one weight a feature: words with several senses; additive only",
       .suits = {"senses"}},
  };
}

std::vector<PartInfo> queries() {
  return {
      {.id = "basic",
       .group = Group::query,
       .title = "Basic query",
       .formula = R"(q = s_{t-1} \text{, or a learned vector})",
       .paper = "Bahdanau et al. 2015; Yang et al. 2016",
       .advice = "the model's own state, or what to look for in general"},
      {.id = "specialised",
       .group = Group::query,
       .title = "Specialised query",
       .formula = R"(q = \mathrm{pool}(\text{another input}))",
       .paper = "Wang et al. 2016 (ATAE-LSTM); Ma et al. 2017",
       .inputs = "one more, which asks",
       .advice = "an aspect, a user, a question asks",
       .suits = {"question"},
       .options = {{.name = "input",
                    .fallback = std::string(""),
                    .doc = "the input that asks; empty: the first that nothing attends to"},
                   {.name = "pool",
                    .fallback = std::string("mean"),
                    .doc = "how it becomes one query",
                    .choices = {"mean", "max", "last"}}}},
      {.id = "self",
       .group = Group::query,
       .title = "Self-attentive query",
       .formula = R"(Q = W_Q F)",
       .paper = "Vaswani et al. 2017; Lin et al. 2017",
       .advice =
           "the features ask each other: self-attention, transformer, linear, structured.tree",
       .suits = {"pairs"}},
      {.id = "singular",
       .group = Group::queries,
       .title = "Singular query",
       .formula = R"(c = \mathrm{attend}(q, K, V))",
       .paper = "Bahdanau et al. 2015",
       .advice = "one query, one context"},
      {.id = "multi-head",
       .group = Group::queries,
       .title = "Multi-head",
       .formula = R"(c = W_O [\mathrm{attend}(W_Q^i q, W_K^i F, W_V^i F)]_{i = 1 \dots H})",
       .paper = "Vaswani et al. 2017, section 3.2.2",
       .advice = "several views at once",
       .suits = {"several-views", "much-data"},
       .options = {{.name = "heads",
                    .fallback = std::int64_t{4},
                    .doc = "how many; with projections they divide the width",
                    .min = 1,
                    .max = 1024},
                   {.name = "projections",
                    .fallback = true,
                    .doc = "own projections a head; without, that many queries (given, learned, or "
                           "the given one and a learned vector each) share keys and values and "
                           "their contexts are only concatenated"}}},
      {.id = "multi-hop",
       .group = Group::queries,
       .title = "Multi-hop",
       .formula = R"(q^{(s+1)} = f(q^{(s)}, c^{(s)}))",
       .paper = "Sukhbaatar et al. 2015; Tran & Niedereée 2018",
       .advice = "when one look must guide the next",
       .suits = {"steps"},
       .options = {{.name = "hops",
                    .fallback = std::int64_t{2},
                    .doc = "how many looks",
                    .min = 1,
                    .max = 64},
                   {.name = "update",
                    .fallback = std::string("add"),
                    .doc = "the next query: q + c, W [q; c] + b, or a GRU cell's state",
                    .choices = {"add", "linear", "gru"}},
                   {.name = "new_keys",
                    .fallback = false,
                    .doc = "a projection of the keys of its own for every hop"},
                   {.name = "new_values",
                    .fallback = false,
                    .doc = "a projection of the values of its own for every hop"},
                   {.name = "tied",
                    .fallback = false,
                    .doc = "a projection of its own for every hop gives its values, which are the "
                           "next hop's keys"},
                   {.name = "carry",
                    .fallback = false,
                    .doc = "the last context is added to the query it answers: what earlier looks "
                           "found stays"}}},
      {.id = "capsule",
       .group = Group::queries,
       .title = "Capsule",
       .formula =
           R"(c_n = \mathrm{attend}_n, \; p_n = \sigma(w_n \cdot c_n), \; r_n = p_n c_n \text{ for each class } n)",
       .paper = "Wang et al. 2018 (RNN-Capsule)",
       .advice = "one attention module a class, which answers for that class",
       .suits = {"class-evidence", "interpretable"},
       .options = {{.name = "routing",
                    .fallback = std::int64_t{0},
                    .doc = "rounds of dynamic routing (Sabour et al. 2017) from the modules' "
                           "contexts to the classes; 0: each module answers alone",
                    .min = 0,
                    .max = 16},
                   {.name = "probability",
                    .fallback = 1.0,
                    .doc = "weight of the hinge on the probabilities in the training loss",
                    .min = 0},
                   {.name = "reconstruction",
                    .fallback = 1.0,
                    .doc = "weight of the hinge on p_n c_n against the mean of the features",
                    .min = 0}}},
  };
}

std::vector<PartInfo> positions() {
  return {
      {.id = "none",
       .group = Group::position,
       .title = "No positions",
       .formula = R"(F)",
       .paper = "–",
       .advice = "recurrent and convolutional features carry order already"},
  };
}

}  // namespace

std::vector<PartInfo> switches() {
  std::vector<PartInfo> all;
  for (auto list : {dimensionalities, queries, positions}) {
    for (PartInfo& part : list()) all.push_back(std::move(part));
  }
  return all;
}

}  // namespace heed
