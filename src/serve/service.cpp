#include "serve/service.hpp"

#include <algorithm>
#include <random>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Answer error_answer(int status, const std::string& message) {
  return {.status = status, .body = dump({{"error", message}})};
}

Service::Service(const ServeOptions& options, Page page)
    : guard_(options),
      page_(std::move(page)),
      max_tokens_(options.max_tokens),
      model_(options.waiting) {}

Answer Service::answer(const Ask& ask) {
  try {
    guard_.check(ask);
    return route(ask);
  } catch (const Refusal& refusal) {
    Answer answer = error_answer(refusal.status(), refusal.what());
    if (refusal.status() == 401) answer.headers.emplace("WWW-Authenticate", "Bearer");
    if (refusal.status() == 503) answer.headers.emplace("Retry-After", "1");
    return answer;
  } catch (const InputError& error) {
    return error_answer(400, error.what());
  } catch (const std::bad_alloc&) {
    return error_answer(500, "out of memory; send a shorter text");
  } catch (const std::exception& error) {
    return error_answer(500, split(error.what(), '\n').front());
  }
}

Answer Service::route(const Ask& ask) {
  struct Route {
    std::string_view method, path;
    std::function<Answer()> answer;
  };
  const Route routes[] = {
      {"GET", "/", [&] { return page(); }},
      {"GET", "/api/runs", [&] { return runs(); }},
      {"POST", "/api/predict", [&] { return predict(ask); }},
      {"GET", "/openapi.json", [] { return Answer{.body = openapi_json()}; }},
      {"GET", "/healthz",
       [] {
         return Answer{.body = dump({{"status", "ok"}})};
       }},
  };
  const std::string_view method = ask.method == "HEAD" ? "GET" : std::string_view(ask.method);
  for (const Route& route : routes) {
    if (route.path != ask.path) continue;
    if (route.method == method) return route.answer();
    Answer answer =
        error_answer(405, fmt::format("{} takes {}, not {}", route.path, route.method, ask.method));
    answer.headers.emplace("Allow", route.method == "GET" ? "GET, HEAD" : "POST");
    return answer;
  }
  throw Refusal(404, "there is no such page; /openapi.json tells what there is");
}

Answer Service::page() const {
  std::random_device device;
  const std::string nonce =
      fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
  // Formulas come with style attributes; styles and scripts themselves need the nonce.
  const std::string policy = fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src-elem 'nonce-{0}'; style-src-attr "
      "'unsafe-inline'; connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action "
      "'none'; frame-ancestors 'none'",
      nonce);
  return {.body = page_(nonce),
          .type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy", policy}}};
}

Answer Service::runs() const {
  Json list = Json::array();
  for (const auto& run : runs_) list.push_back(run->description());
  return {.body = dump({{"heed", HEED_VERSION},
                        {"limits", {{"tokens", max_tokens_}, {"bytes", kMostBytes}}},
                        {"runs", std::move(list)}})};
}

Run& Service::run(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& run : runs_) {
    if (run->name() == name || (name.empty() && runs_.size() == 1)) return *run;
    names.push_back(run->name());
  }
  throw InputError(name.empty()
                       ? fmt::format("'run' is missing; one of {}", join(names, ", "))
                       : fmt::format("no run is called '{}'{}", name, suggestion(name, names)));
}

Answer Service::predict(const Ask& ask) {
  // Other types may be sent by any page of any site without asking first.
  if (!ask.content_type.starts_with("application/json"))
    throw Refusal(415, "the body must be JSON; send 'Content-Type: application/json'");
  const PredictRequest request = parse_request(ask.body);
  Run& asked = run(request.run);
  Json result;
  if (!model_.run([&] { result = asked.predict(request); }))
    throw Refusal(503, "too many requests are waiting; try again in a second");
  return {.body = dump(result)};
}

}  // namespace heed::serve
