#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/numbers.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// Which activations are recomputed before their backward.
enum class RecomputeMode : std::uint8_t { none, full, selective, except_last };

/// The unit of recomputation: a layer, just before its backward, or a whole stage.
enum class RecomputeUnit : std::uint8_t { layer, stage };

enum class Optimizer : std::uint8_t { none, sgd, momentum, adam };

/// How tokens reach their experts.
enum class TokenDispatch : std::uint8_t { alltoall, deduplicated };

/// The precision of parameters and gradients.
enum class Precision : std::uint8_t { bf16, fp16, fp32 };

/// Memory per parameter. Only the ratios matter: layers state their parameter bytes.
struct BytesPerParameter {
  double parameter = 0;
  double gradient = 0;   // 0: not kept; travels in the parameter's format
  double optimizer = 0;  // master weights, moments, and gradients in a wider format

  double gradient_factor() const { return gradient > 0 ? gradient / parameter : 1; }
  double optimizer_factor() const { return optimizer / parameter; }
};

/// Memory in mixed-precision training as in Megatron-LM: bf16 with fp32 gradients, fp16 with fp16
/// gradients, or fp32 throughout; with Adam 18, 20 and 16 bytes.
BytesPerParameter bytes_per_parameter(Precision precision, Optimizer optimizer);

/// The precision of parameters whose /model/dtype is this one.
Precision usual_precision(std::string_view dtype);

/// How to read a model file that leaves facts open.
struct ModelFileOptions {
  std::string format;        // by name; empty: by its content
  std::string architecture;  // of a config whose architecture is unknown or missing
  // What the images of an example become before the first layer; empty: one image.
  std::optional<double> image_tokens = {};
};

/// What a config says of a model that changes no step time. Launch files repeat it.
struct ModelDetails {
  std::optional<double> rotary_base;
  std::optional<double> rotary_share;  // of a head's values
  std::string activation;              // "silu"
  std::string scoring;                 // of a router: "sigmoid"
  std::string rope_scaling;            // its type, "llama3"; empty: none
  double rope_factor = 0;              // of the scaling
  std::optional<double> norm_epsilon;
};

/// Facts of a training command beyond its model. Absent means not stated.
struct TrainingCommand {
  std::optional<std::uint32_t> tensor;
  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint32_t> chunks;
  std::optional<std::uint32_t> data;
  std::optional<std::uint32_t> context;
  std::optional<std::uint32_t> expert;
  std::optional<std::uint32_t> expert_tensor;
  std::optional<std::uint32_t> devices;  // world size
  std::optional<std::uint32_t> microbatch;
  std::optional<std::uint32_t> global_batch;
  std::optional<double> sequence;
  std::optional<bool> sequence_parallel;
  std::optional<bool> scatter_gather;         // of activations between tensor groups
  std::optional<bool> overlap_experts;        // all-to-alls of experts with compute
  std::optional<bool> overlap_gathers;        // of new weights with the next step's first forwards
  std::optional<bool> overlap_shared_expert;  // with all-to-alls of the other experts
  std::optional<TokenDispatch> dispatcher;    // of tokens to experts
  std::optional<bool> narrow_gathers;         // of weights, in the precision of products
  std::optional<bool> overlap_sums;           // of gradients with backwards
  std::optional<std::string> dtype;           // as in a scenario
  std::optional<bool> fp8_attention;
  std::optional<RecomputeMode> recompute;
  std::vector<std::string> recompute_operators;     // with `selective`; empty: not stated
  std::optional<std::uint32_t> recompute_layers;    // with `full`: the first of each stage
  std::optional<std::uint32_t> recompute_together;  // with `full`: layers restored at a time
  std::optional<std::uint32_t> offload_layers;      // to host memory: the first of each stage
  std::optional<Optimizer> optimizer;
  std::optional<Precision> gradients;         // that are kept
  std::optional<std::uint32_t> zero;          // ZeRO level
  std::optional<std::uint32_t> shard_groups;  // of data replicas
  std::optional<std::uint32_t> microbatches;  // of a replica and iteration; else by global_batch
  std::string schedule;    // a rule; empty: 1f1b, or with several chunks interleaved-1f1b
  std::string order_file;  // an order in PyTorch's notation, instead of a rule
  std::optional<std::uint32_t> layers_per_stage;  // instead of chunks
  std::string partition;                          // a partitioner, where the stages are not listed
  std::string stack;          // of the framework's kernels; empty: by the ZeRO level
  bool names_config = false;  // that states what the command does not, and is not read

  friend bool operator==(const TrainingCommand&, const TrainingCommand&) = default;
};

/// A model as read from a file: layers by kinds, layers by times, or the partition of another
/// file's layers into stages.
struct ModelFile {
  std::string format;        // its name
  std::string architecture;  // "llama"; empty if the format has none
  ModelSpec spec;            // layers by kinds; else
  ModelGraph graph;          // layers by times of one microbatch, with edges; else
  Profile profile;           // layers by times at several sizes, a chain unless `graph` has edges
  // The id of each layer of `graph` in other files; empty: its position.
  std::vector<std::uint32_t> layer_ids;
  ModelDetails details;
  std::optional<double> max_sequence;  // of the model
  bool reads_pictures = false;         // whether `image_tokens` matters
  TrainingCommand command;

  // The layers and ranks of each stage, if stated.
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<std::vector<Rank>> ranks;

  std::vector<std::string> notes;  // assumptions and omissions, for the user
};

/// Tokens per example if not stated: 4096, or the maximum of the model.
double usual_sequence(std::optional<double> max_sequence);

/// Why a model takes no examples of this many tokens: it has fewer learned positions, of which a
/// table may have more than `max_sequence`, or more tokens come from pictures. Empty if it takes
/// them.
std::string why_no_sequence(const ModelSpec& spec, std::optional<double> max_sequence,
                            double tokens);

/// Whether the examples of a model are token sequences.
bool has_tokens(const ModelSpec& spec);

/// The layers of a model by times, for the given microbatch. A profile at a single size is scaled
/// only if that size is given, in proportion. Empty for a model by kinds.
ModelGraph graph_by_times(const ModelFile& file, std::optional<double> microbatch,
                          std::optional<double> profiled_microbatch = std::nullopt);

/// An option of the command line that shapes layers.
struct ShapeOption {
  const char* name;
  bool given;
};

/// Throws UsageError for the first option that is given where layers have times: those hold for the
/// size and devices of their measurement. A profile at several sizes has times by `--microbatch`.
void check_shape(const ModelFile& file, const std::vector<ShapeOption>& options);

/// The stages of one file as layers of a model from another file. If the model has ids, unknown ids
/// are skipped: they are backward nodes, which belong to layers. Throws InputError for a layer in
/// no stage and for a stage without layers.
std::vector<std::vector<LayerIndex>> placed_layers(const ModelFile& cut, const ModelFile& model);

}  // namespace penstock
