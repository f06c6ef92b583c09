#include "heed/serve/serve.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/command.hpp"

namespace heed::cli {
namespace {

struct ServeArgs {
  std::vector<std::string> runs;
  serve::ServeOptions options;
};

void run_serve(const ServeArgs& args) {
  const std::vector<std::filesystem::path> runs(args.runs.begin(), args.runs.end());
  serve::serve(runs, args.options, [&](const std::string& address) {
    fmt::print("serving {} at {}{}\n",
               args.runs.size() == 1 ? "1 run" : fmt::format("{} runs", args.runs.size()), address,
               args.options.token.empty() ? "" : "?token=…");
    std::fflush(stdout);
  });
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command = add_command(
      app, "serve", "A live page of trained runs: type, look, and move the weights by hand",
      "  heed serve runs/reviews\n"
      "  heed serve runs/a runs/b --port 0\n"
      "  heed serve runs/reviews --host 0.0.0.0 --token \"$(openssl rand -hex 16)\"\n"
      "  curl -s localhost:8017/api/predict -H 'Content-Type: application/json' -d "
      "'{\"inputs\": {\"text\": \"the food was good\"}}'");
  auto args = std::make_shared<ServeArgs>();
  serve::ServeOptions& options = args->options;
  command->add_option("runs", args->runs, "run directories")->required();
  command->add_option("--port", options.port, "where to listen (8017); 0: any that is free")
      ->check(CLI::Range(0, 65535));
  command->add_option(
      "--host", options.host,
      "the address to listen at (127.0.0.1); beyond this machine, --token is needed");
  command->add_option("--token", options.token, "a secret that every request must bring");
  command->add_option("--max-tokens", options.max_tokens, "most words of a request (2000)")
      ->check(CLI::Range(1, 1'000'000));
  add_threads(command);
  command->callback([args] { run_serve(*args); });
}

}  // namespace heed::cli
