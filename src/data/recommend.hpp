#pragma once
#include "data/parts.hpp"

namespace heed {

/// What users took: a table with user, item and split; `source` names another domain's.
DataKind recommend_kind();

/// Users with two tastes in one domain, of which the other domain tells the present one. Gold
/// attention: the items of that taste.
Dataset tastes(const CorpusOptions& options);

}  // namespace heed
