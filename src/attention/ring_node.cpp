// The ring as a node of torch's graph. Both directions go round once: forward merges what each
// piece of keys gives by its rows' maxima and sums; backward computes the weights again from the
// merged ones, and the keys' gradients travel behind their keys until they are home.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/torch.h>

#include "attention/ring_passes.hpp"
#include "heed/base/error.hpp"
#include "kernels/geometry.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RingHolder : torch::CustomClassHolder {
  explicit RingHolder(std::shared_ptr<const RingPlan> kept) : plan(std::move(kept)) {}
  std::shared_ptr<const RingPlan> plan;
};

/// The operands of one tile, and the problem that the kernel solves on them.
struct TileCall {
  Tensor query, key, value, lengths;
  kernels::AttentionProblem problem;

  TileCall(const FusedPlan& plan, const RingTile& tile, const Tensor& queries,
           const RingPiece& keys)
      : query(rows(queries, tile)),
        key(columns(keys.key(), tile).to(queries.scalar_type())),
        value(columns(keys.value(), tile).to(queries.scalar_type())),
        problem(plan.problem(query, key, value)) {
    problem.batch = tile.entries, problem.queries = tile.rows, problem.keys = tile.columns;
    const bool causal = plan.visibility.causal.corner != Causal::Corner::none;
    problem.causal = causal ? kernels::Causal::offset : kernels::Causal::none;
    problem.offset = tile.offset;
    if (!plan.visibility.lengths.defined()) return;
    lengths = plan.visibility.lengths.narrow(0, tile.entry, tile.entries) - tile.first_key;
    lengths = lengths.clamp(0, tile.columns);
    problem.lengths = lengths.const_data_ptr<std::int64_t>();
  }

  static Tensor rows(const Tensor& x, const RingTile& t) {
    return x.narrow(0, t.entry, t.entries).narrow(2, t.row, t.rows);
  }
  static Tensor columns(const Tensor& x, const RingTile& t) {
    return x.narrow(0, t.entry, t.entries).narrow(2, t.column, t.columns);
  }
};

/// What a rank's queries have seen so far: for each row the largest score, the sum of e^(score −
/// largest), and the same sum of the values.
struct Seen {
  Tensor values;    // [B, H, Q, d_v]
  Tensor top, sum;  // [B, H, Q, 1]
  double unit = 1;  // what the kernel's maxima are multiplied by to be scores

  Seen(const Tensor& query, std::int64_t value_width)
      : values(torch::zeros({query.size(0), query.size(1), query.size(2), value_width},
                            query.options())),
        top(torch::full({query.size(0), query.size(1), query.size(2), 1}, -HUGE_VAL,
                        query.options())),
        sum(torch::zeros_like(top)) {}

  /// Rows without a key have a sum of 0, and whatever they hold counts for nothing.
  void merge(const RingTile& tile, const Tensor& output, const Tensor& state) {
    const Tensor their_top = state.narrow(3, 0, 1), divide = state.narrow(3, 1, 1);
    Tensor our_values = TileCall::rows(values, tile), our_top = TileCall::rows(top, tile);
    Tensor our_sum = TileCall::rows(sum, tile);
    const Tensor live = divide != 0;
    const Tensor higher = torch::where(live, torch::maximum(our_top, their_top), our_top);
    const auto factor = [&](const Tensor& from, const Tensor& counts) {
      return ((from - higher) * unit).exp().where(counts, torch::zeros({}, from.options()));
    };
    const Tensor ours = factor(our_top, our_sum != 0);
    const Tensor theirs = factor(their_top, live) *
                          divide.reciprocal().where(live, torch::zeros({}, divide.options()));
    our_values.mul_(ours).addcmul_(output, theirs);
    our_sum.mul_(ours).add_(theirs);
    our_top.copy_(higher);
  }

  /// Divides by the sums: `values` are then the output. The rows' state for the backward pass.
  Tensor finish() {
    const Tensor live = sum != 0, zero = torch::zeros({}, sum.options());
    const Tensor divide = sum.reciprocal().where(live, zero);
    values.mul_(divide);
    const Tensor rest = torch::zeros_like(sum).expand({-1, -1, -1, kernels::kRowState - 2});
    return torch::cat({top.where(live, zero), divide, rest}, 3);
  }

  Tensor lse() const { return (top * unit + sum.log()).squeeze(3).to(torch::kFloat32); }
};

/// A tile's part of the output, merged.
void look_at_tile(const FusedPlan& plan, const RingTile& tile, const Tensor& query,
                  const RingPiece& keys, Seen& seen) {
  const TileCall call(plan, tile, query, keys);
  const std::int64_t H = query.size(1);
  Tensor out = torch::empty({tile.entries, H, tile.rows, call.value.size(3)}, query.options());
  const Tensor state =
      torch::empty({tile.entries, H, tile.rows, kernels::kRowState}, query.options());
  kernels::attention_forward(call.problem,
                             {.out = kernel_output(out), .state = state.mutable_data_ptr()});
  seen.unit = kernels::has_plain_scores(call.problem) ? call.problem.scale : 1;
  seen.merge(tile, out, state);
}

/// What the backward pass knows of this rank's queries, all in the working type.
struct RingRows {
  Tensor query, out, grad_out, state, grad_lse;
  Tensor grad_query;  // grows
};

/// Adds a tile's gradients to the queries' and to those of the keys at hand.
void learn_from_tile(const FusedPlan& plan, const RingTile& tile, RingRows& rows,
                     const RingPiece& keys, const RingPiece& grads) {
  const TileCall call(plan, tile, rows.query, keys);
  const Tensor out = TileCall::rows(rows.out, tile), grad = TileCall::rows(rows.grad_out, tile);
  const Tensor state = TileCall::rows(rows.state, tile).contiguous();
  Tensor grad_lse;
  if (rows.grad_lse.defined()) grad_lse = TileCall::rows(rows.grad_lse, tile).contiguous();
  Tensor dq = torch::empty(call.query.sizes(), call.query.options());
  Tensor dk = torch::empty(call.key.sizes(), call.query.options());
  Tensor dv = torch::empty(call.value.sizes(), call.query.options());
  kernels::attention_backward(
      call.problem,
      {.out = kernel_input(out),
       .grad_out = kernel_input(grad),
       .state = state.const_data_ptr(),
       .grad_lse = grad_lse.defined() ? grad_lse.const_data_ptr<float>() : nullptr},
      {.query = kernel_output(dq), .key = kernel_output(dk), .value = kernel_output(dv)});
  TileCall::rows(rows.grad_query, tile).add_(dq);
  TileCall::columns(grads.key(), tile).add_(dk);
  TileCall::columns(grads.value(), tile).add_(dv);
}

/// The gradients of this rank's keys and values, [B, G, K, d], while those of the queries grow.
std::array<Tensor, 2> pass_back(const RingPlan& plan, const Tensor& key, const Tensor& value,
                                RingRows& rows) {
  dist::Group& group = *plan.shards.group;
  RingPasses passes(plan, key, value);
  const auto working = rows.query.scalar_type();
  const auto room = [&] { return RingPiece(key, value, passes.longest(), working); };
  RingPiece fresh = room(), behind = room(), summed = room();
  Tensor grad_key = torch::empty(key.sizes(), key.options());
  Tensor grad_value = torch::empty(value.sizes(), value.options());
  const RingSpans& held = plan.shards.key_spans[static_cast<std::size_t>(plan.shards.rank())];
  for (std::int64_t piece = 0; piece < passes.pieces(); ++piece) {
    passes.go_round(piece, [&](int pass, const RingPiece& keys, const RingSpans& spans,
                               const std::function<void()>& drive) {
      const std::int64_t count = passes.count(passes.owner(pass), piece);
      fresh.resize(count), behind.resize(count);
      std::unique_ptr<dist::Work> following;  // what the ranks before found for the same keys
      if (pass > 0)
        following = group.exchange(summed.bytes(), passes.next(), behind.bytes(), passes.last());
      fresh.all().zero_();
      for (const RingTile& tile : ring_tiles(plan, spans)) {
        learn_from_tile(*plan.kernel, tile, rows, keys, fresh);
        drive();
        if (following) following->done();
      }
      if (following) {
        following->wait();
        fresh.all().add_(behind.all());
      }
      std::swap(fresh, summed);
    });
    if (plan.shards.size() > 1) {
      behind.resize(passes.count(plan.shards.rank(), piece));
      group.exchange(summed.bytes(), passes.next(), behind.bytes(), passes.last())->wait();
      std::swap(behind, summed);
    }
    const RingSpans own = passes.spans(plan.shards.rank(), piece);
    std::int64_t column = 0, skipped = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::int64_t row = skipped + own[i].first - held[i].first, count = own[i].count;
      grad_key.narrow(2, row, count).copy_(summed.key().narrow(2, column, count));
      grad_value.narrow(2, row, count).copy_(summed.value().narrow(2, column, count));
      column += count, skipped += held[i].count;
    }
  }
  return {grad_key, grad_value};
}

class RingAttention : public torch::autograd::Function<RingAttention> {
 public:
  static variable_list forward(AutogradContext* ctx, const Tensor& query, const Tensor& key,
                               const Tensor& value, const std::shared_ptr<const RingPlan>& plan) {
    const Tensor q = query.to(working_type(query.scalar_type()));
    Seen seen(q, value.size(3));
    RingPasses passes(*plan, key, value);
    for (std::int64_t piece = 0; piece < passes.pieces(); ++piece) {
      passes.go_round(piece, [&](int, const RingPiece& keys, const RingSpans& spans,
                                 const std::function<void()>& drive) {
        for (const RingTile& tile : ring_tiles(*plan, spans)) {
          look_at_tile(*plan->kernel, tile, q, keys, seen);
          drive();
        }
      });
    }
    const Tensor lse = seen.lse(), state = seen.finish();
    const Tensor out = seen.values.to(query.scalar_type());
    if (plan->trains) {
      ctx->save_for_backward({query, key, value, seen.values, state});
      ctx->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<RingHolder>(plan));
    }
    ctx->set_materialize_grads(false);
    return {out, lse};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "attend over a group: the ring has no second derivative");
    const variable_list saved = ctx->get_saved_variables();
    const RingPlan& plan =
        *static_cast<const RingHolder&>(*ctx->saved_data["plan"].toCapsule()).plan;
    const Tensor &query = saved[0], &key = saved[1], &value = saved[2], &out = saved[3];
    const auto working = out.scalar_type();
    RingRows rows{
        .query = query.to(working),
        .out = out,
        .grad_out = gradients[0].defined() ? gradients[0].to(working) : torch::zeros_like(out),
        .state = saved[4],
        .grad_query = torch::zeros(query.sizes(), out.options())};
    if (gradients[1].defined()) rows.grad_lse = gradients[1].to(torch::kFloat32).unsqueeze(3);
    const auto [grad_key, grad_value] = pass_back(plan, key, value, rows);
    return {rows.grad_query.to(query.scalar_type()), grad_key, grad_value, Tensor()};
  }
};

}  // namespace

std::array<Tensor, 2> run_ring(const Tensor& query, const Tensor& key, const Tensor& value,
                               std::shared_ptr<const RingPlan> plan) {
  const variable_list run = RingAttention::apply(query, key, value, std::move(plan));
  return {run[0], run[1]};
}

}  // namespace heed
