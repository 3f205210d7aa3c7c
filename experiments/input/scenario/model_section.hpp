#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// "model": layers by times, by kinds, or from a file.
struct ModelSection {
  ModelGraph graph;           // by times, or
  ModelSpec spec;             // by kinds of layers
  bool stages_given = false;  // each layer of the graph is one model stage
  bool from_file = false;
  std::optional<double> sequence;  // tokens of one example
  std::optional<double> max_sequence;
  std::optional<double> microbatch;  // examples per device at a time
  std::optional<double> profiled_microbatch;
  std::optional<std::string> dtype;
  std::optional<bool> fp8_attention;
  double tied_embedding_bytes = 0;
  ModelDetails details;            // of the model's file
  std::vector<std::string> notes;  // assumptions of the model's file

  bool by_kind() const { return !spec.blocks.empty(); }
};

const Fields& model_fields();

/// Reads the section, after the schema check. `file`: the file that it names, empty without one;
/// its training command supplies the defaults. Throws InputError with a pointer into the scenario.
ModelSection read_model(const nlohmann::json& section, const ModelFile& file);

// Parts of the section, each read in its own file.

/// The keys of a layer that states its times, and what it takes.
const Fields& fields_of(const Layer& layer);
Takes timed_layer();
/// What a layer takes: its kind or parts, or its times.
Takes layer_or_block();

/// A chain of layers that state their times, at `place` in the scenario.
ModelGraph read_timed_layers(const nlohmann::json& layers, const std::string& place);

/// Replaces the edges of a graph. Throws InputError for an unknown layer and for a cycle.
void read_edges(const nlohmann::json& edges, ModelGraph& graph);

/// Layers by kind, with repeats.
ModelSpec read_blocks(const nlohmann::json& layers);

/// Whether a layer names its kind, or has parts that do.
bool is_block(const nlohmann::json& layer);

}  // namespace penstock
