// heed bench: every score and alignment that is built, beside what torch has for it.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/attention/attend.hpp"
#include "heed/attention/attention.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"
#include "heed/kernels/peak.hpp"

namespace heed::cli {
namespace {

struct BenchArgs {
  std::string only;
  double seconds = 1;
  bool json = false, explain = false;
};

/// A call of heed and one of its peer on the same inputs.
struct BenchCase {
  std::string name, peer;
  Tensor q, k, v;
  AttendOptions options;
  std::function<Tensor()> other;
  double flops = 0;  // 0: not said

  Tensor run() const { return attend(q, k, v, options).output; }
};

Tensor sdpa(const BenchCase& c, bool causal) {
  return at::scaled_dot_product_attention(c.q, c.k, c.v, {}, 0.0, causal);
}

std::vector<BenchCase> sdpa_cases() {
  std::vector<BenchCase> cases;
  const std::vector<std::array<std::int64_t, 4>> shapes = {
      {2, 8, 512, 64}, {1, 8, 2048, 64}, {1, 4, 4096, 128}, {32, 8, 64, 64}, {4, 8, 333, 64}};
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    for (const bool causal : {false, true}) {
      for (const auto& [B, H, L, D] : shapes) {
        const auto random = [&, B = B, H = H, L = L, D = D] {
          return torch::randn({B, H, L, D}).to(type);
        };
        BenchCase c{.name = fmt::format("{} {}×{}×{}×{}{}", torch::toString(type), B, H, L, D,
                                        causal ? " causal" : ""),
                    .peer = "SDPA",
                    .q = random(),
                    .k = random(),
                    .v = random()};
        if (causal) c.options.causal = Causal::same();
        const double pairs = static_cast<double>(L) *
                             (causal ? static_cast<double>(L + 1) / 2 : static_cast<double>(L));
        c.flops = 4 * static_cast<double>(B * H * D) * pairs;
        c.other = [c, causal] { return sdpa(c, causal); };
        cases.push_back(std::move(c));
      }
    }
  }
  return cases;
}

/// One case for each part: the fused kernel beside the same formula in tensor operations.
BenchCase part_case(const std::string& score, const std::string& align,
                    const std::string& dimensionality) {
  const std::int64_t L = dimensionality == "multi" ? 128 : 512;
  BenchCase c{.name = fmt::format("{} × {}{} 2×4×{}×64", score, align,
                                  dimensionality == "multi" ? " × multi" : "", L),
              .peer = "tensor operations",
              .q = torch::randn({2, 4, L, 64}),
              .k = torch::randn({2, 4, L, 64}),
              .v = torch::randn({2, 4, L, 64})};
  c.options = {.score = score, .align = align, .dimensionality = dimensionality};
  // A sample near the edge between two keys may fall on either side; the best key does not.
  if (align == "hard") c.options.align.options["mode"] = std::string("argmax");
  const Problem sizes{.query_dim = 64, .key_dim = 64, .value_dim = 64, .heads = 4};
  for (const SizedParam& param : parameters_of(score, align, sizes, dimensionality)) {
    c.options.params[param.info.name] = param.initial();
  }
  AttendOptions plain = c.options;
  plain.kernel = Kernel::reference;
  c.other = [c, plain] { return attend(c.q, c.k, c.v, plain).output; };
  return c;
}

std::vector<BenchCase> all_cases() {
  std::vector<BenchCase> cases = sdpa_cases();
  for (const PartInfo& part : attention_parts().parts()) {
    if (part.status != Status::built || part.fused.empty()) continue;
    if (part.group == Group::score) cases.push_back(part_case(part.id, "soft", "single"));
    if (part.group == Group::align) cases.push_back(part_case("scaled-dot", part.id, "single"));
  }
  cases.push_back(part_case("additive", "soft", "multi"));
  return cases;
}

double best_ms(const std::function<Tensor()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void run_case(BenchCase& c, const BenchArgs& args, double peak) {
  torch::NoGradGuard no_grad;
  if (args.explain) {
    c.options.want.kernel = true;
    fmt::print("{:<44} {}\n", c.name, attend(c.q, c.k, c.v, c.options).kernel);
    return;
  }
  const Tensor mine = c.run(), theirs = c.other();
  const double error = (mine - theirs).abs().max().item<double>();
  const double bound = mine.scalar_type() == torch::kBFloat16 ? 0.05 : 1e-3;
  HEED_CHECK(error <= bound, "bench: {}: the result is off by {}; not timed", c.name, error);
  double ours = 1e30, other = 1e30;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(args.seconds);
  for (int round = 0; round < 5 || std::chrono::steady_clock::now() < end; ++round) {
    ours = std::min(ours, best_ms([&] { return c.run(); }));
    other = std::min(other, best_ms(c.other));
  }
  nlohmann::ordered_json row = {{"case", c.name},
                                {"heed_ms", ours},
                                {"peer", c.peer},
                                {"peer_ms", other},
                                {"ratio", other / ours}};
  row["peak_share"] = c.flops > 0 ? nlohmann::ordered_json(c.flops / (ours * 1e6) / peak)
                                  : nlohmann::ordered_json(nullptr);
  if (args.json) {
    fmt::print("{}\n", row.dump());
  } else {
    const std::string share =
        c.flops > 0 ? fmt::format("{:.0f} %", 100 * c.flops / (ours * 1e6) / peak) : "";
    fmt::print("{:<44} {:>9.2f} {:>9.2f} {:>7.2f}× {:>6}  {}\n", c.name, ours, other, other / ours,
               share, c.peer);
  }
  std::fflush(stdout);
}

void run_bench(const BenchArgs& args) {
  torch::manual_seed(0);
  const double peak = args.explain ? 1 : kernels::multiply_add_peak() * at::get_num_threads();
  HEED_CHECK(args.explain || (peak > 1 && peak < 1e6), "bench: the peak probe says {} GFLOP/s",
             peak);
  if (!args.json && !args.explain) {
    fmt::print("{:<44} {:>9} {:>9} {:>8} {:>6}\n", "case", "heed ms", "peer ms", "ratio", "peak");
  }
  bool any = false;
  for (BenchCase& c : all_cases()) {
    if (c.name.find(args.only) == std::string::npos) continue;
    any = true;
    run_case(c, args, peak);
  }
  HEED_CHECK(any, "bench: no case has '{}' in its name; `heed bench --explain` names them all",
             args.only);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App* command =
      add_command(app, "bench", "time the fused kernels beside torch, interleaved, best of several",
                  "  heed bench --only causal\n  heed bench --json --seconds 2 > rows.jsonl\n"
                  "  heed bench --explain     which kernel serves each case, and why\n");
  command->add_option("--only", args->only, "cases whose name has this text");
  command->add_option("--seconds", args->seconds, "time for each case")
      ->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--json", args->json,
                    "rows of {case, heed_ms, peer, peer_ms, ratio, peak_share}");
  command->add_flag("--explain", args->explain, "say which kernel serves each case; time nothing");
  add_threads(command);
  command->callback([args] { run_bench(*args); });
}

}  // namespace heed::cli
