// heed::attend as torch.compile wants it: one node whose inside is not looked at, its gradient
// another. The Python side gives both their shapes (heed/_compile.py).
//
// The gradient runs the call again with torch's graph on. That costs a second forward pass, and
// serves every score, alignment and option without a list of what each has to keep.
#include <torch/csrc/autograd/autograd.h>
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include "heed/attention/tensor.hpp"

namespace {

using heed::Tensor;
using Json = nlohmann::ordered_json;
using Attend = std::tuple<std::vector<Tensor>, std::string>(const std::optional<Tensor>&,
                                                            const Tensor&, const Tensor&,
                                                            const std::vector<Tensor>&,
                                                            const std::string&);

/// The tensors of a call in one row: query (may be absent), key, value, the named ones.
using Operands = std::vector<Tensor>;

Operands operands(const std::optional<Tensor>& query, const Tensor& key, const Tensor& value,
                  const std::vector<Tensor>& tensors) {
  Operands all = {query.value_or(Tensor()), key, value};
  all.insert(all.end(), tensors.begin(), tensors.end());
  for (Tensor& x : all)
    if (x.defined()) x = x.detach();
  return all;
}

// Numbers come as tensors of one element, so that a graph compiled once can draw a seed at every
// run and serve any offset or share; heed::attend takes them as numbers of the call.
std::vector<Tensor> run_attend(const Operands& all, const std::string& call_text) {
  Json call = Json::parse(call_text);
  Json names = Json::array();
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < call.at("tensors").size(); ++i) {
    const auto name = call["tensors"][i].get<std::string>();
    const Tensor& x = all.at(3 + i);
    if (!name.starts_with("number.")) {
      names.push_back(name);
      tensors.push_back(x);
    } else if (name == "number.seed") {
      call["seed"] = static_cast<std::uint64_t>(x.item<std::int64_t>());
    } else if (x.is_floating_point()) {
      call[name.substr(7)] = x.item<double>();
    } else {
      call[name.substr(7)] = x.item<std::int64_t>();
    }
  }
  call["tensors"] = names;
  static const auto attend =
      c10::Dispatcher::singleton().findSchemaOrThrow("heed::attend", "").typed<Attend>();
  const auto query = all[0].defined() ? std::optional(all[0]) : std::nullopt;
  return std::get<0>(attend.call(query, all[1], all[2], tensors, call.dump()));
}

// The strides that the Python side promises: rows one after another, heads inside for "blhd".
Tensor dense(const Tensor& x, bool heads_inside) {
  return heads_inside ? x.transpose(1, 2).contiguous().transpose(1, 2) : x.contiguous();
}

std::vector<Tensor> attend_opaque(const std::optional<Tensor>& query, const Tensor& key,
                                  const Tensor& value, const std::vector<Tensor>& tensors,
                                  const std::string& call) {
  const torch::NoGradGuard no_graph;
  std::vector<Tensor> results = run_attend(operands(query, key, value, tensors), call);
  const bool heads_inside = key.dim() == 4 && Json::parse(call).at("layout") == "blhd";
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = dense(results[i], i == 0 && heads_inside);
  return results;
}

// `gradients` are those of the results, absent ones count as zero; `needs` says which of the
// operands want one. Gives these, in order.
std::vector<Tensor> attend_opaque_backward(const std::optional<Tensor>& query, const Tensor& key,
                                           const Tensor& value, const std::vector<Tensor>& tensors,
                                           const std::string& call,
                                           const c10::List<std::optional<Tensor>>& gradients,
                                           const c10::List<bool>& needs) {
  // An operator's kernel runs with recording off; here it has to be on.
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  const c10::impl::ForceDispatchKeyGuard recording(keys);
  const torch::AutoGradMode graph(true);

  Operands all = operands(query, key, value, tensors);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (needs.get(i)) inputs.push_back(all[i].requires_grad_());
  std::vector<Tensor> outputs, given;
  const std::vector<Tensor> results = run_attend(all, call);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::optional<Tensor> gradient = gradients.get(i);
    if (!gradient || !results[i].requires_grad()) continue;
    outputs.push_back(results[i]);
    given.push_back(*gradient);
  }
  std::vector<Tensor> found(inputs.size());
  if (!outputs.empty())
    found = torch::autograd::grad(outputs, inputs, given, /*retain_graph=*/false,
                                  /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = found[i].defined() ? found[i].contiguous()
                                  : torch::zeros(inputs[i].sizes(), inputs[i].options());
  return found;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.def(
      "attend_opaque(Tensor? query, Tensor key, Tensor value, Tensor[] tensors, str call) -> "
      "Tensor[]",
      {at::Tag::pt2_compliant_tag});
  library.def(
      "attend_opaque_backward(Tensor? query, Tensor key, Tensor value, Tensor[] tensors, str call, "
      "Tensor?[] gradients, bool[] needs) -> Tensor[]",
      {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(heed, CompositeExplicitAutograd, library) {
  library.impl("attend_opaque", attend_opaque);
  library.impl("attend_opaque_backward", attend_opaque_backward);
}
