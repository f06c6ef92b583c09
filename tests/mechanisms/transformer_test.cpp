#include "heed/mechanisms/transformer.hpp"

#include <gmock/gmock.h>
#include <torch/nn/modules/transformerlayer.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

TransformerOptions small_transformer(bool norm_first = false) {
  return {.parts = {.score = "scaled-dot", .queries = {"multi-head", {{"heads", std::int64_t{2}}}}},
          .dim = 8,
          .layers = 1,
          .ffn = 12,
          .norm_first = norm_first};
}

using Named = torch::OrderedDict<std::string, Tensor>;

void copy_attention(Named& mine, const std::string& name, torch::nn::MultiheadAttention& from) {
  const auto in = from->in_proj_weight.chunk(3), bias = from->in_proj_bias.chunk(3);
  for (std::size_t i = 0; i < 3; ++i) {
    mine[name + ".W_" + "QKV"[i] + ".weight"].copy_(in[i]);
    mine[name + ".W_" + "QKV"[i] + ".bias"].copy_(bias[i]);
  }
  mine[name + ".W_O.weight"].copy_(from->out_proj->weight);
  mine[name + ".W_O.bias"].copy_(from->out_proj->bias);
}

template <class Module>
void copy_layer(Named& mine, const std::string& name, Module& from) {
  mine[name + ".weight"].copy_(from->weight);
  mine[name + ".bias"].copy_(from->bias);
}

Input named(const Tensor& x, const Tensor& lengths, const std::string& name = "text") {
  return {.data = x, .lengths = lengths, .name = name};
}

TEST(Transformer, EncoderEqualsTorch) {
  torch::manual_seed(6);
  torch::nn::TransformerEncoderLayer theirs(
      torch::nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0));
  TransformerEncoder ours(small_transformer());
  theirs->to(kFull), ours->to(kFull);
  torch::NoGradGuard no_grad;
  for (Tensor& parameter : theirs->parameters()) parameter.normal_(0, 0.7);
  Named mine = ours->named_parameters();
  copy_attention(mine, "layer_1.self", theirs->self_attn);
  copy_layer(mine, "layer_1.norm_self", theirs->norm1);
  copy_layer(mine, "layer_1.inner", theirs->linear1);
  copy_layer(mine, "layer_1.outer", theirs->linear2);
  copy_layer(mine, "layer_1.norm_feed", theirs->norm2);
  const Tensor x = torch::randn({3, 5, 8}, kFull), lengths = torch::tensor({5, 2, 4});
  const Tensor padding = torch::arange(5).unsqueeze(0) >= lengths.unsqueeze(1);
  const Tensor expected = theirs->forward(x.transpose(0, 1), {}, padding).transpose(0, 1);
  Trace trace;
  const Tensor made = ours->forward(named(x, lengths), trace["t"]);
  const Tensor valid = padding.logical_not();
  EXPECT_LT(greatest((made - expected).index({valid})), 1e-12);
}

TEST(Transformer, DecoderEqualsTorch) {
  torch::manual_seed(7);
  torch::nn::TransformerDecoderLayer theirs(
      torch::nn::TransformerDecoderLayerOptions(8, 2).dim_feedforward(12).dropout(0));
  TransformerDecoder ours(small_transformer());
  theirs->to(kFull), ours->to(kFull);
  torch::NoGradGuard no_grad;
  for (Tensor& parameter : theirs->parameters()) parameter.normal_(0, 0.7);
  Named mine = ours->named_parameters();
  copy_attention(mine, "layer_1.self", theirs->self_attn);
  copy_attention(mine, "layer_1.memory", theirs->multihead_attn);
  copy_layer(mine, "layer_1.norm_self", theirs->norm1);
  copy_layer(mine, "layer_1.norm_memory", theirs->norm2);
  copy_layer(mine, "layer_1.inner", theirs->linear1);
  copy_layer(mine, "layer_1.outer", theirs->linear2);
  copy_layer(mine, "layer_1.norm_feed", theirs->norm3);
  const Tensor x = torch::randn({2, 4, 8}, kFull), memory = torch::randn({2, 6, 8}, kFull);
  const Tensor lengths = torch::tensor({6, 3});
  const Tensor padding = torch::arange(6).unsqueeze(0) >= lengths.unsqueeze(1);
  const Tensor future = torch::full({4, 4}, -INFINITY, kFull).triu(1);
  const Tensor expected =
      theirs->forward(x.transpose(0, 1), memory.transpose(0, 1), future, {}, {}, padding)
          .transpose(0, 1);
  Trace trace = Trace::recording();
  Tensor bad = memory.clone();
  bad[1].narrow(0, 3, 3).fill_(NAN);
  const Tensor made = ours->forward(named(x, {}), named(bad, lengths, "source"), trace["d"]);
  EXPECT_LT(greatest(made - expected), 1e-12);
  EXPECT_EQ(greatest(trace.map("d/layer 1/self").weights.triu(1)), 0);
  EXPECT_EQ(trace.map("d/layer 1/memory").key_input, "source");
}

TEST(Transformer, PreNormIsItsFormula) {
  torch::manual_seed(8);
  TransformerEncoder ours(small_transformer(true));
  ours->to(kFull);
  for (Tensor& parameter : ours->parameters()) parameter.data().normal_(0, 0.7);
  Named mine = ours->named_parameters();
  const Tensor x = torch::randn({1, 5, 8}, kFull);
  const auto norm = [&](const std::string& name, const Tensor& y) {
    const Tensor centred = y - y.mean(-1, true);
    return centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * mine[name + ".weight"] +
           mine[name + ".bias"];
  };
  const auto linear = [&](const std::string& name, const Tensor& y) {
    return torch::matmul(y, mine[name + ".weight"].t()) + mine[name + ".bias"];
  };
  const auto heads = [](const Tensor& y) { return y.view({5, 2, 4}).transpose(0, 1); };
  const Tensor before = norm("layer_1.norm_self", x[0]);
  const Tensor q = heads(linear("layer_1.self.W_Q", before)),
               k = heads(linear("layer_1.self.W_K", before)),
               v = heads(linear("layer_1.self.W_V", before));
  const Tensor a = torch::softmax(torch::matmul(q, k.transpose(1, 2)) / 2, -1);
  Tensor y = x[0] + linear("layer_1.self.W_O", torch::matmul(a, v).transpose(0, 1).reshape({5, 8}));
  y = y +
      linear("layer_1.outer", torch::relu(linear("layer_1.inner", norm("layer_1.norm_feed", y))));
  Trace trace;
  EXPECT_LT(greatest(ours->forward(named(x, {}), trace["t"])[0] - norm("norm", y)), 1e-12);
}

TEST(Transformer, AddedPositionsAreAddedOnceAtTheBottom) {
  torch::manual_seed(9);
  TransformerOptions options = small_transformer();
  options.layers = 2;
  TransformerEncoder plain(options);
  options.parts.position = "sinusoidal";
  TransformerEncoder placed(options);
  plain->to(kFull), placed->to(kFull);
  torch::NoGradGuard no_grad;
  Named from = plain->named_parameters(), to = placed->named_parameters();
  for (auto& item : to) item.value().copy_(from[item.key()]);
  const Tensor x = torch::randn({2, 5, 8}, kFull);
  Trace trace;
  const Tensor marked = make_position("sinusoidal", {.dim = 8})->add(x);
  EXPECT_LT(greatest(placed->forward(named(x, {}), trace["t"]) -
                     plain->forward(named(marked, {}), trace["t"])),
            1e-12);
}

TEST(Transformer, DecoderSeesNoFutureAndHasItsGradients) {
  torch::manual_seed(11);
  TransformerOptions options = small_transformer(true);
  options.act = "gelu";
  options.parts.position = "rope";
  TransformerDecoder decoder(options);
  decoder->to(kFull);
  Trace trace;
  const Tensor x = torch::randn({2, 4, 8}, kFull), memory = torch::randn({2, 3, 8}, kFull);
  const Tensor lengths = torch::tensor({3, 0});
  const auto run = [&](const std::vector<Tensor>& in) {
    return decoder->forward(named(in[0], {}), named(in[1], lengths, "source"), trace["d"]);
  };
  check_gradients(run, {x, memory}, "decoder");
  const Tensor whole = run({x, memory}), part = run({x.narrow(1, 0, 2), memory});
  EXPECT_LT(greatest(whole.narrow(1, 0, 2) - part), 1e-12);
}

struct EveryTransformer : testing::TestWithParam<AttentionSpec> {};

TEST_P(EveryTransformer, HoldsThePromises) {
  torch::manual_seed(10);
  AttentionSpec parts = GetParam();
  parts.mechanism = {
      "transformer",
      {{"layers", std::int64_t{2}}, {"ffn", std::int64_t{6}}, {"act", std::string("gelu")}}};
  const auto mechanism = make_mechanism({.parts = parts, .inputs = {{.name = "text", .dim = 8}}});
  mechanism->to(kFull);
  hold_promises(*mechanism, "transformer/layer 2/self", torch::randn({3, 4, 8}, kFull));
}

const PartSpec kTwoHeads = {"multi-head", {{"heads", std::int64_t{2}}}};
INSTANTIATE_TEST_SUITE_P(
    Parts, EveryTransformer,
    testing::Values(
        AttentionSpec{.score = "scaled-dot", .queries = kTwoHeads, .position = "rope"},
        AttentionSpec{
            .score = "additive", .align = "entmax15", .queries = kTwoHeads, .position = "alibi"},
        AttentionSpec{.score = "general", .align = "sigmoid", .position = "learned"},
        AttentionSpec{
            .score = "dot", .align = "sparsemax", .queries = kTwoHeads, .position = "relative"}));

}  // namespace
}  // namespace heed
