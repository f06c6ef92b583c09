// The HTTP API behind its sockets: "METHOD PATH", headers, an empty line, a body. A run without a
// model reads the texts as LiveRun does. (b) is the server that asks for a token.
#include "fuzz/input.hpp"
#include "heed/base/words.hpp"
#include "heed/data/fields.hpp"
#include "serve/service.hpp"

namespace {

using namespace heed;
using namespace heed::serve;

const std::string kToken = "s3cret";

class EchoRun : public Run {
 public:
  EchoRun(std::string kind, std::vector<InputInfo> inputs)
      : name_(std::move(kind)), inputs_(std::move(inputs)), description_{{"name", name_}} {}

  const std::string& name() const override { return name_; }
  const nlohmann::ordered_json& description() const override { return description_; }
  nlohmann::ordered_json predict(const PredictRequest& request) override {
    HEED_CHECK(request.id.empty(), "no example has the id '{}'", request.id);
    const Example example = read_fields({.kind = name_}, inputs_, request.fields);
    nlohmann::ordered_json words;
    for (const auto& [input, list] : example.inputs) words[input] = list;
    return {{"inputs", words}, {"drop", request.drop}, {"replace", request.replace}};
  }

 private:
  std::string name_;
  std::vector<InputInfo> inputs_;
  nlohmann::ordered_json description_;
};

std::unique_ptr<Service> make_service(const std::string& token) {
  auto service = std::make_unique<Service>(ServeOptions{.token = token},
                                           [](const std::string& nonce) { return nonce; });
  service->add(std::make_unique<EchoRun>("classify", std::vector<InputInfo>{{.name = "text"}}));
  service->add(
      std::make_unique<EchoRun>("document", std::vector<InputInfo>{{.name = "text", .levels = 2}}));
  service->add(std::make_unique<EchoRun>("aspect", std::vector<InputInfo>{{.name = "text"}}));
  service->add(
      std::make_unique<EchoRun>("point", std::vector<InputInfo>{{.name = "points", .width = 2}}));
  return service;
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return line;
}

Ask parse_ask(std::string_view rest) {
  const std::string_view first = take_line(rest);
  const std::size_t space = std::min(first.find(' '), first.size());
  Ask ask{.method = std::string(first.substr(0, space)),
          .path = std::string(first.substr(std::min(space + 1, first.size()))),
          .host = "localhost"};
  for (std::string_view line = take_line(rest); !line.empty(); line = take_line(rest)) {
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string value(line.substr(colon + 2));
    if (name == "Host") ask.host = value;
    if (name == "Content-Type") ask.content_type = value;
    if (name == "Authorization") ask.authorization = value;
    if (name == "Token") ask.token = value;
  }
  ask.body = rest;
  return ask;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<Service> open = make_service(""), closed = make_service(kToken);
  const fuzz::Input input(data, size);
  const bool guarded = input.choose(2) == 1;
  const Ask ask = parse_ask(input.file(0));
  const Answer answer = (guarded ? closed : open)->answer(ask);
  fuzz::require(answer.status >= 200 && answer.status < 600, "an answer has a status");
  fuzz::require(answer.status != 500, "no request is our own mistake: " + answer.body);
  if (answer.type.starts_with("application/json"))
    fuzz::require(nlohmann::json::accept(answer.body), "an answer is JSON");
  const bool known = ask.authorization == "Bearer " + kToken || ask.token == kToken;
  fuzz::require(!guarded || known || answer.status == 401 || answer.status == 403,
                "without the token nothing is told");
  return 0;
}
