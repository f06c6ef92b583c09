#pragma once
#include "heed/base/error.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// The wiring of an output model that attends by itself, for descriptions: it cannot be run alone.
class DescribedWiring : public Mechanism {
 public:
  DescribedWiring(std::vector<WiringStep> steps, std::int64_t dim)
      : steps_(std::move(steps)), dim_(dim) {}

  Context forward(const Inputs&, Trace&) override {
    throw InputError("this wiring is part of an output model, which runs it");
  }
  std::int64_t output_dim() const override { return dim_; }
  std::vector<WiringStep> wiring() const override { return steps_; }

 private:
  std::vector<WiringStep> steps_;
  std::int64_t dim_;
};

}  // namespace heed
