#include "models/config_fields.hpp"

namespace heed {

std::vector<Field> config_fields(Config& c) {
  DataSource& source = c.task.source;
  AttentionSpec& a = c.attention;
  return {
      {"task", "kind", &c.task.kind, "what is learned", 0, 0, {"classify"}},
      {"task", "data", &source.data,
       "\"builtin:reviews\", or a TSV, CSV or JSONL file with a split column"},
      {"task", "train", &source.train, "or one file a part: the training part"},
      {"task", "val", &source.val, "the validation part"},
      {"task", "test", &source.test, "the test part"},
      {"task", "lowercase", &source.lowercase, "lower-case the text (ASCII)"},
      {"task", "max_length", &source.max_length, "tokens kept of a text; 0 = all"},
      {"task", "val_fraction", &source.val_fraction,
       "share of train held out when there is no validation part", 0, 0.9},
      {"task", "min_count", &c.task.min_count, "rarer words are unknown", 1},
      {"task.columns", "text", &source.columns["text"], "the column with the text"},
      {"task.columns", "label", &source.columns["label"], "the column with the label"},
      {"task.columns", "split", &source.columns["split"], "the column with train, val or test"},
      {"task.columns", "rationale", &source.columns["rationale"],
       "the column with the gold attention"},
      {"task.columns", "id", &source.columns["id"], "the column with the id"},
      {"feature", "model", PartField{&c.feature.model, Group::feature},
       "what turns tokens into features"},
      {"feature", "dim", &c.feature.dim, "width of the features", 1, 65536},
      {"feature", "embedding", &c.feature.embedding, "width of the word vectors; 0 = dim", 0,
       65536},
      {"feature", "layers", &c.feature.layers, "layers of a recurrent or convolutional model", 1,
       64},
      {"feature", "dropout", &c.feature.dropout, "on the word vectors and the features", 0, 0.95},
      {"query", "model", PartField{&c.query, Group::query}, "what asks"},
      {"attention", "mechanism", PartField{&a.mechanism, Group::mechanism}, "the wiring"},
      {"attention", "score", PartField{&a.score, Group::score}, "how a query meets a key"},
      {"attention", "align", PartField{&a.align, Group::align}, "scores to weights"},
      {"attention", "queries", PartField{&a.queries, Group::queries}, "how many ask"},
      {"attention", "dimensionality", PartField{&a.dimensionality, Group::dimensionality},
       "one weight a key, or one a feature"},
      {"attention", "position", PartField{&a.position, Group::position}, "how order enters"},
      {"attention", "dropout", &a.dropout, "on the weights, in training", 0, 0.95},
      {"output", "model", PartField{&c.output, Group::output},
       "what turns a context into an answer"},
      {"train", "epochs", &c.train.epochs, "passes over the training part", 1, 1e6},
      {"train", "seed", &c.train.seed, "decides initial weights, batches and dropout"},
      {"train", "batch", &c.train.batch, "examples a step", 1, 1e6},
      {"train", "lr", &c.train.lr, "Adam's step size", 1e-9, 10},
      {"train", "weight_decay", &c.train.weight_decay, "decoupled, as in AdamW", 0, 10},
      {"train", "clip", &c.train.clip, "greatest norm of the gradient; 0 = no clipping"},
      {"train", "patience", &c.train.patience,
       "epochs without a better validation score before it stops; 0 = never", 0, 1e6},
      {"train", "checkpoint_seconds", &c.train.checkpoint_seconds,
       "most seconds between two checkpoints"},
      {"train", "traces", &c.train.traces,
       "held-out examples whose weights are kept for the report", 0, 1e6},
  };
}

}  // namespace heed
