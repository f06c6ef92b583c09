// The output models a config may name.
#include "heed/mechanisms/pointer.hpp"
#include "heed/models/sequence_decoder.hpp"
#include "models/parts.hpp"

namespace heed {
namespace {

OptionInfo beam_option() {
  return {.name = "beam",
          .fallback = std::int64_t{5},
          .doc = "sequences kept at each step; 1 = greedy",
          .min = 1,
          .max = 1000};
}

/// What every decoder of words has.
std::vector<OptionInfo> writing_options() {
  return {{.name = "tied",
           .fallback = true,
           .doc = "words are read and written by one table (Press & Wolf 2017)"},
          beam_option(),
          {.name = "length_penalty",
           .fallback = 0.6,
           .doc = "how much long answers are favoured (Wu et al. 2016, α)",
           .min = 0,
           .max = 10},
          {.name = "coverage_penalty",
           .fallback = 0.0,
           .doc = "how much words nobody looked at count against an answer (β)",
           .min = 0,
           .max = 10}};
}

PartInfo output(std::string id, std::string title, std::string formula, std::string paper,
                std::string advice, std::vector<OptionInfo> options = {}) {
  return {.id = std::move(id),
          .group = Group::output,
          .title = std::move(title),
          .formula = std::move(formula),
          .paper = std::move(paper),
          .advice = std::move(advice),
          .options = std::move(options)};
}

PartInfo gru_output() {
  std::vector<OptionInfo> options = writing_options();
  options.push_back({.name = "state",
                     .fallback = std::int64_t{0},
                     .doc = "width of the GRUs; 0 = the features'",
                     .min = 0,
                     .max = 65536});
  options.push_back({.name = "embedding",
                     .fallback = std::int64_t{0},
                     .doc = "width of the word vectors; 0 = the GRUs'",
                     .min = 0,
                     .max = 65536});
  return output(
      "gru", "GRU decoder",
      R"(s_t = \mathrm{GRU}_1(y_{t-1}), \; c_t = \mathrm{attend}(s_t, F), \; p(y_t) = \mathrm{softmax}(E \tanh(W [\mathrm{GRU}_2(s_t, c_t); c_t; y_{t-1}])))",
      "Bahdanau et al. 2015, Wu et al. 2016 (the bottom layer asks)",
      "a sequence of words, from little data", std::move(options));
}

PartInfo transformer_output() {
  std::vector<OptionInfo> options = transformer_options();
  options.insert(
      options.begin(),
      {.name = "layers", .fallback = std::int64_t{2}, .doc = "how many", .min = 1, .max = 256});
  for (OptionInfo& option : writing_options()) options.push_back(std::move(option));
  return output(
      "transformer", "Transformer decoder",
      R"(x \leftarrow x + \mathrm{attend}(x, x_{\le t}), \; x \leftarrow x + \mathrm{attend}(x, F), \; x \leftarrow x + \mathrm{FFN}(x))",
      "Vaswani et al. 2017, section 3.1", "a sequence of words, trained in parallel",
      std::move(options));
}

PartInfo pointer_output() {
  std::vector<OptionInfo> options = pointer_options();
  options.push_back(beam_option());
  return output(
      "pointer", "Pointer decoder",
      R"(p(y_t = l) = \mathrm{softmax}_l(\mathrm{score}(s_t, f_l)), \; s_{t+1} = \mathrm{LSTM}(f_{y_t}, s_t))",
      "Vinyals et al. 2015, eq. 3", "a sequence of places in the input", std::move(options));
}

OptionInfo sampled_option() {
  return {.name = "sampled",
          .fallback = std::int64_t{0},
          .doc = "of recommend: other items a training step compares with; 0 = all",
          .min = 0,
          .max = 1e9};
}

PartInfo memory_output() {
  return output(
      "memory", "Softmax and a memory of users",
      R"(p(i) \propto \mathrm{softmax}_i(W c + b) \, (\textstyle\sum_u a_u x_{ui} + \varepsilon p_i)^\gamma, \; a = \mathrm{softmax}_u(\beta \cos(s, s_u)))",
      "Khandelwal et al. 2020 (a memory beside a trained model), Nadaraya 1964, Watson 1964 "
      "(weights by similarity), Deerwester et al. 1990 (s, singular vectors)",
      "items for users where lists are short: the user's two histories ask all users of the "
      "training part, and what those took counts beside what is learned",
      {sampled_option(),
       {.name = "weight",
        .fallback = 0.5,
        .doc = "γ, how much the memory says beside the softmax; 0 = nothing",
        .min = 0,
        .max = 100},
       {.name = "sharpness",
        .fallback = 6.0,
        .doc = "β: large = only the most similar users count",
        .min = 0,
        .max = 1000},
       {.name = "dim",
        .fallback = std::int64_t{32},
        .doc = "width of the vectors of users",
        .min = 1,
        .max = 4096},
       {.name = "source",
        .fallback = 0.3,
        .doc = "what an item of the other domain counts in them beside one of this",
        .min = 0,
        .max = 100}});
}

}  // namespace

std::vector<PartInfo> output_models() {
  return {output("softmax", "Softmax classifier", R"(\hat{y} = \mathrm{softmax}(W c + b))", "–",
                 "one of several labels", {sampled_option()}),
          memory_output(), gru_output(), transformer_output(), pointer_output()};
}

}  // namespace heed
