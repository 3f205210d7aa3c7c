#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/base/named.hpp"
#include "tests/support/kernel_gradients.hpp"
#include "validate/kernels/steps/drawn.hpp"

// Kernels of layers that carry a state along a sequence, or choose the keys of each token.

namespace penstock::testing {
namespace {

const KernelCell sequences{.examples = 2, .tokens = 6};

const NamedNumbers mamba{{"hidden", 5}, {"heads", 4},  {"head_dim", 3},
                         {"state", 2},  {"groups", 2}, {"conv", 3}};
const NamedNumbers delta{{"hidden", 5},  {"key_heads", 2}, {"value_heads", 4},
                         {"key_dim", 3}, {"value_dim", 2}, {"conv", 3}};
const NamedNumbers sparse{{"hidden", 5}, {"heads", 2},       {"kv_lora_rank", 3},
                          {"nope", 2},   {"rope", 2},        {"value", 3},
                          {"chosen", 2}, {"index_heads", 3}, {"index_dim", 2}};

Tensor output_of(const char* kind, const NamedNumbers& given, const Tensor& in,
                 const std::vector<std::pair<std::size_t, double>>& set = {}) {
  const KernelEntry& kernel = *find_named(kernel_entries(), kind);
  const LayerNumbers numbers = all_numbers({kind, given, ""});
  Tensors weights = initial_weights(kernel.weights(numbers), 7, 3);
  for (const auto& [weight, value] : set) {
    std::fill(weights[weight].values.begin(), weights[weight].values.end(), value);
  }
  SliceMemory slices;
  Tensors kept;
  return kernel.forward({numbers, sequences, weights, slices}, in, kept);
}

Tensor drawn_input(std::size_t rows) {
  return drawn_numbers(sequences, Columns::tokens, rows, Drawn::number);
}

double furthest(const Tensor& a, const Tensor& b, std::size_t columns) {
  double most = 0;
  for (std::size_t i = 0; i < columns * a.rows; ++i) {
    most = std::max(most, std::abs(a.values[i] - b.values[i]));
  }
  return most;
}

}  // namespace

TEST_CASE("kernels: gradients of a layer with a state are those that differences show") {
  check_gradients("mamba2", mamba, sequences,
                  {{{"norm", 0}},
                   {{"groups", 1}},
                   {{"conv_bias", 0}},
                   {{"in_bias", 1}, {"out_bias", 1}},
                   {{"conv", 9}}});
  // Lengths of small keys bend: a third of the step shows a ninth of that.
  check_gradients("gated_delta", delta, sequences,
                  {{{"key_heads", 4}}, {{"key_heads", 1}, {"conv", 1}}}, 3e-6);
}

TEST_CASE("kernels: gradients of attention to chosen keys are those that differences show") {
  check_gradients("sparse_attention", sparse, sequences,
                  {{{"q_lora_rank", 4}}, {{"flash", 0}}, {{"chosen", 1}}});
}

TEST_CASE("kernels: gradients of gated attention and of norms over all heads, and plain norms") {
  const NamedNumbers sizes{{"hidden", 6}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 2}};
  check_gradients("attention", sizes, sequences,
                  {{{"gate", 1}},
                   {{"gate", 1}, {"flash", 0}, {"qkv_bias", 1}, {"out_bias", 1}},
                   {{"qk_norm", 1}, {"wide_qk_norm", 1}},
                   {{"qk_norm", 1}, {"wide_qk_norm", 1}, {"gate", 1}}});
  check_gradients("norm", {{"hidden", 6}, {"weights", 0}}, sequences, {{{"bias", 1}}});
}

// A token that changes moves what follows it in its example, and nothing before it.
TEST_CASE("kernels: a state goes forwards along a sequence, and not into the next one") {
  for (const auto& [kind, numbers] :
       {std::pair{"mamba2", mamba}, {"gated_delta", delta}, {"sparse_attention", sparse}}) {
    CAPTURE(kind);
    Tensor in = drawn_input(5);
    const Tensor before = output_of(kind, numbers, in);
    for (std::size_t row = 0; row < in.rows; ++row) in.values[3 * in.rows + row] += 1;
    const Tensor after = output_of(kind, numbers, in);
    CHECK(furthest(before, after, 3) == 0);
    CHECK(furthest(before, after, 4) > 1e-3);
    double next = 0;
    for (std::size_t i = sequences.tokens * in.rows; i < in.values.size(); ++i) {
      next = std::max(next, std::abs(before.values[i] - after.values[i]));
    }
    CHECK(next == 0);
    if (std::string_view(kind) != "sparse_attention") {
      CHECK(std::abs(before.values[5 * in.rows] - after.values[5 * in.rows]) > 1e-9);
    }
  }
}

// Weight 3 is the rate, whose decay is exp(-exp(rate) * step): nothing is left of earlier states.
// Then a token's result is skip times itself plus what it reads of its own product.
TEST_CASE("kernels: a state that decays at once is forgotten") {
  for (const auto& [kind, usual] : {std::pair{"mamba2", mamba}, {"gated_delta", delta}}) {
    CAPTURE(kind);
    NamedNumbers numbers = usual;
    numbers["conv"] = 1;
    Tensor in = drawn_input(5);
    const Tensor before = output_of(kind, numbers, in, {{3, 9}});
    for (std::size_t row = 0; row < in.rows; ++row) in.values[row] += 1;
    const Tensor after = output_of(kind, numbers, in, {{3, 9}});
    CHECK(furthest(before, after, 1) > 1e-3);
    double later = 0;
    for (std::size_t i = in.rows; i < in.values.size(); ++i) {
      later = std::max(later, std::abs(before.values[i] - after.values[i]));
    }
    CHECK(later < 1e-12);
  }
}

// Its first weights are those of latent attention, drawn alike.
TEST_CASE("kernels: attention to as many keys as there are is latent attention") {
  NamedNumbers all = sparse;
  all["chosen"] = static_cast<double>(sequences.tokens);
  NamedNumbers latent = sparse;
  for (const char* name : {"chosen", "index_heads", "index_dim"}) latent.erase(name);
  const Tensor in = drawn_input(5);
  const Tensor right = output_of("mla", latent, in);
  CHECK(furthest(output_of("sparse_attention", all, in), right, in.columns) < 1e-12);
  // The first two tokens have no more keys than they may choose.
  CHECK(furthest(output_of("sparse_attention", sparse, in), right, 2) < 1e-12);
  CHECK(furthest(output_of("sparse_attention", sparse, in), right, in.columns) > 1e-4);
}

TEST_CASE("kernels: layers with a state refuse slices") {
  for (const char* kind : {"mamba2", "gated_delta", "sparse_attention"}) {
    const KernelEntry& kernel = *find_named(kernel_entries(), kind);
    const LayerNumbers numbers = all_numbers({kind,
                                              std::string_view(kind) == "mamba2"        ? mamba
                                              : std::string_view(kind) == "gated_delta" ? delta
                                                                                        : sparse,
                                              ""});
    CHECK(kernel.why_not(numbers, {.slices = 2}).value_or("").starts_with("slices: "));
    CHECK_FALSE(kernel.why_not(numbers, {.slices = 1}).has_value());
  }
}

}  // namespace penstock::testing
