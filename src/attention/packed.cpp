// Ragged batches without padding: entry b has rows offsets[b] .. offsets[b + 1] of one long axis.
#include "attention/packed.hpp"

#include "heed/base/error.hpp"

namespace heed {
namespace {

void check_offsets(const Tensor& offsets, const char* name, const Tensor& rows, const char* of) {
  HEED_CHECK(offsets.defined() && offsets.dim() == 1 && offsets.size(0) >= 1 &&
                 !offsets.is_floating_point() && offsets.scalar_type() != torch::kBool,
             "attend_packed: {} is {}; needed are whole numbers, one more than entries", name,
             offsets.defined() ? shape_text(offsets) : "absent");
  const Tensor whole = offsets.to(torch::kInt64);
  const std::int64_t last = whole[-1].item<std::int64_t>();
  HEED_CHECK(whole[0].item<std::int64_t>() == 0 && last == rows.size(0),
             "attend_packed: {} run from {} to {}; needed is 0 to {}, the rows of {} ({})", name,
             whole[0].item<std::int64_t>(), last, rows.size(0), of, shape_text(rows));
  HEED_CHECK((whole.diff() >= 0).all().item<bool>(), "attend_packed: {} fall somewhere", name);
}

Tensor narrow_pairs(const Tensor& x, std::int64_t b, std::int64_t queries, std::int64_t keys) {
  if (!x.defined()) return x;
  Tensor part = x.size(0) == 1 ? x : x.narrow(0, b, 1);
  if (part.size(2) != 1) part = part.narrow(2, 0, queries);
  return part.size(3) == 1 ? part : part.narrow(3, 0, keys);
}

}  // namespace

AttendResult attend_packed(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& query_offsets, const Tensor& key_offsets,
                           const AttendOptions& options) {
  for (const auto& [x, name] : {std::pair{query, "query"}, {key, "key"}, {value, "value"}}) {
    HEED_CHECK(x.defined() && x.dim() == 3, "attend_packed: {} is {}; needed is total×heads×width",
               name, x.defined() ? shape_text(x) : "absent");
  }
  HEED_CHECK(key.size(0) == value.size(0),
             "attend_packed: key is {}, value is {}; their rows must agree", shape_text(key),
             shape_text(value));
  check_offsets(query_offsets, "q_offsets", query, "query");
  check_offsets(key_offsets, "k_offsets", key, "key");
  HEED_CHECK(query_offsets.size(0) == key_offsets.size(0),
             "attend_packed: q_offsets name {} entries, k_offsets {}; they must agree",
             query_offsets.size(0) - 1, key_offsets.size(0) - 1);
  HEED_CHECK(!options.lengths.defined(), "attend_packed: the offsets say the lengths already");
  const Want& want = options.want;
  HEED_CHECK(
      !want.weights && !want.scores && !want.choice_entropy && want.topk == 0 && want.rows.empty(),
      "attend_packed: lse, logp, entropy, received and kernel can be wanted");
  AttendOptions inside = options;
  inside.layout = Layout::bhld;
  inside.query_offsets = query_offsets.to(torch::kInt64).contiguous();
  inside.key_offsets = key_offsets.to(torch::kInt64).contiguous();
  const auto heads_first = [](const Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
  AttendResult result = attend(heads_first(query), heads_first(key), heads_first(value), inside);
  result.output = result.output.squeeze(0).transpose(0, 1);
  for (Tensor* x : {&result.lse, &result.logp, &result.entropy, &result.received}) {
    if (x->defined()) *x = x->squeeze(0).transpose(0, 1);  // [total, H]
  }
  return result;
}

AttendResult packed_reference(const CheckedCall& call) {
  HEED_CHECK(call.dropout_p == 0 && !call.align->draws(),
             "attend_packed: dropout and sampling need the fused kernel");
  const Visibility& see = call.visibility;
  std::vector<std::vector<Tensor>> parts(5);
  for (std::int64_t b = 0; b < see.B; ++b) {
    const auto of = [&](const Tensor& offsets) {
      const std::int64_t first = offsets[b].item<std::int64_t>();
      return std::pair{first, offsets[b + 1].item<std::int64_t>() - first};
    };
    const auto [first_query, queries] = of(see.query_offsets);
    const auto [first_key, keys] = of(see.key_offsets);
    CheckedCall one = call;
    one.query = call.query.narrow(2, first_query, queries);
    one.key = call.key.narrow(2, first_key, keys);
    one.value = call.value.narrow(2, first_key, keys);
    one.visibility.B = 1, one.visibility.Q = queries, one.visibility.K = keys;
    one.visibility.query_offsets = one.visibility.key_offsets = Tensor();
    one.visibility.mask = narrow_pairs(see.mask, b, queries, keys);
    one.visibility.bias = narrow_pairs(see.bias, b, queries, keys);
    const AttendResult r = attend_reference(one);
    parts[0].push_back(r.output);
    if (call.want.lse) parts[1].push_back(r.lse);
    if (call.want.entropy) parts[2].push_back(r.entropy);
    if (call.want.received) parts[3].push_back(r.received);
    if (call.want.logp) parts[4].push_back(r.logp);
  }
  AttendResult result;
  result.output = parts[0].empty() ? torch::zeros_like(call.query) : torch::cat(parts[0], 2);
  if (!parts[1].empty()) result.lse = torch::cat(parts[1], 2);
  if (!parts[2].empty()) result.entropy = torch::cat(parts[2], 2);
  if (!parts[3].empty()) result.received = torch::cat(parts[3], 2);
  if (!parts[4].empty()) result.logp = torch::cat(parts[4], 2);
  return result;
}

}  // namespace heed
