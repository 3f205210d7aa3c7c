#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock {

/// A layer by its kind and that kind's numbers: {"attention", {{"hidden", 4096}, {"heads", 32}}}.
struct LayerSpec {
  std::string kind;
  std::map<std::string, double, std::less<>> numbers;
  // Where it was stated, a JSON pointer, for error texts; empty: error texts name the kind.
  std::string source;
};

/// Layers that no cut parts: a transformer block, or a single layer.
struct BlockSpec {
  std::string name;
  std::vector<LayerSpec> parts;
  // Counts in an even cut, and is made again by full recomputation; an embedding or a head goes
  // with a neighbour, and keeps what it has.
  bool cut_evenly = true;
  bool predicts_further = false;  // of multi-token prediction: not among the model's parameters
};

/// A model by its layers, each block feeding the next.
struct ModelSpec {
  std::vector<BlockSpec> blocks;
};

/// The cell of a schedule that a layer runs for, and the devices that it is spread over.
struct CellShape {
  double sequence = 2048;      // tokens of one example
  double microbatch = 1;       // examples that one device of an expert group works on
  double slices = 1;           // cells that share a microbatch
  double activation_size = 2;  // bytes of a number
  double parameter_size = 2;
  double tensor = 1;
  double context = 1;
  double expert = 1;
  bool sequence_parallel = false;  // what tensor parallelism leaves whole is cut along the sequence

  /// The tokens of a cell that one device works on, before tensor parallelism.
  double tokens() const { return sequence * microbatch / slices / context; }
  /// The same of what only sequence parallelism cuts, such as norms.
  double tokens_outside_tensor() const { return tokens() / (sequence_parallel ? tensor : 1); }
};

}  // namespace penstock
