// What ranks must agree on before keys go round, and what can be merged at all.
#include "attention/ring.hpp"

#include <bit>

#include "base/hash.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

/// What every rank tells the others: names for messages, and one number each.
struct Told {
  static constexpr std::array<const char*, 10> kNames = {"batch size",
                                                         "number of query heads",
                                                         "number of key heads",
                                                         "key width",
                                                         "value width",
                                                         "type",
                                                         "need of gradients",
                                                         "options",
                                                         "queries",
                                                         "keys"};
  static constexpr std::size_t kAlike = 8;  // the others are each rank's own
  std::array<std::int64_t, kNames.size()> numbers;
};

/// One number for what must be the same everywhere.
std::int64_t digest(const AttendOptions& options) {
  std::uint64_t hash = hash_text(options.score.id);
  const auto add = [&](auto x) {
    const auto bytes = std::bit_cast<std::array<char, sizeof x>>(x);
    hash = hash_text({bytes.data(), bytes.size()}, hash);
  };
  const auto add_tensor = [&](const Tensor& x) {
    if (!x.defined()) return add('-');
    const Tensor numbers = x.detach().to(torch::kCPU, torch::kFloat64).contiguous();
    for (std::int64_t i = 0; i < numbers.numel(); ++i) add(numbers.const_data_ptr<double>()[i]);
  };
  add(options.causal.corner);
  add(options.causal.offset);
  for (const std::int64_t side : options.window.value_or(std::array<std::int64_t, 2>{-2, -2}))
    add(side);
  add(options.scale.value_or(0));
  add(options.softcap.value_or(0));
  add_tensor(options.lengths);
  add_tensor(options.alibi);
  // Sums over ranks do not overflow: one adds, the others 0.
  return static_cast<std::int64_t>(hash >> 16);
}

bool any_learns(std::initializer_list<Tensor> tensors) {
  return torch::GradMode::is_enabled() &&
         std::ranges::any_of(tensors, [](const Tensor& x) { return x.requires_grad(); });
}

std::vector<Told> tell_all(dist::Group& group, const Told& mine) {
  const std::size_t width = mine.numbers.size();
  std::vector<std::int64_t> table(static_cast<std::size_t>(group.size()) * width);
  std::ranges::copy(mine.numbers,
                    table.begin() + group.rank() * static_cast<std::ptrdiff_t>(width));
  group.sum(table)->wait();
  std::vector<Told> all(static_cast<std::size_t>(group.size()));
  for (std::size_t r = 0; r < all.size(); ++r)
    std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(r * width), width,
                all[r].numbers.begin());
  return all;
}

/// The parts that ring_split gives; where no place matters, whatever the ranks hold.
std::vector<RingSpans> spans_of(const std::vector<Told>& all, std::size_t which, bool placed,
                                std::int64_t& length) {
  const int N = static_cast<int>(all.size());
  length = 0;
  for (const Told& told : all) length += told.numbers[which];
  std::vector<RingSpans> result;
  for (int r = 0; r < N; ++r) {
    const std::int64_t count = all[static_cast<std::size_t>(r)].numbers[which];
    const RingSpans due = ring_spans(length, r, N);
    HEED_CHECK(!placed || count == due[0].count + due[1].count,
               "attend over a group: rank {} holds {} of {} {}; ring_split gives it {}, and with "
               "causal, window, lengths or alibi places matter",
               r, count, length, Told::kNames[which], due[0].count + due[1].count);
    result.push_back(placed ? due : RingSpans{{{0, count}, {count, 0}}});
  }
  return result;
}

const char* why_not(const AttendOptions& options) {
  if (options.mask.defined() || options.bias.defined())
    return "a mask or bias is as large as all pairs; say causal, window, lengths or alibi";
  if (options.dropout_p > 0)
    return "dropout of weights would differ from one process's; drop features instead";
  if (options.sink.defined()) return "a sink is not merged; leave it out";
  if (options.weights.defined()) return "given weights are as large as all pairs";
  if (options.query_offsets.defined()) return "a packed batch is not split; pad it, say lengths";
  if (options.dimensionality != "single") return "multi-dimensional weights are not merged";
  if (options.kernel == Kernel::unfused || options.kernel == Kernel::reference)
    return "only the fused kernel gives what is merged; kernel must be 'auto' or 'fused'";
  const Want& want = options.want;
  if (want.weights || want.scores || want.entropy || want.received || want.topk > 0 ||
      !want.rows.empty() || want.logp || want.choice_entropy)
    return "lse and kernel can be wanted; weights are spread over the ranks";
  return nullptr;
}

}  // namespace

RingShards agree_on_shards(const AttendOptions& options, const Tensor& query, const Tensor& key,
                           const Tensor& value) {
  const char* reason = query.defined() ? why_not(options) : "a query is needed";
  HEED_CHECK(reason == nullptr, "attend over a group: {}", reason);
  HEED_CHECK(options.align.id == "soft",
             "attend over a group: align '{}' needs whole rows of scores; only 'soft' is merged "
             "exactly from parts, by log-sum-exp",
             options.align.id);
  dist::Group& group = *options.group;
  const std::vector<Told> all = tell_all(
      group, {{key.size(0), query.size(1), key.size(1), key.size(3), value.size(3),
               static_cast<std::int64_t>(key.scalar_type()), any_learns({query, key, value}),
               digest(options), query.size(2), key.size(2)}});
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (std::size_t i = 0; i < Told::kAlike; ++i) {
      HEED_CHECK(all[r].numbers[i] == all[0].numbers[i],
                 "attend over a group: ranks 0 and {} differ in their {}; all must be the same", r,
                 Told::kNames[i]);
    }
  }
  const bool placed = options.causal.corner != Causal::Corner::none || options.window ||
                      options.lengths.defined() || options.alibi.defined();
  RingShards shards{.group = &group};
  shards.query_spans = spans_of(all, 8, placed, shards.queries);
  shards.key_spans = spans_of(all, 9, placed, shards.keys);
  return shards;
}

AttendResult attend_ring(const CheckedCall& call, const RingShards& shards) {
  const std::string reasons = join(fused_unsupported(call), "; ");
  HEED_CHECK(reasons.empty(), "attend over a group: {}", reasons);
  HEED_CHECK(call.score->form() == ScoreForm::Kind::dot,
             "attend over a group: additive scores are not merged; take a score that is a product, "
             "such as 'scaled-dot' or 'general'");
  const ScoreForm score = call.score->operands(call.query, call.key, call.score_params);
  HEED_CHECK(!score.row_bias.defined(),
             "attend over a group: a score with a bias in its activation is not merged; take "
             "'scaled-dot' or 'general'");
  auto plan = std::make_shared<RingPlan>();
  plan->shards = shards;
  plan->kernel = make_plan(call, score);
  Tensor key = score.key, value = call.value;
  match_heads(key, value, call.visibility.H, false);
  plan->trains = any_learns({score.query, key, value});
  const auto [output, lse] = run_ring(score.query, key, value, plan);
  AttendResult result;
  result.output = output;
  if (call.want.lse) result.lse = lse;
  if (call.want.kernel)
    result.kernel = fmt::format("ring of {} ranks: {}", shards.size(), fused_name(call));
  return result;
}

}  // namespace heed
