#include "heed/data/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/mapped_file.hpp"
#include "heed/data/safetensors_header.hpp"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

struct TypeName {
  torch::ScalarType type;
  const char* name;
};

constexpr TypeName kTypes[] = {
    {torch::kFloat64, "F64"},   {torch::kFloat32, "F32"}, {torch::kFloat16, "F16"},
    {torch::kBFloat16, "BF16"}, {torch::kInt64, "I64"},   {torch::kInt32, "I32"},
    {torch::kInt16, "I16"},     {torch::kInt8, "I8"},     {torch::kUInt8, "U8"},
    {torch::kBool, "BOOL"},
};

std::string type_name(const std::string& name, torch::ScalarType type) {
  const auto* found = std::ranges::find(kTypes, type, &TypeName::type);
  HEED_CHECK(found != std::end(kTypes),
             "safetensors: '{}' has type {}, which the format cannot hold", name,
             torch::toString(type));
  return found->name;
}

torch::ScalarType type_of(const std::string& dtype) {
  const auto* found =
      std::ranges::find_if(kTypes, [&](const TypeName& known) { return dtype == known.name; });
  TORCH_INTERNAL_ASSERT(found != std::end(kTypes));  // parse_safetensors let it pass
  return found->type;
}

/// The tensor whose bytes are these; it keeps `owner`, whose memory they are, and has no copy,
/// unless the bytes lie at an odd place.
torch::Tensor read_tensor(const SafeTensorsEntry& entry, char* data,
                          const std::shared_ptr<const void>& owner, const std::string& source) {
  const std::string_view bytes(data, entry.end - entry.begin);
  const torch::ScalarType type = type_of(entry.dtype);
  if (type == torch::kBool) {
    const bool sound = std::ranges::all_of(bytes, [](char byte) { return byte == 0 || byte == 1; });
    HEED_CHECK(sound,
               "{}: '{}' is BOOL but has bytes other than 0 and 1; write or fetch the file again",
               source, entry.name);
  }
  if (reinterpret_cast<std::uintptr_t>(data) % torch::elementSize(type) == 0 && !bytes.empty()) {
    return torch::from_blob(
        data, entry.shape, [owner](void*) {}, type);
  }
  torch::Tensor tensor = torch::empty(entry.shape, type);
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

/// All tensors of a file whose bytes are `file`, in memory of `owner`.
SafeTensors read_tensors(std::string_view file, char* data,
                         const std::shared_ptr<const void>& owner, const std::string& source) {
  const SafeTensorsHeader header = parse_safetensors(file, source);
  SafeTensors result;
  result.metadata = header.metadata;
  for (const SafeTensorsEntry& entry : header.entries) {
    result.tensors[entry.name] =
        read_tensor(entry, data + header.data_begin + entry.begin, owner, source);
  }
  return result;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  struct Item {
    SafeTensorsEntry entry;
    torch::Tensor tensor;
  };
  std::vector<Item> items;
  for (const auto& [name, tensor] : tensors) {
    HEED_CHECK(tensor.defined(), "safetensors: '{}' is not a defined tensor", name);
    HEED_CHECK(tensor.layout() == torch::kStrided,
               "safetensors: '{}' is sparse; make it dense first", name);
    items.push_back({{.name = name,
                      .dtype = type_name(name, tensor.scalar_type()),
                      .shape = tensor.sizes().vec()},
                     tensor.detach().cpu().contiguous()});
  }
  // Wide types first: without gaps, which the format forbids, each tensor is still aligned.
  std::ranges::stable_sort(items, std::greater<>(),
                           [](const Item& item) { return item.tensor.element_size(); });
  std::vector<SafeTensorsEntry> entries;
  std::uint64_t offset = 0;
  for (Item& item : items) {
    item.entry.begin = offset;
    item.entry.end = offset += item.tensor.nbytes();
    entries.push_back(item.entry);
  }
  std::string file = safetensors_prefix(entries, metadata);
  file.reserve(file.size() + offset);
  for (const Item& item : items) {
    if (item.tensor.nbytes() == 0) continue;
    file.append(static_cast<const char*>(item.tensor.const_data_ptr()), item.tensor.nbytes());
  }
  seal_safetensors(file);
  write_file(path, file);
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<std::string>(read_file(path));
  return read_tensors(*file, file->data(), file, path.string());
}

MappedTensors map_safetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  return {.content = read_tensors(file->bytes(), file->data(), file, path.string()), .file = file};
}

}  // namespace heed
