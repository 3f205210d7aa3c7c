#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A kind of layer with its parameters: {"attention", {{"hidden", 4096}, {"heads", 32}}}.
struct LayerSpec {
  std::string kind;
  std::map<std::string, double, std::less<>> numbers;
  // JSON pointer of its source, for error texts; empty: error texts name the kind.
  std::string source = {};

  /// A parameter, or `missing` where it is not stated.
  double number(std::string_view name, double missing = 0) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? missing : found->second;
  }

  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

/// Layers that are never split across stages: a transformer block, or a single layer.
struct BlockSpec {
  std::string name;
  std::vector<LayerSpec> parts;
  bool cut_evenly = true;         // counts in an even partition; otherwise joins a neighbour
  bool predicts_further = false;  // multi-token prediction: excluded from the model's parameters
  std::string module = {};        // the part of the model that it belongs to, see `Layer`

  friend bool operator==(const BlockSpec&, const BlockSpec&) = default;
};

/// A model as a chain of blocks.
struct ModelSpec {
  std::vector<BlockSpec> blocks;

  /// Whether `test` holds for any layer.
  template <class Test>
  bool any_part(Test test) const {
    return std::ranges::any_of(
        blocks, [&](const BlockSpec& block) { return std::ranges::any_of(block.parts, test); });
  }

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// The cell of a schedule that a layer runs for, and the degrees of parallelism.
struct CellShape {
  double sequence = 2048;      // tokens per example
  double microbatch = 1;       // examples of a replica
  double slices = 1;           // cells per microbatch
  double activation_size = 2;  // bytes per value
  double kept_size = 2;        // of those, where kept as the input of a product with weights
  double attention_share = 1;  // of activation_size, what flash attention takes and keeps
  double parameter_size = 2;
  double tensor = 1;
  double context = 1;
  double expert = 1;                    // devices that share the experts, each with whole ones
  std::optional<double> expert_tensor;  // devices that share one expert; empty: as `tensor`
  bool sequence_parallel = false;       // shards norms and dropout along the sequence

  friend bool operator==(const CellShape&, const CellShape&) = default;

  /// Devices that share one expert.
  double tensor_of_experts() const { return expert_tensor.value_or(tensor); }
  /// What is kept of the input of a product with weights, over its size.
  double kept_share() const { return kept_size / activation_size; }
  /// Bytes per value that flash attention takes and keeps.
  double attention_size() const { return activation_size * attention_share; }
  /// Tokens of a cell on one device, before tensor parallelism.
  double tokens() const { return sequence * microbatch / slices / context; }
  /// The same where only sequence parallelism applies, such as norms.
  double tokens_outside_tensor() const { return tokens() / (sequence_parallel ? tensor : 1); }
};

}  // namespace penstock
