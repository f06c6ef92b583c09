// Parameters of the formulas: sizes by letter, checks, products.
#include <algorithm>

#include "attention/matrix.hpp"
#include "attention/reference.hpp"
#include "heed/attention/score.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

std::string letters_text(const std::vector<std::string>& shape) {
  return shape.empty() ? "scalar" : join(shape, "×");
}

void bind(const std::string& owner, const ParamInfo& info, const Tensor& given,
          const Problem& problem, Letters& letters) {
  const auto rank = static_cast<std::int64_t>(info.shape.size());
  const bool each_head = given.dim() == rank + 1;
  HEED_CHECK(given.dim() == rank || (each_head && given.size(0) == problem.heads),
             "{}: parameter {} is {}, needed is {} or {}×{} (one for each of the query heads)",
             owner, info.name, shape_text(given), letters_text(info.shape), problem.heads,
             letters_text(info.shape));
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::string& letter = info.shape[static_cast<std::size_t>(i)];
    const std::int64_t size = given.size(i + (each_head ? 1 : 0));
    const auto [bound, fresh] = letters.emplace(letter, size);
    HEED_CHECK(fresh || bound->second == size, "{}: parameter {} is {}, needed is {} with {} = {}",
               owner, info.name, shape_text(given), letters_text(info.shape), letter,
               bound->second);
  }
}

}  // namespace

void check_params(const std::string& owner, const std::vector<ParamInfo>& infos,
                  const Params& params, const Problem& problem) {
  Letters letters{{"d_q", problem.query_dim}, {"d_k", problem.key_dim}, {"d_v", problem.value_dim}};
  if (problem.query_dim == 0) letters.erase("d_q");  // no query: any width
  std::vector<std::string> names;
  for (const ParamInfo& info : infos) {
    names.push_back(info.name);
    const auto given = params.find(info.name);
    if (given == params.end() || !given->second.defined()) {
      const bool unused = problem.query_dim == 0 && std::find(info.shape.begin(), info.shape.end(),
                                                              "d_q") != info.shape.end();
      HEED_CHECK(info.optional || unused, "{}: parameter {} ({}) is missing from params", owner,
                 info.name, letters_text(info.shape));
      continue;
    }
    bind(owner, info, given->second, problem, letters);
  }
  for (const auto& [name, tensor] : params) {
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    HEED_CHECK(known, "{}: unknown parameter '{}'{}", owner, name,
               names.empty() ? "; it takes none" : suggestion(name, names));
  }
}

Tensor project(const Tensor& matrix, const Tensor& x) {
  return torch::matmul(x, matrix.transpose(-1, -2));
}

Tensor project_rows(const Tensor& matrix, const Tensor& x) {
  const std::int64_t B = x.size(0), H = x.size(1), L = x.size(2);
  if (matrix.dim() == 2) {
    return matrix_product(x.reshape({1, B * H * L, x.size(3)}), matrix.t().unsqueeze(0))
        .view({B, H, L, matrix.size(0)});
  }
  // One matrix for each head: the heads are the batch of products. Keys of grouped heads are shared
  // by several of them.
  const std::int64_t heads = matrix.size(0);
  const Tensor own = repeat_heads(x, heads);
  return matrix_product(own.transpose(0, 1).reshape({heads, B * L, x.size(3)}),
                        matrix.transpose(1, 2))
      .view({heads, B, L, matrix.size(1)})
      .transpose(0, 1);
}

Tensor per_head(const Tensor& vector) { return vector.dim() == 2 ? vector.unsqueeze(1) : vector; }

Tensor activate(const std::string& act, const Tensor& x) {
  if (act == "tanh") return torch::tanh(x);
  if (act == "relu") return torch::relu(x);
  if (act == "gelu") return torch::gelu(x);
  if (act == "sigmoid") return torch::sigmoid(x);
  return x;
}

OptionInfo act_option() {
  return {.name = "act",
          .fallback = std::string("tanh"),
          .doc = "activation",
          .choices = {"tanh", "relu", "gelu", "sigmoid", "identity"}};
}

}  // namespace heed
