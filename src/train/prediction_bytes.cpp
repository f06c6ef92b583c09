#include "train/prediction_bytes.hpp"

#include "train/bytes.hpp"

namespace heed {
namespace {

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
