#pragma once
#include "heed/data/dataset.hpp"

namespace heed {

using EdgePairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Gives every labelled node of `data.graph` that a part names its neighbours: one input a
/// relation, the sources of its edges in their order. With several relations also "relations",
/// their names.
void set_neighbours(Dataset& data);

/// The edges of one relation: each pair both ways and every node with itself, each once, in order
/// of targets.
Relation both_ways(std::string name, const EdgePairs& pairs, std::int64_t nodes);

/// A folder with nodes.tsv and edges.tsv.
DataKind graph_kind();

/// Planted communities: a node's words hint at its community, and so do most of its neighbours.
/// Gold attention: the neighbours inside the community.
Dataset community_graph(const CorpusOptions& options);

/// Three relations of which one joins nodes of a label. Gold attention: that relation.
Dataset relations_graph(const CorpusOptions& options);

}  // namespace heed
