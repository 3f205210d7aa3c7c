#include <fmt/format.h>

#include <array>
#include <cmath>

#include "hardware_models/layers/building/recurrence.hpp"
#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::gated_delta_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"key_heads", "heads of queries and keys", std::nullopt},
    Parameter{"value_heads", "heads of values; a multiple of key_heads", std::nullopt},
    Parameter{"key_dim", "size of a key head", std::nullopt},
    Parameter{"value_dim", "size of a value head", std::nullopt},
    Parameter{"conv", "tokens that the convolution reaches", 4},
    Parameter{"chunk", "tokens whose products are matrices", 64}};

/// Sizes of a layer, or of one device's shard.
struct Heads {
  double keys, values, key, value;

  double inner() const { return values * value; }
  double convolved() const { return 2 * keys * key + inner(); }
  /// What is convolved, the gate, and decay and step of each head.
  double projected() const { return convolved() + inner() + 2 * values; }
};

Heads heads_of(const LayerNumbers& numbers) {
  const Heads heads{numbers["key_heads"], numbers["value_heads"], numbers["key_dim"],
                    numbers["value_dim"]};
  if (std::fmod(heads.values, heads.keys) == 0) return heads;
  throw InputError("/value_heads",
                   fmt::format("{} is no multiple of the {} key heads", heads.values, heads.keys));
}

double count(const LayerNumbers& numbers, const Heads& own) {
  return numbers["hidden"] * (own.projected() + own.inner()) + own.convolved() * numbers["conv"] +
         2 * own.values + own.value;
}

/// The matrix products of a chunk of the delta rule: keys with keys, the solution for values and
/// keys, what the state before it takes away and gives, what the chunk adds, and its own scores.
std::array<MatrixProduct, 8> products_of(const Heads& own, double chunk) {
  return {{{chunk, own.key, chunk, own.values},
           {chunk, chunk, own.value, own.values},
           {chunk, chunk, own.key, own.values},
           {chunk, own.key, own.value, own.values},
           {own.key, chunk, own.value, own.values},
           {chunk, own.key, own.value, own.values},
           {chunk, own.key, chunk, own.values},
           {chunk, chunk, own.value, own.values}}};
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Heads whole = heads_of(numbers);
  Heads own = whole;
  own.keys = numbers.share("key_heads", shape.tensor);
  own.values = numbers.share("value_heads", shape.tensor);
  LayerWork work;
  work.parameters = work.active_parameters = count(numbers, whole);
  work.held_parameters = count(numbers, own);
  const double chunk = numbers["chunk"];
  add_recurrence(work,
                 {.hidden = numbers["hidden"],
                  .projected = own.projected(),
                  .convolved = own.convolved(),
                  .inner = own.inner(),
                  .kept = own.convolved() + chunk * own.values,  // and the solved triangles
                  .state = own.inner() * own.key,
                  .chunk = chunk},
                 products_of(own, chunk), shape);
  // Of each number of the state: keys with keys, values with keys, the decayed state, queries.
  const double of_the_scan = 4 * whole.inner() * whole.key;
  count_dense_flops(work,
                    numbers["hidden"] * (whole.projected() + whole.inner()) +
                        numbers["conv"] * whole.convolved() + of_the_scan,
                    tokens_of_all(shape));
  return work;
}

}  // namespace

constinit extern const LayerKindEntry gated_delta_entry{
    "gated_delta", "Gated DeltaNet: a state that decays and forgets what new keys replace",
    parameters, work};

}  // namespace penstock::gated_delta_file
