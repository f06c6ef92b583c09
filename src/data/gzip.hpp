#pragma once
#include <filesystem>
#include <string>

namespace heed {

/// The bytes of a file, unpacked if they are gzip's, whatever it is called. InputError when the
/// file cannot be read, is damaged or ends too early.
std::string read_unpacked(const std::filesystem::path& file);

/// The ending that tells the format, lower-case: ".tsv" of both a.tsv and a.TSV.gz.
std::string format_ending(const std::filesystem::path& file);

}  // namespace heed
