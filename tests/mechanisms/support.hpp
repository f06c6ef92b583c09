#pragma once
#include <gtest/gtest.h>

#include "attention/gradcheck.hpp"
#include "heed/base/error.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

constexpr auto kFull = torch::kFloat64;

inline double greatest(const Tensor& x) { return x.abs().max().item<double>(); }

inline Inputs text_of(const Tensor& x, const Tensor& lengths = {}) {
  Inputs inputs;
  inputs.set("text", x, lengths);
  return inputs;
}

/// What the code complains about; "no error" if it does not.
inline std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// Holds the gradient of each parameter against a central difference along a random direction.
inline void check_parameters(torch::nn::Module& module, const std::function<Tensor()>& f) {
  const Tensor r = torch::randn_like(f());
  const auto loss = [&] { return (f() * r).sum(); };
  for (const auto& item : module.named_parameters()) {
    Tensor parameter = item.value();
    const Tensor gradient = torch::autograd::grad({loss()}, {parameter}, {}, {}, false, true)[0];
    ASSERT_TRUE(gradient.defined()) << item.key() << " has no gradient";
    const Tensor along = torch::randn_like(parameter);
    const torch::NoGradGuard no_grad;
    const Tensor kept = parameter.clone();
    constexpr double kStep = 1e-5;
    parameter.copy_(kept + kStep * along);
    const double above = loss().item<double>();
    parameter.copy_(kept - kStep * along);
    const double expected = (above - loss().item<double>()) / (2 * kStep);
    parameter.copy_(kept);
    EXPECT_NEAR((gradient * along).sum().item<double>(), expected, 1e-7 + 1e-6 * std::abs(expected))
        << item.key();
  }
}

/// What is promised of every mechanism over one input "text": gradients against central
/// differences, a batch of mixed lengths equals each alone, NaN behind the lengths reaches no
/// output and no gradient, the weights `map` can be replaced, differentiably. `query` may be
/// undefined. The context is [B, D], or with `sequence` [B, N, D].
inline void hold_promises(Mechanism& mechanism, const std::string& map, const Tensor& x,
                          const Tensor& query = {}, bool sequence = false) {
  const Tensor lengths = torch::tensor({x.size(1), x.size(1) / 2, std::int64_t{0}});
  ASSERT_EQ(x.size(0), 3);
  const auto run = [&](const Tensor& data, const Tensor& n, Trace& trace) {
    Inputs inputs = text_of(data, n);
    if (query.defined()) inputs.query = query.narrow(0, 0, data.size(0));
    return mechanism.forward(inputs, trace);
  };
  const auto cut = [&](const Tensor& c, std::int64_t b) {
    return sequence ? c[b].narrow(0, 0, lengths[b].item<std::int64_t>()) : c[b];
  };
  Trace quiet;
  check_gradients([&](const std::vector<Tensor>& in) { return run(in[0], lengths, quiet); }, {x},
                  "features");
  check_parameters(mechanism, [&] { return run(x, lengths, quiet); });
  const Tensor whole = run(x, lengths, quiet);
  const Tensor first = run(x.narrow(0, 0, 1), {}, quiet);
  EXPECT_LT(greatest(cut(whole, 0) - first[0]), 1e-12);
  // The second entry alone, in the first place, so that it meets the same query.
  Inputs alone = text_of(x.narrow(0, 1, 1).narrow(1, 0, x.size(1) / 2));
  if (query.defined()) alone.query = query.narrow(0, 1, 1);
  EXPECT_LT(greatest(cut(whole, 1) - mechanism.forward(alone, quiet)[0]), 1e-12);

  for (const std::int64_t n : {0, 1}) {
    const Tensor few = run(x.narrow(1, 0, n), {}, quiet);
    EXPECT_TRUE(torch::isfinite(few).all().item<bool>()) << "length " << n;
    EXPECT_EQ(few.size(-1), whole.size(-1)) << "length " << n;
  }

  Tensor bad = x.clone();
  bad[1].narrow(0, x.size(1) / 2, x.size(1) - x.size(1) / 2).fill_(NAN);
  bad[2].fill_(NAN);
  bad.set_requires_grad(true);
  mechanism.zero_grad();
  const Tensor poisoned = run(bad, lengths, quiet);
  EXPECT_LT(greatest(cut(poisoned, 1) - cut(whole, 1)), 1e-15);
  EXPECT_TRUE(sequence || torch::isfinite(poisoned).all().item<bool>());
  (cut(poisoned, 0).sum() + cut(poisoned, 1).square().sum() +
   (sequence ? bad[0][0][0] : poisoned[2].sum()))
      .backward();
  EXPECT_TRUE(torch::isfinite(bad.grad()).all().item<bool>());
  for (const auto& item : mechanism.named_parameters()) {
    const Tensor gradient = item.value().grad();
    EXPECT_TRUE(!gradient.defined() || torch::isfinite(gradient).all().item<bool>()) << item.key();
  }

  if (map.empty()) return;
  Trace seen = Trace::recording(), replaced;
  const Tensor plain = run(x, lengths, seen);
  EXPECT_TRUE(torch::equal(cut(plain, 1), cut(whole, 1))) << "recording changed the output";
  EXPECT_EQ(greatest(seen.map(map).weights[1].narrow(-1, x.size(1) / 2, 1)), 0)
      << "padding has weight";
  const Tensor own = seen.map(map).weights.clone().set_requires_grad(true);
  replaced.replace(map, own);
  const Tensor same = run(x, lengths, replaced);
  replaced.check_replacements_used();
  EXPECT_LT(greatest(cut(same, 1) - cut(plain, 1)), 1e-12);
  cut(same, 0).sin().sum().backward();  // a plain sum is constant after a layer norm
  EXPECT_GT(greatest(own.grad()), 0);
  Trace other;
  other.replace(map, seen.map(map).weights * 0.5);
  EXPECT_GT(greatest(cut(run(x, lengths, other), 0) - cut(plain, 0)), 1e-6);
}

}  // namespace heed
