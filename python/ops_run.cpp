// torch.classes.heed.Run: a trained run, asked from Python. Questions and answers are JSON.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/data/fields.hpp"
#include "heed/explain/audit.hpp"
#include "heed/explain/importance.hpp"
#include "heed/train/evaluation.hpp"
#include "heed/train/trace_json.hpp"

namespace {

using namespace heed;
using Json = nlohmann::ordered_json;

/// A mistake of the caller's is a ValueError in Python.
template <class Work>
auto told(Work work) {
  try {
    return work();
  } catch (const InputError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  } catch (const nlohmann::json::exception& error) {
    TORCH_CHECK_VALUE(false, "run: ", error.what());
  }
}

class Run : public torch::CustomClassHolder {
 public:
  explicit Run(const std::string& folder)
      : run_(load(folder)), toml_(read_file(RunFiles{folder}.config())) {
    run_.model->eval();
  }

  /// What there is to know before asking: kind, fields, labels, config.
  std::string description() const {
    return Json{{"kind", run_.config.task.source.kind},
                {"fields", text_fields(run_.config.task.source.kind)},
                {"labels", run_.info.labels},
                {"parameters", run_.model->parameter_count()},
                {"config", toml_}}
        .dump();
  }

  /// For a list of {field: text}: a trace each, with all digits. `names` and `weights` are maps to
  /// be used in place of the model's own.
  std::string predict(const std::string& questions, const std::vector<std::string>& names,
                      const std::vector<Tensor>& weights) const {
    const torch::NoGradGuard no_grad;
    Json answers = Json::array();
    for (const Example& example : examples_of(questions)) {
      Trace trace = Trace::recording();
      for (std::size_t i = 0; i < names.size(); ++i)
        trace.replace(names[i], weights[i].to(torch::kFloat32).unsqueeze(0));
      const std::size_t first = 0;
      const Batch batch = collate({&example, 1}, {&first, 1}, run_.info);
      const Reply reply = answer_batch(run_, batch, trace);
      trace.check_replacements_used();
      answers.push_back(trace_json(run_, example, reply.predictions.front(), Digits::all));
    }
    return answers.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  /// For the same, the importance of each word by each method.
  std::string importances(const std::string& questions, const std::vector<std::string>& methods,
                          const std::string& input) const {
    const std::vector<Example> examples = examples_of(questions);
    const explain::Subject subject(run_, examples.front(), input);
    Json answers = Json::array();
    for (const Example& example : examples)
      answers.push_back(
          {{"input", subject.input()}, {"tokens", example.inputs.at(subject.input())}});
    for (const std::string& id : methods) {
      const explain::Importances found = explain::method(id).find(subject, examples);
      for (std::size_t i = 0; i < examples.size(); ++i) answers[i]["importances"][id] = found[i];
    }
    return answers.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  std::vector<Example> examples_of(const std::string& questions) const {
    const std::string& kind = run_.config.task.source.kind;
    HEED_CHECK(!text_fields(kind).empty(), "examples of kind '{}' are no text", kind);
    std::vector<Example> examples;
    for (const auto& question : nlohmann::json::parse(questions)) {
      std::map<std::string, std::string> fields;
      for (const auto& [name, value] : question.items())
        fields[name] = field_text(value, "inputs", name);
      examples.push_back(read_fields(run_.config.task.source, run_.info.inputs, fields));
      examples.back().id = std::to_string(examples.size());
    }
    HEED_CHECK(!examples.empty(), "inputs: nothing was given");
    return run_.info.seen(std::move(examples));
  }

  LoadedRun run_;
  std::string toml_;
};

std::vector<std::string> importance_methods() {
  std::vector<std::string> ids;
  for (const explain::Method& each : explain::methods()) ids.emplace_back(each.id);
  return ids;
}

/// Every test that is not there yet, one after the other, then all of them as JSON.
std::string audit(const std::string& folder, const std::string& given) {
  const auto options = nlohmann::json::parse(given);
  explain::AuditOptions o;
  o.input = options.value("input", o.input);
  o.split = options.value("split", o.split);
  o.examples = options.value("examples", o.examples);
  o.permutations = options.value("permutations", o.permutations);
  o.epsilon = options.value("epsilon", o.epsilon);
  o.seeds = options.value("seeds", o.seeds);
  o.lambdas = options.value("lambdas", o.lambdas);
  o.retrain = options.value("retrain", o.retrain);
  for (const std::string& test : explain::audit_tests(o)) explain::run_audit_test(folder, test, o);
  return explain::collect_audit(folder, o);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, m) {
  using Self = c10::intrusive_ptr<Run>;
  using Names = std::vector<std::string>;
  m.class_<Run>("Run")
      .def(torch::init([](const std::string& folder) {
        return told([&] { return c10::make_intrusive<Run>(folder); });
      }))
      .def("description", [](const Self& self) { return self->description(); })
      .def("predict",
           [](const Self& self, const std::string& questions, const Names& names,
              const std::vector<Tensor>& weights) {
             return told([&] { return self->predict(questions, names, weights); });
           })
      .def("importances", [](const Self& self, const std::string& questions, const Names& methods,
                             const std::string& input) {
        return told([&] { return self->importances(questions, methods, input); });
      });
  m.def("importance_methods", &importance_methods);
  m.def("audit", [](const std::string& folder, const std::string& options) {
    return told([&] { return audit(folder, options); });
  });
}
