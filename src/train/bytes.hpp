#pragma once
#include <torch/types.h>

#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heed/base/error.hpp"
#include "heed/data/example.hpp"

namespace heed {

using torch::Tensor;

/// What other ranks of the same heed read: no file format.
class ByteWriter {
 public:
  std::string take() { return std::move(bytes_); }

  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(T)); }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(items.size());
    for (const T& item : items) put(item);
  }
  template <class First, class Second>
  void put(const std::pair<First, Second>& both) {
    put(both.first);
    put(both.second);
  }
  template <class Key, class Value>
  void put(const std::map<Key, Value>& items) {
    put(items.size());
    for (const auto& item : items) put(item);
  }
  void put(const Values& values) {
    put(values.width);
    put(values.data);
  }
  void put(const View& view) {
    put(view.of);
    put(view.begin);
    put(view.end);
  }
  void put(const Tensor& tensor) {
    put(tensor.defined());
    if (!tensor.defined()) return;
    const Tensor whole = tensor.contiguous();
    put(static_cast<int>(whole.scalar_type()));
    put(whole.sizes().vec());
    put(std::string(static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()));
  }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(const std::string& bytes) : bytes_(bytes) {}
  bool at_end() const { return place_ == bytes_.size(); }

  template <class T>
  requires std::is_arithmetic_v<T>
  void get(T& number) { std::memcpy(&number, take(sizeof(T)).data(), sizeof(T)); }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    text = take(size);
  }
  template <class T>
  void get(std::vector<T>& items) {
    std::size_t size = 0;
    get(size);
    for (std::size_t i = 0; i < size; ++i) get(items.emplace_back());
  }
  template <class First, class Second>
  void get(std::pair<First, Second>& both) {
    get(both.first);
    get(both.second);
  }
  template <class Key, class Value>
  void get(std::map<Key, Value>& items) {
    std::size_t size = 0;
    get(size);
    for (std::size_t i = 0; i < size; ++i) {
      std::pair<Key, Value> item;
      get(item);
      items.insert(std::move(item));
    }
  }
  void get(Values& values) {
    get(values.width);
    get(values.data);
  }
  void get(View& view) {
    get(view.of);
    get(view.begin);
    get(view.end);
  }
  void get(Tensor& tensor) {
    bool defined = false;
    get(defined);
    if (!defined) return;
    int type = 0;
    std::vector<std::int64_t> sizes;
    std::string bytes;
    get(type);
    get(sizes);
    get(bytes);
    tensor = torch::from_blob(bytes.data(), sizes, static_cast<torch::ScalarType>(type)).clone();
  }

 private:
  std::string_view take(std::size_t size) {
    HEED_CHECK(size <= bytes_.size() - place_, "another rank sent something that ends early");
    place_ += size;
    return std::string_view(bytes_).substr(place_ - size, size);
  }

  const std::string& bytes_;
  std::size_t place_ = 0;
};

}  // namespace heed
