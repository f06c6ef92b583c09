// Checks, once, at the edge; then the kernel that was chosen.
#include "heed/attention/attend.hpp"

#include <cmath>

#include "attention/fused.hpp"
#include "attention/multi.hpp"
#include "attention/packed.hpp"
#include "attention/ring.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"
#include "heed/base/memory.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

// [B, L, D] → [B, 1, L, D]; "blhd" → "bhld".
Tensor with_heads(const Tensor& x, Layout layout, const char* name) {
  if (!x.defined()) return x;
  HEED_CHECK(x.dim() == 3 || x.dim() == 4,
             "attend: {} is {}; needed is batch×heads×length×width, or batch×length×width", name,
             shape_text(x));
  if (x.dim() == 3) return x.unsqueeze(1);
  return layout == Layout::blhd ? x.transpose(1, 2) : x;
}

void check_type(const Tensor& x, const char* name, const Tensor& like) {
  HEED_CHECK(x.is_floating_point(), "attend: {} has type {}; a floating-point type is needed", name,
             torch::toString(x.scalar_type()));
  HEED_CHECK(x.scalar_type() == like.scalar_type(),
             "attend: {} has type {}, key has type {}; they must agree", name,
             torch::toString(x.scalar_type()), torch::toString(like.scalar_type()));
  HEED_CHECK(x.device() == like.device(), "attend: {} is on {}, key is on {}; they must agree",
             name, x.device().str(), like.device().str());
}

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  HEED_CHECK(k.size(0) == v.size(0) && k.size(1) == v.size(1) && k.size(2) == v.size(2),
             "attend: key is {}, value is {}; batch, heads and length must agree", shape_text(k),
             shape_text(v));
  if (!q.defined()) return;
  HEED_CHECK(q.size(0) == k.size(0), "attend: query is {}, key is {}; the batch sizes must agree",
             shape_text(q), shape_text(k));
  HEED_CHECK(k.size(1) > 0 && q.size(1) % k.size(1) == 0,
             "attend: query is {}, key is {}; query heads must be a multiple of key heads",
             shape_text(q), shape_text(k));
}

// A mask or bias of rank 1 to 4 as [B or 1, H or 1, Q or 1, K or 1].
Tensor as_pairs(const Tensor& x, const char* name, const Visibility& see, bool heads_axis) {
  if (!x.defined()) return x;
  const std::int64_t rank = heads_axis ? 4 : 3;
  HEED_CHECK(x.dim() >= 1 && x.dim() <= rank, "attend: {} is {}; its rank must be 1 to {}", name,
             shape_text(x), rank);
  Tensor full = x;
  while (full.dim() < rank) full = full.unsqueeze(0);
  if (!heads_axis) full = full.unsqueeze(1);
  const std::int64_t sizes[] = {see.B, see.H, see.Q, see.K};
  for (std::int64_t i = 0; i < 4; ++i) {
    HEED_CHECK(full.size(i) == 1 || full.size(i) == sizes[i],
               "attend: {} is {}; it must broadcast to batch×heads×queries×keys = {}×{}×{}×{}",
               name, shape_text(x), see.B, see.H, see.Q, see.K);
  }
  return full;
}

// With `shards` the sizes are those of the whole sequence.
Visibility check_visibility(const AttendOptions& options, const Tensor& q, const Tensor& k,
                            bool heads_axis, const std::optional<RingShards>& shards) {
  Visibility see{.B = k.size(0),
                 .H = q.defined() ? q.size(1) : k.size(1),
                 .Q = q.defined() ? q.size(2) : 1,
                 .K = k.size(2),
                 .device = k.device()};
  if (shards) see.Q = shards->queries, see.K = shards->keys;
  if (options.query_offsets.defined()) {
    see.query_offsets = options.query_offsets, see.key_offsets = options.key_offsets;
    see.B = see.query_offsets.size(0) - 1;
    const auto longest = [&](const Tensor& offsets) {
      return see.B == 0 ? 0 : offsets.diff().max().item<std::int64_t>();
    };
    see.Q = longest(see.query_offsets), see.K = longest(see.key_offsets);
  }
  HEED_CHECK(!options.mask.defined() || options.mask.scalar_type() == torch::kBool,
             "attend: mask has type {}; it must be bool (true = take part); a float goes in bias",
             torch::toString(options.mask.scalar_type()));
  HEED_CHECK(!options.bias.defined() || options.bias.is_floating_point(),
             "attend: bias has type {}; it must be a float; a bool goes in mask",
             torch::toString(options.bias.scalar_type()));
  see.mask = as_pairs(options.mask, "mask", see, heads_axis);
  see.bias = as_pairs(options.bias, "bias", see, heads_axis);
  if (options.lengths.defined()) {
    HEED_CHECK(
        options.lengths.dim() == 1 && options.lengths.size(0) == see.B &&
            !options.lengths.is_floating_point(),
        "attend: lengths is {} of {}; needed are {} whole numbers, the valid keys of each entry",
        shape_text(options.lengths), torch::toString(options.lengths.scalar_type()), see.B);
    if (see.B > 0) {
      const auto [low, high] = options.lengths.aminmax();
      HEED_CHECK(low.item<std::int64_t>() >= 0 && high.item<std::int64_t>() <= see.K,
                 "attend: lengths hold {} … {}; key has {} positions", low.item<std::int64_t>(),
                 high.item<std::int64_t>(), see.K);
    }
    see.lengths = options.lengths.to(see.device, torch::kInt64);
  }
  see.causal = options.causal;
  const bool alike = see.query_offsets.defined() ? torch::equal(see.query_offsets, see.key_offsets)
                                                 : see.Q == see.K;
  HEED_CHECK(see.causal.corner != Causal::Corner::same || alike,
             "attend: causal=True with {} queries and {} keys is ambiguous; say \"top-left\", "
             "\"bottom-right\" or an "
             "offset",
             see.Q, see.K);
  see.window = options.window;
  HEED_CHECK(!see.window || ((*see.window)[0] >= -1 && (*see.window)[1] >= -1),
             "attend: window is ({}, {}); each side is −1 (unbounded) or more", (*see.window)[0],
             (*see.window)[1]);
  return see;
}

Tensor per_head_vector(const Tensor& x, const char* name, std::int64_t heads) {
  HEED_CHECK(!x.defined() || (x.dim() == 1 && x.size(0) == heads && x.is_floating_point()),
             "attend: {} is {}; needed is one number for each of {} query heads", name,
             shape_text(x), heads);
  return x;
}

void check_numbers(const AttendOptions& options) {
  HEED_CHECK(!options.scale || std::isfinite(*options.scale),
             "attend: scale is {}; it must be finite", *options.scale);
  HEED_CHECK(!options.softcap || (std::isfinite(*options.softcap) && *options.softcap > 0),
             "attend: softcap is {}; it must be finite and above 0", *options.softcap);
  HEED_CHECK(options.dropout_p >= 0 && options.dropout_p < 1,
             "attend: dropout_p is {}; needed is 0 ≤ p < 1", options.dropout_p);
}

void check_want(const Want& want, const Align& align, const std::string& id, std::int64_t queries) {
  HEED_CHECK(!want.lse || align.has_lse(), "attend: want lse: align '{}' has none", id);
  HEED_CHECK(!(want.logp || want.choice_entropy) || align.has_logp(),
             "attend: want logp: align '{}' chooses no key; 'hard' does", id);
  HEED_CHECK(want.topk >= 0, "attend: want topk is {}; it must be above 0", want.topk);
  for (const std::int64_t row : want.rows) {
    HEED_CHECK(row >= 0 && row < queries, "attend: want rows names query {}; there are {}", row,
               queries);
  }
}

template <class Part, class Make>
std::unique_ptr<Part> make_part(Group group, const PartSpec& spec, const PartInfo*& info) {
  info = &attention_parts().find_built(group, spec.id);
  return std::get<Make>(info->make)(
      resolve(*info, spec.options, fmt::format("attend: {}", name(group))));
}

// Splits the given parameters between the score and the alignment, by name.
void share_params(const AttendOptions& options, CheckedCall& call) {
  for (const auto& [name, tensor] : options.params) {
    bool of_align = false;
    for (const ParamInfo& info : call.align->params()) of_align |= info.name == name;
    (of_align ? call.align_params : call.score_params)[name] = tensor;
  }
  check_params("attend: score '" + options.score.id + "'",
               call.multi ? multi_params() : call.score->params(), call.score_params, call.problem);
  check_params("attend: align '" + options.align.id + "'", call.align->params(), call.align_params,
               call.problem);
}

/// Which kernel serves the call, and why the others do not. Decided by types, options and parts
/// alone, never by the batch size or the threads.
struct KernelChoice {
  Kernel kernel;
  std::string why;
};

KernelChoice choose_kernel(Kernel wanted, const CheckedCall& call) {
  if (wanted == Kernel::reference) return {Kernel::reference, "reference: as asked"};
  if (wanted == Kernel::unfused) {
    const std::string reasons = join(unfused_unsupported(call), "; ");
    HEED_CHECK(reasons.empty(), "attend: kernel 'unfused' cannot serve this call: {}", reasons);
    return {Kernel::unfused, "unfused: as asked"};
  }
  const std::string reasons =
      join(call.multi ? multi_unsupported(call) : fused_unsupported(call), "; ");
  HEED_CHECK(wanted != Kernel::fused || reasons.empty(),
             "attend: kernel 'fused' cannot serve this call: {}", reasons);
  if (reasons.empty()) {
    return {Kernel::fused, call.multi ? "fused: multi-dimensional additive" : fused_name(call)};
  }
  return {Kernel::reference, "reference: the fused kernel cannot serve this call: " + reasons};
}

AttendResult run(const CheckedCall& call, Kernel kernel) {
  if (call.multi) return attend_multi(call, kernel == Kernel::fused);
  if (kernel == Kernel::fused) return attend_fused(call);
  if (call.visibility.query_offsets.defined()) return packed_reference(call);
  return attend_reference(call);
}

// Takes the heads axis out again, and restores the layout.
void restore(AttendResult& result, bool heads_axis, Layout layout) {
  for (Tensor* x : {&result.output, &result.weights, &result.scores, &result.lse, &result.logp,
                    &result.choice_entropy, &result.entropy, &result.received, &result.topk_weights,
                    &result.topk_keys, &result.rows}) {
    if (x->defined() && !heads_axis) *x = x->squeeze(1);
  }
  if (heads_axis && layout == Layout::blhd) result.output = result.output.transpose(1, 2);
}

/// Refuses a call whose pairs of queries and keys would not fit, before anything is computed.
void check_memory(const CheckedCall& call, Kernel kernel, const PartInfo& align) {
  const bool fused = kernel == Kernel::fused;
  if (fused && !call.want.weights && !call.want.scores) return;
  if (call.visibility.query_offsets.defined()) return;  // entry by entry
  const Visibility& v = call.visibility;
  const bool learns =
      torch::GradMode::is_enabled() && (call.query.requires_grad() || call.key.requires_grad());
  // What is kept for the gradient is about half of what an alignment takes beyond a softmax, and of
  // an additive score's hidden layer for every pair.
  double matrices = fused ? 1 : learns ? align.matrices : (align.matrices + kSoftmaxMatrices) / 2;
  if (const auto hidden = call.score_params.find("W2"); !fused && hidden != call.score_params.end())
    matrices += (learns ? 2 : 1) * static_cast<double>(hidden->second.size(-2));
  check_room(
      matrices * static_cast<double>(v.B) * static_cast<double>(v.H) * static_cast<double>(v.Q) *
          static_cast<double>(v.K) * static_cast<double>(call.key.element_size()),
      "attend",
      [&] {
        return fmt::format("{} entries × {} heads × {} queries × {} keys", v.B, v.H, v.Q, v.K);
      },
      fmt::format(
          "take a smaller batch (train.batch) or shorter inputs (task.max_length){}",
          fused ? ", or do not ask for weights" : ", or parts that the fused kernel serves"));
}

}  // namespace

AttendResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttendOptions& options) {
  HEED_CHECK(key.defined() && value.defined(), "attend: key and value are needed");
  const bool heads_axis = key.dim() == 4;
  HEED_CHECK(value.dim() == key.dim() && (!query.defined() || query.dim() == key.dim()),
             "attend: query is {}, key is {}, value is {}; all must have 3 or all 4 dimensions",
             query.defined() ? shape_text(query) : "absent", shape_text(key), shape_text(value));
  CheckedCall call{.query = with_heads(query, options.layout, "query"),
                   .key = with_heads(key, options.layout, "key"),
                   .value = with_heads(value, options.layout, "value")};
  check_type(key, "key", key);
  check_type(value, "value", key);
  if (query.defined()) check_type(query, "query", key);
  check_shapes(call.query, call.key, call.value);
  check_numbers(options);

  std::optional<RingShards> shards;
  if (options.group != nullptr) shards = agree_on_shards(options, call.query, call.key, call.value);
  call.visibility = check_visibility(options, call.query, call.key, heads_axis, shards);
  call.problem = {.query_dim = query.defined() ? call.query.size(3) : 0,
                  .key_dim = call.key.size(3),
                  .value_dim = call.value.size(3),
                  .heads = call.visibility.H};
  attention_parts().find_built(Group::dimensionality, options.dimensionality);
  const PartInfo *score_info, *align_info;
  const auto score = make_part<Score, MakeScore>(Group::score, options.score, score_info);
  const auto align = make_part<Align, MakeAlign>(Group::align, options.align, align_info);
  call.score = score.get();
  call.align = align.get();
  call.multi = options.dimensionality == "multi";
  HEED_CHECK(!call.multi || (options.score.id == "additive" && options.align.id == "soft" &&
                             align->has_form() && !options.sink.defined() &&
                             !options.weights.defined() && !options.query_offsets.defined()),
             "attend: dimensionality 'multi' goes with score 'additive' and align 'soft', without "
             "temperature, sink, given weights or packing");
  HEED_CHECK(query.defined() || score->query_optional(), "attend: score '{}' needs a query",
             options.score.id);
  HEED_CHECK(query.defined() || !align->needs_query(), "attend: align '{}' needs a query",
             options.align.id);
  check_want(options.want, *align, options.align.id, call.visibility.Q);
  if (score_info->unsupported) {
    for (const std::string& reason : score_info->unsupported(call.problem)) {
      throw InputError(fmt::format("attend: score '{}': {}", options.score.id, reason));
    }
  }
  if (!options.weights.defined()) share_params(options, call);

  call.alibi = per_head_vector(options.alibi, "alibi slopes", call.visibility.H);
  call.sink = per_head_vector(options.sink, "sink", call.visibility.H);
  HEED_CHECK(!call.sink.defined() || options.align.id == "soft",
             "attend: a sink goes with align 'soft', not '{}'", options.align.id);
  call.weights = options.weights.defined()
                     ? as_pairs(options.weights, "weights", call.visibility, heads_axis)
                     : Tensor();
  call.scale = options.scale.value_or(score->default_scale(call.problem));
  call.softcap = options.softcap;
  call.dropout_p = options.dropout_p;
  if (call.dropout_p > 0 || align->draws()) {
    call.seed = options.seed
                    ? *options.seed
                    : static_cast<std::uint64_t>(
                          torch::randint(INT64_MAX, {1}, torch::kInt64).item<std::int64_t>());
  }
  call.want = options.want;

  if (shards) {
    AttendResult result = attend_ring(call, *shards);
    restore(result, heads_axis, options.layout);
    return result;
  }
  const KernelChoice choice = choose_kernel(options.kernel, call);
  call.own_products = choice.kernel == Kernel::unfused;
  check_memory(call, choice.kernel, *align_info);
  AttendResult result = run(call, choice.kernel);
  if (options.want.kernel) result.kernel = choice.why;
  restore(result, heads_axis, options.layout);
  return result;
}

}  // namespace heed
