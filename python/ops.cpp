// torch.ops.heed.*: what the Python package stands on. A call's parts and options come as JSON, its
// tensors as a list whose names the JSON gives.
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include "heed/attention/attention.hpp"
#include "heed/attention/registry_json.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/kernels/peak.hpp"
#include "heed/kernels/simd.hpp"
#include "heed/mechanisms/mechanism.hpp"
#include "process_group.hpp"

namespace {

using namespace heed;
using Json = nlohmann::ordered_json;

Causal causal_from(const Json& json) {
  if (json.is_null() || json == false) return {};
  if (json == true) return Causal::same();
  if (json.is_number_integer()) return Causal::at(json.get<std::int64_t>());
  if (json == "top-left") return Causal::top_left();
  if (json == "bottom-right") return Causal::bottom_right();
  throw InputError(fmt::format(
      "attend: causal is {}; say None, \"top-left\", \"bottom-right\" or an offset", json.dump()));
}

std::optional<double> number_or_none(const Json& call, const char* name) {
  if (!call.contains(name) || call[name].is_null()) return std::nullopt;
  HEED_CHECK(call[name].is_number(), "attend: {} must be a number or None", name);
  return call[name].get<double>();
}

template <class T>
T choice(const Json& call, const char* name, const std::map<std::string, T>& choices) {
  const std::string value = call.at(name).get<std::string>();
  const auto found = choices.find(value);
  if (found != choices.end()) return found->second;
  std::vector<std::string> words;
  for (const auto& [word, unused] : choices) words.push_back(word);
  throw InputError(fmt::format("attend: {} is '{}'{}", name, value, suggestion(value, words)));
}

void set_tensor(AttendOptions& options, const std::string& name, const Tensor& tensor) {
  if (name.starts_with("params.")) {
    options.params[name.substr(7)] = tensor;
    return;
  }
  const std::map<std::string, Tensor*> places = {{"mask", &options.mask},
                                                 {"bias", &options.bias},
                                                 {"alibi", &options.alibi},
                                                 {"lengths", &options.lengths},
                                                 {"sink", &options.sink},
                                                 {"weights", &options.weights},
                                                 {"q_offsets", &options.query_offsets},
                                                 {"k_offsets", &options.key_offsets}};
  *places.at(name) = tensor;
}

Want want_from(const Json& json) {
  Want want;
  const std::map<std::string, bool*> flags = {
      {"weights", &want.weights}, {"scores", &want.scores},   {"lse", &want.lse},
      {"logp", &want.logp},       {"entropy", &want.entropy}, {"received", &want.received},
      {"kernel", &want.kernel}};
  std::vector<std::string> words = {"topk", "rows"};
  for (const auto& [word, unused] : flags) words.push_back(word);
  for (const auto& [name, value] : json.items()) {
    if (name == "topk") {
      HEED_CHECK(value.is_number_integer() && value.get<std::int64_t>() > 0,
                 "attend: want topk needs a number above 0");
      want.topk = value.get<std::int64_t>();
    } else if (name == "rows") {
      HEED_CHECK(value.is_array() && !value.empty(),
                 "attend: want rows needs a list of query numbers");
      want.rows = value.get<std::vector<std::int64_t>>();
    } else {
      const auto flag = flags.find(name);
      HEED_CHECK(flag != flags.end(), "attend: cannot want '{}'{}", name, suggestion(name, words));
      *flag->second = true;
    }
  }
  return want;
}

std::tuple<std::vector<Tensor>, std::string> attend_op(const std::optional<Tensor>& query,
                                                       const Tensor& key, const Tensor& value,
                                                       const std::vector<Tensor>& tensors,
                                                       const std::string& call_text) try {
  const Json call = Json::parse(call_text);
  AttendOptions options{.score = spec_from_json(call.at("score"), "attend: score"),
                        .align = spec_from_json(call.at("align"), "attend: align"),
                        .dimensionality = call.at("dimensionality").get<std::string>()};
  const auto names = call.at("tensors").get<std::vector<std::string>>();
  for (std::size_t i = 0; i < names.size(); ++i) set_tensor(options, names[i], tensors.at(i));
  options.causal = causal_from(call.at("causal"));
  if (!call.at("window").is_null())
    options.window = call.at("window").get<std::array<std::int64_t, 2>>();
  options.scale = number_or_none(call, "scale");
  options.softcap = number_or_none(call, "softcap");
  options.dropout_p = call.at("dropout_p").get<double>();
  if (!call.at("seed").is_null()) options.seed = call.at("seed").get<std::uint64_t>();
  options.layout = choice<Layout>(call, "layout", {{"bhld", Layout::bhld}, {"blhd", Layout::blhd}});
  options.kernel = choice<Kernel>(call, "kernel",
                                  {{"auto", Kernel::automatic},
                                   {"fused", Kernel::fused},
                                   {"unfused", Kernel::unfused},
                                   {"reference", Kernel::reference}});
  options.want = want_from(call.at("want"));
  if (call.contains("group")) options.group = &process_group(call["group"].get<std::string>());
  const Tensor q = query.value_or(Tensor());
  AttendResult r =
      options.query_offsets.defined()
          ? attend_packed(q, key, value, options.query_offsets, options.key_offsets, options)
          : attend(q, key, value, options);
  std::vector<Tensor> result = {r.output};
  for (const auto& [name, unused] : call.at("want").items()) {
    if (name == "weights") result.push_back(r.weights);
    if (name == "scores") result.push_back(r.scores);
    if (name == "lse") result.push_back(r.lse);
    if (name == "logp") result.push_back(r.logp);
    if (name == "entropy") result.push_back(r.entropy);
    if (name == "received") result.push_back(r.received);
    if (name == "rows") result.push_back(r.rows);
    if (name == "topk") result.insert(result.end(), {r.topk_weights, r.topk_keys});
  }
  return {std::move(result), r.kernel};
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

// Billions of float operations, and of bytes read, a second, of one thread of this machine.
std::vector<double> peaks_op() { return {kernels::multiply_add_peak(), kernels::read_peak()}; }

std::string registry_op() {
  Json all = Json::array();
  for (const PartInfo& part : mechanism_parts().parts()) all.push_back(to_json(part));
  return all.dump();
}

// The parameters a score and an alignment need: [{name, shape, init}].
std::string parameters_op(const std::string& call_text, std::int64_t query_dim,
                          std::int64_t key_dim, std::int64_t value_dim) try {
  const Json call = Json::parse(call_text);
  Json result = Json::array();
  for (const SizedParam& param : parameters_of(
           spec_from_json(call.at("score"), "score"), spec_from_json(call.at("align"), "align"),
           {.query_dim = query_dim, .key_dim = key_dim, .value_dim = value_dim},
           call.at("dimensionality").get<std::string>())) {
    constexpr const char* kInit[] = {"xavier", "zeros", "ones", "constant"};
    result.push_back({{"name", param.info.name},
                      {"shape", param.shape},
                      {"init", kInit[static_cast<int>(param.info.init)]},
                      {"value", param.info.value}});
  }
  return result.dump();
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

}  // namespace

TORCH_LIBRARY(heed, library) {
  library.def(
      "attend(Tensor? query, Tensor key, Tensor value, Tensor[] tensors, str call) -> (Tensor[], "
      "str)",
      attend_op);
  library.def("peaks() -> float[]", peaks_op);
  library.def("simd_target() -> str", kernels::simd_target);
  library.def("registry() -> str", registry_op);
  library.def("parameters(str call, int query_dim, int key_dim, int value_dim) -> str",
              parameters_op);
}
