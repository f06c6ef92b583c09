// Word vectors from a file: published ones, fixed or tuned.
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/data/embeddings.hpp"
#include "heed/models/config.hpp"
#include "models/vectors.hpp"

namespace heed {
namespace {

constexpr double kUnknownRange = 0.25;  // Kim 2014: about the spread of published vectors

/// The part that is trained; its name tells the optimiser that it was trained before.
struct TunedTable : torch::nn::Module {
  explicit TunedTable(const Tensor& rows) { table = register_parameter("table", rows); }
  Tensor table;
};

/// A row for each word of the training part; words it has not seen have their vector from the
/// file all the same, which is half of the point of published vectors.
class FileVectors : public VectorModel {
 public:
  explicit FileVectors(const VectorsProblem& p) : index_(load_embeddings(vectors_path(p))) {
    const Tensor rows = initial_rows(p);
    if (get<bool>(p.options, "tune")) {
      table_ = register_module("tuned", std::make_shared<TunedTable>(rows))->table;
    } else {
      table_ = register_buffer("table", rows);
    }
    index_.rest();  // all were looked at, few will be again
  }

  Input forward(const Padded& words) override {
    Tensor data = torch::embedding(table_, words.ids, Vocabulary::kPadding);
    std::vector<std::int64_t> places;
    std::vector<Tensor> rows;
    const std::int64_t longest = words.ids.size(1);
    const auto ids = words.ids.accessor<std::int64_t, 2>();
    for (std::size_t b = 0; b < words.tokens.size(); ++b) {
      for (std::size_t l = 0; l < words.tokens[b].size(); ++l) {
        const auto i = static_cast<std::int64_t>(b), j = static_cast<std::int64_t>(l);
        if (ids[i][j] != Vocabulary::kUnknown) continue;
        const Tensor row = index_.embedding_for(words.tokens[b][l]);
        if (!row.defined()) continue;
        places.push_back(i * longest + j);
        rows.push_back(row);
      }
    }
    if (!rows.empty()) {
      const Tensor flat = data.reshape({-1, output_dim()});
      data = flat.index_copy(0, torch::tensor(places), torch::stack(rows)).view(data.sizes());
    }
    return {.data = data, .lengths = words.lengths, .name = ""};
  }
  std::int64_t output_dim() const override { return index_.width(); }

 private:
  /// Padding 0, the unknown word the mean of all, words without a vector small random ones.
  Tensor initial_rows(const VectorsProblem& p) const {
    const auto count = static_cast<std::int64_t>(p.info.vocabulary.size());
    Tensor rows = torch::empty({count, index_.width()}).uniform_(-kUnknownRange, kUnknownRange);
    rows[Vocabulary::kPadding].zero_();
    rows[Vocabulary::kUnknown].copy_(index_.mean());
    std::int64_t found = 0;
    for (std::int64_t id = Vocabulary::kUnknown + 1; id < count; ++id) {
      const Tensor row = index_.embedding_for(p.info.vocabulary.word(id));
      if (!row.defined()) continue;
      rows[id].copy_(row);
      ++found;
    }
    HEED_CHECK(found > 0 || count <= 2,
               "{}: none of the {} words of the data has a vector; is it of another language?",
               vectors_path(p).string(), count - 2);
    return rows;
  }

  EmbeddingIndex index_;
  Tensor table_;
};

}  // namespace

std::filesystem::path vectors_path(const VectorsProblem& problem) {
  const auto& given = get<std::string>(problem.options, "path");
  HEED_CHECK(!given.empty(),
             "vectors: 'path' is needed, as in vectors = {{ id = \"file\", path = "
             "\"glove.safetensors\" }}; 'heed import' makes such files");
  const std::filesystem::path beside = problem.config.task.source.base / given;
  return is_there(beside) ? beside : std::filesystem::path(given);
}

PartInfo file_vectors() {
  return {.id = "file",
          .group = Group::vectors,
          .title = "Word vectors from a file",
          .formula = "x_l = E_{w_l}",
          .paper = "Mikolov et al. 2013; Pennington et al. 2014",
          .advice = "little data: words the training part lacks have a meaning too",
          .options = {{.name = "path",
                       .fallback = std::string(),
                       .doc = "what 'heed import embeddings' made, or GloVe's text"},
                      {.name = "tune",
                       .fallback = false,
                       .doc = "train them with the task, at train.tune_lr"}},
          .promises = "same bits at the same thread count",
          .make = MakeVectors([](const VectorsProblem& p) -> std::shared_ptr<VectorModel> {
            HEED_CHECK(p.input.width == 0,
                       "vectors 'file': input '{}' is numbers; words are needed", p.input.name);
            return std::make_shared<FileVectors>(p);
          })};
}

}  // namespace heed
