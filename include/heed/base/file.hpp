#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace heed {

/// False when nothing is there. What cannot be looked at (a loop of links, a locked folder) is
/// there: whoever opens it is told why.
bool is_there(const std::filesystem::path& path);

/// The whole file. InputError names the path and the reason when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Replaces `path` in one step: written beside it under a temporary name, flushed to disk, renamed.
/// A kill at any moment leaves either the old file or the new one. InputError when it cannot.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes the folder and its parents, and checks that a file can be written in it.
void make_writable_folder(const std::filesystem::path& path);

}  // namespace heed
