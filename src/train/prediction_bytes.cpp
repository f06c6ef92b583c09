#include "train/prediction_bytes.hpp"

#include <cstring>
#include <type_traits>

#include "heed/base/error.hpp"

namespace heed {
namespace {

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
    HEED_CHECK(size <= bytes_.size() - place_, "another rank sent predictions that end early");
    place_ += size;
    return std::string_view(bytes_).substr(place_ - size, size);
  }

  const std::string& bytes_;
  std::size_t place_ = 0;
};

// One list of members serves both directions.
template <class Map, class Visit>
void visit_map(Map& map, const Visit& visit) {
  visit(map.name);
  visit(map.axes);
  visit(map.query_input);
  visit(map.key_input);
  visit(map.weights);
  visit(map.features);
}

template <class Answer, class Visit>
void visit_answer(Answer& prediction, const Visit& visit) {
  visit(prediction.label);
  visit(prediction.probabilities);
  visit(prediction.sequence);
  visit(prediction.number);
  visit(prediction.log_probs);
}

}  // namespace

std::string to_bytes(std::span<const Prediction> predictions) {
  ByteWriter writer;
  const auto put = [&](const auto& member) { writer.put(member); };
  for (const Prediction& prediction : predictions) {
    visit_answer(prediction, put);
    put(prediction.maps.size());
    for (const TraceMap& map : prediction.maps) visit_map(map, put);
  }
  return writer.take();
}

std::vector<Prediction> predictions_from(const std::string& bytes) {
  ByteReader reader(bytes);
  const auto get = [&](auto& member) { reader.get(member); };
  std::vector<Prediction> predictions;
  while (!reader.at_end()) {
    Prediction& prediction = predictions.emplace_back();
    visit_answer(prediction, get);
    std::size_t maps = 0;
    get(maps);
    prediction.maps.resize(maps);
    for (TraceMap& map : prediction.maps) visit_map(map, get);
  }
  return predictions;
}

}  // namespace heed
