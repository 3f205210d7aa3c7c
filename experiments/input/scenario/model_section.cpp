#include "experiments/input/scenario/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/model_files/model_file.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void read_layers(const json& section, ModelSection& model) {
  const json& layers = section["layers"];
  const auto by_kind = std::count_if(layers.begin(), layers.end(), is_block);
  if (by_kind == 0) {
    model.graph = read_timed_layers(layers, "/model/layers");
    if (section.contains("edges")) read_edges(section["edges"], model.graph);
    return;
  }
  if (static_cast<std::size_t>(by_kind) < layers.size()) {
    throw InputError("/model/layers",
                     "some layers state their times and others their kind; a layer of the kind "
                     "\"measured\" states times among others by kind");
  }
  if (section.contains("edges")) {
    throw InputError("/model/edges", "layers by kind are a chain; edges go with layers by times");
  }
  model.spec = read_blocks(layers);
}

/// Refuses cell sizes where layers state their costs.
void refuse_shape(const json& section) {
  for (const char* key : {"sequence", "microbatch", "dtype", "fp8_attention", "profiled_microbatch",
                          "format", "arch", "image_tokens"}) {
    if (!section.contains(key)) continue;
    throw InputError(std::string("/model/") + key,
                     "what is stated in times and bytes has its size already; this goes with "
                     "layers by kind, or with a file");
  }
}

/// Fills in a value that the scenario does not state.
template <class Value>
void stand_in(std::optional<Value>& stated, const std::optional<Value>& other) {
  if (!stated) stated = other;
}

/// Layers by times of one microbatch, scaled from the profiled to the requested size.
void use_times(const ModelFile& file, ModelSection& model) {
  for (const auto& [key, stated] : {std::pair{"/model/dtype", model.dtype.has_value()},
                                    {"/model/sequence", model.sequence.has_value()}}) {
    if (!stated) continue;
    throw InputError(key, "what this file states in times and bytes has its size already");
  }
  const bool sized = !file.profile.entries.empty() || model.profiled_microbatch.has_value();
  if (model.microbatch && !sized) {
    throw InputError("/model/microbatch",
                     "the times of this file are those of a minibatch of unknown size; say that "
                     "with \"profiled_microbatch\" too");
  }
  stand_in(model.microbatch, model.profiled_microbatch);
  model.graph = graph_by_times(file, model.microbatch, model.profiled_microbatch);
  for (Layer& layer : model.graph.layers) layer.source = "/model/file";
  if (!model.graph.layers.empty()) return;
  throw InputError("/model/file",
                   "this file says how layers are cut but not what they are; it goes under "
                   "/partition/file");
}

/// Sizes that a command leaves to a config have no default.
void check_sizes(const ModelSection& model) {
  const auto needs = [](bool known, const char* argument, const char* key) {
    if (known) return;
    throw InputError(
        "/model/command",
        fmt::format("the config that it names is not read; add {} as there, or {}", argument, key));
  };
  needs(model.sequence.has_value(), "--training.seq_len", "/model/sequence");
  needs(model.microbatch.has_value(), "--training.local_batch_size",
        "/model/microbatch, with a pipeline and /schedule/microbatches");
}

/// Sizes that a training command states.
void take_sizes(const TrainingCommand& command, ModelSection& model) {
  if (command.microbatch) stand_in(model.microbatch, std::optional<double>(*command.microbatch));
  if (!model.by_kind()) return;
  stand_in(model.sequence, command.sequence);
  stand_in(model.dtype, command.dtype);
  if (command.names_config) check_sizes(model);
}

/// A launch file without a model goes under another key.
void check_is_model(const ModelFile& file) {
  const bool is_model = !file.spec.blocks.empty() || !file.graph.layers.empty() ||
                        !file.profile.entries.empty() || !file.stages.empty();
  if (is_model || !file.command.tensor) return;
  throw InputError("/model/file",
                   "this file says how a model is trained but not what it is; it goes under "
                   "/model/command");
}

/// Layers by kind. Sizes default to those of the file's training command.
void use_file(const ModelFile& file, ModelSection& model) {
  check_is_model(file);
  model.spec = file.spec;
  take_sizes(file.command, model);
  model.notes = file.notes;
  stand_in(model.fp8_attention, file.command.fp8_attention);
  model.details = file.details;
  model.max_sequence = file.max_sequence;
  model.from_file = true;
  if (file.spec.blocks.empty()) return use_times(file, model);
  if (model.profiled_microbatch) {
    throw InputError("/model/profiled_microbatch",
                     "this file has no times; it is about those of a profile");
  }
}

void check_ways(const json& section) {
  check_one_of(section, "/model", {"stages", "layers", "file"});
  if (section.contains("edges") && !section.contains("layers")) {
    throw InputError("/model/edges", "stages are a chain; edges go with \"layers\"");
  }
}

void check_architecture(const json& section, const ModelFile& file) {
  if (!section.contains("arch") || !file.architecture.empty()) return;
  throw InputError("/model/arch",
                   fmt::format("a file of the format {} has no architecture", file.format));
}

void check_pictures(const json& section, const ModelFile& file) {
  if (!section.contains("image_tokens") || file.reads_pictures) return;
  throw InputError("/model/image_tokens",
                   "the file's model has no encoder of pictures; leave this out");
}

}  // namespace

const Fields& model_fields() {
  using M = ModelSection;
  const Takes examples = number(1e-6, 1e9);
  static const Fields fields{
      "what is trained: stages, layers or a file",
      {note(),
       {"file", full_text(),
        "a model's config, a training command, a profile: see penstock list formats"},
       {"command", full_text(),
        "how a framework trains it: a command of Megatron-LM or torchtitan, a config of DeepSpeed; "
        "what the scenario does not state holds as there"},
       {"format", text(), "of the file, where its text does not show it"},
       {"arch", text(), "architecture of the file's model, instead of what it says itself"},
       {"image_tokens", whole(0, 1'000'000'000),
        "of a model that reads pictures: tokens of an example that they become before the first "
        "layer; 0: no picture; default one of the size that its config states"},
       field<&M::sequence>("sequence", whole(1, 1'000'000'000),
                           "tokens per example; default 4096, or the maximum of the model if "
                           "smaller"),
       field<&M::microbatch>("microbatch", examples, "examples per microbatch on one device"),
       field<&M::profiled_microbatch>("profiled_microbatch", examples,
                                      "examples that the times of a profile without sizes refer "
                                      "to; \"microbatch\" scales them"),
       field<&M::dtype>(
           "dtype", words({"bf16", "fp16", "fp32", "tf32", "fp8", "fp8-block", "mxfp8", "nvfp4"}),
           "type of weights, activations and matrix products; fp8: products with "
           "weights in fp8, all else in bf16; default bf16"),
       field<&M::fp8_attention>("fp8_attention", truth(),
                                "flash attention runs in fp8 too, and keeps its queries, keys, "
                                "values and output so, as Transformer Engine does with "
                                "fp8_dot_product_attention; needs a dtype of fp8 or fp4; default "
                                "false"),
       {"stages", list_of(timed_layer(), 1, 65'536), "cost of each model stage"},
       {"layers", list_of(layer_or_block(), 1, 1'000'000),
        "cost or kind of each layer; a partition cuts them into stages"},
       {"edges", list_of(list_of(whole(0, 999'999), 2, 2)),
        "pairs [from, to] of layers, counted with their repeats; without them each layer feeds the "
        "next"},
       field<&M::tied_embedding_bytes>("tied_embedding_bytes", bytes(),
                                       "gradient of an embedding that the first and the last stage "
                                       "share")}};
  return fields;
}

ModelSection read_model(const json& section, const ModelFile& file) {
  check_ways(section);
  ModelSection model;
  model.notes = file.notes;
  read_fields(model_fields(), section, &model);
  if (section.contains("stages")) {
    model.stages_given = true;
    model.graph = read_timed_layers(section["stages"], "/model/stages");
  }
  if (section.contains("layers")) read_layers(section, model);
  if (section.contains("file")) {
    check_architecture(section, file);
    check_pictures(section, file);
    use_file(file, model);
  } else if (model.by_kind()) {
    take_sizes(file.command, model);
  } else {
    refuse_shape(section);
  }
  return model;
}

}  // namespace penstock
