#pragma once
#include "data/parts.hpp"

namespace heed {

/// Pictures with a label: a table of PNG files, or an idx file a part (as MNIST).
DataKind image_kind();
/// Pictures with a number.
DataKind count_kind();

/// One shape among noise; the label is its form. Gold attention: the patches it covers.
Dataset shapes(const CorpusOptions& options);
/// A shape that moves over several frames; the label is where to. Gold attention: its patches.
Dataset video(const CorpusOptions& options);
/// Few or many dots; the number is how many. Gold attention: the patches that have one.
Dataset crowd(const CorpusOptions& options);

}  // namespace heed
