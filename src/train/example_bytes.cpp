#include "train/example_bytes.hpp"

#include "train/bytes.hpp"

namespace heed {
namespace {

// One list of members serves both directions.
template <class Given, class Visit>
void visit_example(Given& example, const Visit& visit) {
  visit(example.id);
  visit(example.inputs);
  visit(example.label);
  visit(example.gold);
  visit(example.values);
  visit(example.views);
  visit(example.levels);
  visit(example.target);
  visit(example.links);
  visit(example.number);
  visit(example.node);
  visit(example.group);
}

}  // namespace

std::string to_bytes(std::span<const Example> examples) {
  ByteWriter writer;
  for (const Example& example : examples)
    visit_example(example, [&](const auto& member) { writer.put(member); });
  return writer.take();
}

std::vector<Example> examples_from(const std::string& bytes) {
  ByteReader reader(bytes);
  std::vector<Example> examples;
  while (!reader.at_end())
    visit_example(examples.emplace_back(), [&](auto& member) { reader.get(member); });
  return examples;
}

}  // namespace heed
