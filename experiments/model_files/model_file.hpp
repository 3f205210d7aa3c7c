#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/model_files/optimizer.hpp"
#include "experiments/model_files/recompute_mode.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "hardware_models/spec/profile.hpp"
#include "sim/base/numbers.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// How to read a model's file where it leaves things open.
struct ModelFileOptions {
  std::string format;        // by name; empty: as the text looks
  std::string architecture;  // of a config whose own one is unknown or missing
};

/// What a training command says beyond its model. What is absent it does not say.
struct TrainingCommand {
  std::optional<std::uint32_t> tensor;
  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint32_t> chunks;
  std::optional<std::uint32_t> context;
  std::optional<std::uint32_t> expert;
  std::optional<std::uint32_t> devices;  // world size
  std::optional<std::uint32_t> microbatch;
  std::optional<std::uint32_t> global_batch;
  std::optional<double> sequence;
  std::optional<bool> sequence_parallel;
  std::optional<std::string> dtype;  // "bf16", "fp16", "fp32"
  std::optional<RecomputeMode> recompute;
  std::optional<Optimizer> optimizer;
  std::optional<bool> distributed_optimizer;  // ZeRO-1
};

/// A model as a file of some format describes it: layers by kinds, or layers by times, or how the
/// layers of some other file are cut.
struct ModelFile {
  std::string format;        // its name
  std::string architecture;  // "llama"; empty where a format has none
  ModelSpec spec;            // layers by kinds; else
  ModelGraph graph;          // layers by times of one microbatch, edges included; else
  Profile profile;           // layers by times at several sizes, a chain unless `graph` has edges
  // By what number other files name each layer of `graph`; empty: by its position.
  std::vector<std::uint32_t> layer_ids;
  std::optional<double> max_sequence;  // that the model was made for
  TrainingCommand command;

  // The layers of each stage and its ranks, where the file says so.
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<std::vector<Rank>> ranks;

  std::vector<std::string> notes;  // what a user should know: what was assumed, what was left out
};

/// The tokens of an example where nothing says how many: 4096, or the most that the model was made
/// for.
double usual_sequence(std::optional<double> max_sequence);

/// Whether the examples of a model are sequences of tokens.
bool has_tokens(const ModelSpec& spec);

}  // namespace penstock
