#include "models/config_fields.hpp"

#include <algorithm>
#include <set>

namespace heed {

std::vector<Field> config_fields(Config& c) {
  DataSource& source = c.task.source;
  AttentionSpec& a = c.attention;
  std::vector<std::string> kinds;
  std::set<std::string> roles;
  for (const DataKind& kind : data_kinds()) {
    kinds.push_back(kind.id);
    roles.insert(kind.columns.begin(), kind.columns.end());
  }
  std::vector<Field> fields = {
      {"task", "kind", &source.kind, "what is learned", 0, 0, kinds},
      {"task", "data", &source.data,
       "\"builtin:reviews\", or a TSV, CSV or JSONL file with a split column"},
      {"task", "train", &source.train, "or one file a part: the training part"},
      {"task", "val", &source.val, "the validation part"},
      {"task", "test", &source.test, "the test part"},
      {"task", "source", &source.source,
       "another domain: of recommend the same users there, of kinds with labels the labels to "
       "learn from"},
      {"task", "extra", &source.extra, "a file like data, whose training part is learned from too"},
      {"task", "human", &source.human,
       "what people looked at, JSONL {id, tokens, weights}: gold attention of these examples"},
      {"task", "lowercase", &source.lowercase, "lower-case the text (ASCII)"},
      {"task", "max_length", &source.max_length, "tokens kept of a text; 0 = all"},
      {"task", "val_fraction", &source.val_fraction,
       "share of train held out when there is no validation part", 0, 0.9},
      {"task", "min_count", &c.task.min_count, "rarer words are unknown", 1},
      {"task", "subwords", &c.task.subwords,
       "pieces to cut words into, learned by BPE from the training part; 0 = whole words", 0, 1e6},
      {"feature", "vectors", PartField{&c.feature.vectors, Group::vectors},
       "what turns words into vectors"},
      {"feature", "model", PartField{&c.feature.model, Group::feature},
       "what turns tokens into features"},
      {"feature", "dim", &c.feature.dim, "width of the features", 1, 65536},
      {"feature", "embedding", &c.feature.embedding, "width of the word vectors; 0 = dim", 0,
       65536},
      {"feature", "layers", &c.feature.layers, "layers of a recurrent or convolutional model", 1,
       64},
      {"feature", "dropout", &c.feature.dropout, "on the word vectors and the features", 0, 0.95},
      {"feature", "shared", &c.feature.shared, "one feature model for all inputs, or one each"},
      {"feature", "across", &c.feature.across,
       "read on from sentence to sentence; false: each sentence alone"},
      {"feature",
       "pool",
       &c.feature.pool,
       "words of a sentence to one vector, so that attention is over sentences",
       0,
       0,
       {"none", "mean", "position"}},
      {"feature", "time", &c.feature.time,
       "sentences, counted from the last, that a learned vector tells the age of; 0 = none", 0,
       100000},
      {"feature", "time_noise", &c.feature.time_noise,
       "in training, how likely after each sentence another, empty one has passed: ages are "
       "learned that the data lacks",
       0, 0.9},
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
      {"output", "dropout", &c.output_dropout, "on the context, in training", 0, 0.95},
      {"train", "epochs", &c.train.epochs, "passes over the training part", 1, 1e6},
      {"train", "seed", &c.train.seed, "decides initial weights, batches and dropout"},
      {"train", "batch", &c.train.batch, "examples a step", 1, 1e6},
      {"train",
       "optimiser",
       &c.train.optimiser,
       "how a step is made",
       0,
       0,
       {"adam", "adamw", "sgd"}},
      {"train", "lr", &c.train.lr, "the step size", 1e-9, 10},
      {"train", "tune_lr", &c.train.tune_lr, "of parts that were trained before; 0 = lr", 0, 10},
      {"train", "momentum", &c.train.momentum, "of sgd", 0, 0.9999},
      {"train", "beta2", &c.train.beta2, "decay of Adam's squared gradients", 0, 0.999999},
      {"train",
       "schedule",
       &c.train.schedule,
       "how the step size falls after the warm-up",
       0,
       0,
       {"constant", "linear", "cosine", "inverse-sqrt"}},
      {"train", "warmup", &c.train.warmup, "steps in which the step size rises"},
      {"train", "accumulate", &c.train.accumulate, "batches whose gradients make one step", 1, 1e6},
      {"train", "average", &c.train.average,
       "decay of the average of the weights, which is what is evaluated and kept; 0 = none", 0,
       0.99999},
      {"train",
       "precision",
       &c.train.precision,
       "of the matrix products of vectors and features, in training",
       0,
       0,
       {"float32", "bfloat16"}},
      {"train", "supervise", &c.train.supervise,
       "weight of the loss that pulls attention to the data's gold attention", 0, 1000},
      {"train",
       "supervise_loss",
       &c.train.supervise_loss,
       "that loss",
       0,
       0,
       {"cross-entropy", "kl", "squared"}},
      {"train", "supervise_map", &c.train.supervise_map,
       "the one map of weights it pulls at, as traces name it; all that look at gold attention"},
      {"train", "supervise_head", &c.train.supervise_head,
       "the head it pulls at, from 1; 0 = the mean of all", 0, 65536},
      {"train", "reversal", &c.train.reversal,
       "with task.source: what shared attention must not tell of the domain counts so much", 0,
       100},
      {"train", "label_smoothing", &c.train.label_smoothing,
       "share of the right answer's probability that is spread over all", 0, 0.9},
      {"train", "weight_decay", &c.train.weight_decay,
       "decoupled in adamw, added to the gradient in adam and sgd", 0, 10},
      {"train", "clip", &c.train.clip, "greatest norm of the gradient; 0 = no clipping"},
      {"train", "patience", &c.train.patience,
       "epochs without a better validation score before it stops; 0 = never", 0, 1e6},
      {"train",
       "select",
       &c.train.select,
       "what tells the best epoch, on the validation part",
       0,
       0,
       {"score", "loss"}},
      {"train", "checkpoint_seconds", &c.train.checkpoint_seconds,
       "most seconds between two checkpoints"},
      {"train", "traces", &c.train.traces,
       "held-out examples whose weights are kept for the report", 0, 1e6},
  };
  // After the task's own keys, where a reader looks for them.
  auto place = std::ranges::find(fields, "feature", &Field::section);
  for (const std::string& role : roles) {
    place = fields.insert(place, {"task.columns", role, &source.columns[role],
                                  "what the file calls the column '" + role + "'"});
    ++place;
  }
  return fields;
}

}  // namespace heed
