#include "heed/models/config_paths.hpp"

#include "heed/base/file.hpp"

namespace heed {

namespace fs = std::filesystem;

Config with_absolute_paths(Config config) {
  DataSource& source = config.task.source;
  std::vector<std::string*> paths = {&source.data,   &source.train, &source.val,  &source.test,
                                     &source.source, &source.extra, &source.human};
  for (const char* name : {"path", "cache"}) {  // of published vectors
    const auto option = config.feature.vectors.options.find(name);
    if (option == config.feature.vectors.options.end()) continue;
    if (auto* path = std::get_if<std::string>(&option->second); *path != "none")
      paths.push_back(path);
  }
  for (std::string* path : paths) {
    if (path->empty() || path->starts_with("builtin:") || fs::path(*path).is_absolute()) continue;
    const fs::path beside = source.base / *path;
    *path = fs::absolute(is_there(beside) ? beside : fs::path(*path)).lexically_normal().string();
  }
  return config;
}

}  // namespace heed
