#include "train/rank_bytes.hpp"

#include <concepts>
#include <cstring>
#include <map>
#include <utility>

#include "heed/base/error.hpp"

namespace heed {
namespace {

// One list of members serves both directions: T is const where they are written.
template <class T, class Kind>
concept Of = std::same_as<std::remove_const_t<T>, Kind>;

template <Of<TraceMap> T, class Visit>
void visit_members(T& item, const Visit& visit) {
  visit(item.name);
  visit(item.axes);
  visit(item.query_input);
  visit(item.key_input);
  visit(item.weights);
  visit(item.features);
}

template <Of<Prediction> T, class Visit>
void visit_members(T& item, const Visit& visit) {
  visit(item.label);
  visit(item.probabilities);
  visit(item.sequence);
  visit(item.number);
  visit(item.log_probs);
  visit(item.maps);
}

template <Of<Values> T, class Visit>
void visit_members(T& item, const Visit& visit) {
  visit(item.width);
  visit(item.data);
}

template <Of<View> T, class Visit>
void visit_members(T& item, const Visit& visit) {
  visit(item.of);
  visit(item.begin);
  visit(item.end);
}

template <Of<Example> T, class Visit>
void visit_members(T& item, const Visit& visit) {
  visit(item.id);
  visit(item.inputs);
  visit(item.label);
  visit(item.gold);
  visit(item.values);
  visit(item.views);
  visit(item.levels);
  visit(item.target);
  visit(item.links);
  visit(item.number);
  visit(item.node);
  visit(item.group);
}

struct Ignore {
  void operator()(const auto&) const {}
};

template <class T>
concept HasMembers = requires(T& item) {
  visit_members(item, Ignore());
};

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
  template <HasMembers T>
  void put(const T& item) {
    visit_members(item, [this](const auto& member) { put(member); });
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
  template <HasMembers T>
  void get(T& item) {
    visit_members(item, [this](auto& member) { get(member); });
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

template <class T>
std::string written(std::span<const T> items) {
  ByteWriter writer;
  for (const T& item : items) writer.put(item);
  return writer.take();
}

template <class T>
std::vector<T> read(const std::string& bytes) {
  ByteReader reader(bytes);
  std::vector<T> items;
  while (!reader.at_end()) reader.get(items.emplace_back());
  return items;
}

}  // namespace

std::string to_bytes(std::span<const Prediction> predictions) { return written(predictions); }
std::string to_bytes(std::span<const Example> examples) { return written(examples); }

std::vector<Prediction> predictions_from(const std::string& bytes) {
  return read<Prediction>(bytes);
}
std::vector<Example> examples_from(const std::string& bytes) { return read<Example>(bytes); }

}  // namespace heed
