#include "heed/mechanisms/pointer.hpp"

#include <limits>

#include "heed/base/error.hpp"

namespace heed {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Rows of x [B, N, d] at `places` [B, T].
Tensor rows_at(const Tensor& x, const Tensor& places) {
  return x.gather(1, places.unsqueeze(-1).expand({-1, -1, x.size(2)}));
}

}  // namespace

PointerImpl::PointerImpl(const PointerOptions& options)
    : key_dim_(options.key_dim),
      state_dim_(options.state_dim > 0 ? options.state_dim : options.key_dim),
      repeat_(options.repeat) {
  const AttentionSpec& parts = options.parts;
  HEED_CHECK(
      parts.align.id == "soft",
      "pointer: its weights are probabilities, learned by their logarithm; align '{}' is not "
      "'soft'",
      parts.align.id);
  HEED_CHECK(
      parts.queries.id == "singular" && parts.dimensionality.id == "single",
      "pointer: one weight a place is needed; queries '{}' and dimensionality '{}' give more",
      parts.queries.id, parts.dimensionality.id);
  HEED_CHECK(parts.score.id != "location",
             "pointer: score 'location' knows a key by its place, and the end key has none");
  HEED_CHECK(parts.position.id == "none",
             "pointer: position '{}': the decoder's state has no place", parts.position.id);
  attention_ = register_module(
      "attention",
      Attention(AttentionConfig{.score = parts.score, .align = parts.align},
                Problem{.query_dim = state_dim_, .key_dim = key_dim_, .value_dim = key_dim_}));
  if (options.cell == "gru") {
    gru_ = register_module(
        "decoder", torch::nn::GRU(torch::nn::GRUOptions(key_dim_, state_dim_).batch_first(true)));
  } else {
    lstm_ = register_module(
        "decoder", torch::nn::LSTM(torch::nn::LSTMOptions(key_dim_, state_dim_).batch_first(true)));
  }
  begin_ = register_module("begin", torch::nn::Linear(key_dim_, state_dim_));
  first_ = register_parameter("first", 0.1 * torch::randn({key_dim_}));
  end_ = register_parameter("end", 0.1 * torch::randn({key_dim_}));
}

PointerImpl::Run PointerImpl::start(const Input& keys) {
  const Input clean = zero_padding(keys);
  const std::int64_t B = clean.data.size(0), N = clean.data.size(1);
  const Tensor valid = clean.lengths.defined()
                           ? valid_positions(clean)
                           : torch::ones({B, N}, clean.data.options().dtype(torch::kBool));
  const Tensor state =
      torch::tanh(begin_->forward(N > 0 ? mean(clean) : clean.data.sum(1))).unsqueeze(0);
  Run run{.keys = torch::cat({clean.data, end_.expand({B, 1, -1})}, 1),
          .open = torch::cat({valid, torch::ones({B, 1}, valid.options())}, 1),
          .hidden = {state},
          .input = first_.expand({B, -1})};
  if (lstm_) run.hidden.push_back(torch::zeros_like(state));
  return run;
}

Tensor PointerImpl::advance(const Tensor& inputs, std::vector<Tensor>& hidden) {
  if (gru_) {
    auto [output, state] = gru_->forward(inputs, hidden[0]);
    hidden = {state};
    return output;
  }
  auto [output, state] = lstm_->forward(inputs, std::make_tuple(hidden[0], hidden[1]));
  hidden = {std::get<0>(state), std::get<1>(state)};
  return output;
}

Tensor PointerImpl::log_weights(const Tensor& states, const Tensor& keys, const Tensor& open) {
  const Tensor scores = attention_
                            ->scores({.query = {.data = states, .lengths = {}, .name = ""},
                                      .keys = {.data = keys, .lengths = {}, .name = ""}})
                            .squeeze(1);
  return torch::log_softmax(scores.masked_fill(open.logical_not(), kNever), -1);
}

Tensor PointerImpl::step(Run& run) {
  const Tensor state = advance(run.input.unsqueeze(1), run.hidden);
  return log_weights(state, run.keys, run.open.unsqueeze(1)).squeeze(1);
}

// The chosen keys are the next input, and closed where a place is pointed at once; the end never
// is.
void PointerImpl::choose(Run& run, const Tensor& places) const {
  const std::int64_t N = run.keys.size(1) - 1;
  const Tensor chosen = torch::where(places < 0, N, places).unsqueeze(1);
  run.input = rows_at(run.keys, chosen).squeeze(1);
  if (!repeat_) run.open = run.open.scatter(1, chosen, chosen == N);
}

Tensor PointerImpl::forward(const Input& keys, const Tensor& targets) {
  Run run = start(keys);
  const std::int64_t N = run.keys.size(1) - 1, T = targets.size(1);
  if (T == 0) return run.keys.new_zeros({targets.size(0), 0, N + 1});
  const Tensor places = torch::where(targets < 0, N, targets);
  HEED_CHECK(places.max().item<std::int64_t>() <= N,
             "pointer: target {}; there are {} places, {} is the end",
             places.max().item<std::int64_t>(), N, N);
  const Tensor inputs =
      torch::cat({run.input.unsqueeze(1), rows_at(run.keys, places.narrow(1, 0, T - 1))}, 1);
  Tensor open = run.open.unsqueeze(1).expand({-1, T, -1});
  if (!repeat_) {
    // What was chosen before each step: the running sum of one-hot rows, without its own.
    const Tensor hot = torch::one_hot(places, N + 1);
    const Tensor before = hot.cumsum(1) - hot;
    open = open.logical_and((before == 0).index_fill(2, torch::tensor({N}), true));
  }
  HEED_CHECK(open.gather(2, places.unsqueeze(-1)).all().item<bool>(),
             "pointer: a target lies past its entry's length{}",
             repeat_ ? "" : ", or points twice at one place, which repeat = false forbids");
  return log_weights(advance(inputs, run.hidden), run.keys, open);
}

Tensor PointerImpl::log_likelihood(const Input& keys, const Tensor& targets) {
  const Tensor logp = forward(keys, targets);
  const std::int64_t N = logp.size(2) - 1;
  const Tensor of_target = logp.gather(2, torch::where(targets < 0, N, targets).unsqueeze(-1));
  return of_target.squeeze(-1).masked_fill(targets < 0, 0).sum(1);
}

Pointed PointerImpl::greedy(const Input& keys, std::int64_t steps) { return beam(keys, 1, steps); }

Pointed PointerImpl::beam(const Input& keys, std::int64_t width, std::int64_t steps) {
  const torch::NoGradGuard no_grad;
  const std::int64_t B = keys.data.size(0), N = keys.data.size(1);
  if (steps == 0) steps = N + 1;
  Run run = start(keys);
  const auto repeat = [&](const Tensor& x, std::int64_t axis) {
    return x.repeat_interleave(width, axis);
  };
  run = {repeat(run.keys, 0), repeat(run.open, 0), run.hidden, repeat(run.input, 0)};
  for (Tensor& state : run.hidden) state = repeat(state, 1);
  Tensor total = run.keys.new_full({B, width}, kNever);  // all start alike: only one counts
  total.select(1, 0).zero_();
  Tensor places = torch::empty({B * width, 0}, torch::kInt64);
  Tensor ended = torch::zeros({B * width}, torch::kBool);
  const Tensor entry = torch::arange(B).unsqueeze(1) * width;
  for (std::int64_t t = 0; t < steps && !ended.all().item<bool>(); ++t) {
    // A sequence that has ended goes on in one way, which costs nothing.
    Tensor logp = step(run).masked_fill(ended.unsqueeze(1), kNever);
    logp.select(1, N).masked_fill_(ended, 0);
    const auto [best, which] =
        (total.view({B * width, 1}) + logp).view({B, width * (N + 1)}).topk(width, 1);
    const Tensor parent = (which.div(N + 1, "floor") + entry).flatten();
    const Tensor place = which.remainder(N + 1).flatten();
    total = best;
    ended = ended.index_select(0, parent);
    places =
        torch::cat({places.index_select(0, parent), place.masked_fill(ended, -1).unsqueeze(1)}, 1);
    run.open = run.open.index_select(0, parent);
    for (Tensor& state : run.hidden) state = state.index_select(1, parent).contiguous();
    choose(run, place);
    ended = ended.logical_or(place == N);
  }
  const std::int64_t T = places.size(1);
  return {.places = places.view({B, width, T}).select(1, 0), .logp = total.select(1, 0)};
}

PointerImpl::Reading PointerImpl::read(const Input& keys, std::int64_t steps, const Tensor& given) {
  Run run = start(keys);
  std::vector<Tensor> all;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor logp = step(run);
    const Tensor weights = given.defined() ? given.select(1, t) : logp.exp();
    all.push_back(weights);
    choose(run, weights.argmax(1));
    run.input = torch::matmul(weights.unsqueeze(1), run.keys).squeeze(1);
  }
  return {.state = advance(run.input.unsqueeze(1), run.hidden).squeeze(1),
          .weights = torch::stack(all, 1)};
}

namespace {

// As a mechanism: points softly a few times, and gives what the decoder then knows. Tasks whose
// answer is a sequence of places use `Pointer` itself.
class PointerReader : public Mechanism {
 public:
  explicit PointerReader(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), steps_(get<std::int64_t>(problem.options, "steps")) {
    pointer_ = register_module(
        "pointer", Pointer(PointerOptions{.parts = problem.parts,
                                          .key_dim = problem.inputs.front().dim,
                                          .state_dim = get<std::int64_t>(problem.options, "state"),
                                          .cell = get<std::string>(problem.options, "cell"),
                                          .repeat = get<bool>(problem.options, "repeat")}));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input& x = in[input_];
    const TraceSlot slot = trace["pointer"];
    const std::int64_t B = x.data.size(0), N = x.data.size(1);
    Tensor given = slot.replacement();
    if (given.defined()) {
      if (given.dim() == 4) given = given.squeeze(1);
      if (given.dim() == 2) given = given.unsqueeze(1).expand({-1, steps_, -1});
      if (given.size(-1) == N)  // without the end
        given = torch::cat({given, given.new_zeros({B, given.size(1), 1})}, -1);
    }
    const PointerImpl::Reading reading = pointer_->read(x, steps_, given);
    // The end key comes last, so a reader who cuts to the length sees the places alone.
    slot.record(
        {.axes = {"head", "query", "key"},
         .key_input = x.name,
         .weights = reading.weights.unsqueeze(1),
         .key_lengths = x.lengths.defined() ? x.lengths : torch::full({B}, N, torch::kInt64)});
    return reading.state;
  }

  std::int64_t output_dim() const override { return pointer_->state_dim(); }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "pointer", .query = "decoder state", .keys = input_, .output = "s"},
            {.name = "", .query = "", .keys = "", .output = "s"}};
  }
  bool uses_query() const override { return false; }

 private:
  std::string input_;
  std::int64_t steps_;
  Pointer pointer_{nullptr};
};

}  // namespace

std::vector<OptionInfo> pointer_options() {
  return {{.name = "cell",
           .fallback = std::string("lstm"),
           .doc = "the decoder",
           .choices = {"lstm", "gru"}},
          {.name = "state",
           .fallback = std::int64_t{0},
           .doc = "width of the decoder; 0 = the features'",
           .min = 0,
           .max = 65536},
          {.name = "repeat", .fallback = false, .doc = "whether a place may be pointed at again"}};
}

PartInfo pointer() {
  std::vector<OptionInfo> options = pointer_options();
  options.insert(options.begin(), {.name = "steps",
                                   .fallback = std::int64_t{3},
                                   .doc = "how often it points before it answers",
                                   .min = 1,
                                   .max = 1024});
  return {
      .id = "pointer",
      .group = Group::mechanism,
      .family = "more",
      .title = "Pointer",
      .formula =
          R"(p(y_t = l) = \mathrm{softmax}_l(\mathrm{score}(s_t, k_l)), \; s_{t+1} = \mathrm{LSTM}(k_{y_t}, s_t))",
      .paper = "Vinyals et al. 2015, eq. 3",
      .inputs = "one",
      .time = "an attention and a step of the decoder for each place",
      .memory = "O(T N)",
      .advice = "the answer is a sequence of places in the input",
      .suits = {"index-output"},
      .options = std::move(options),
      .promises = "the decoder is torch's",
      .make = MakeMechanism([](const MechanismProblem& problem) -> std::shared_ptr<Mechanism> {
        return std::make_shared<PointerReader>(problem);
      }),
  };
}

}  // namespace heed
