#pragma once
#include <torch/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heed {

struct SafeTensors {
  std::map<std::string, torch::Tensor> tensors;
  std::map<std::string, std::string> metadata;  ///< Without the two keys of our own, below.
};

/// Writes tensors in the safetensors format, in one step (see write_file): a kill leaves the old
/// file or the new one. Types F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL; any device, any strides.
///
/// The metadata gains "heed.format" and "heed.crc32" (CRC-32 of the file with these digits zero),
/// so that any altered byte is found when it is read. InputError on an undefined tensor, another
/// type, a name given twice, or one of those keys in `metadata`.
void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// Reads any safetensors file of these types, ours or not; the checksum is verified when there is
/// one. A malformed, truncated or altered file is an InputError with its name and the reason.
SafeTensors read_safetensors(const std::filesystem::path& path);

class MappedFile;

/// The same for large files of which little is used: tensors are the pages of `file`, which need no
/// memory before they are touched, nor after `rest` (mapped_file.hpp).
struct MappedTensors {
  SafeTensors content;
  std::shared_ptr<const MappedFile> file;
};
MappedTensors map_safetensors(const std::filesystem::path& path);

}  // namespace heed
