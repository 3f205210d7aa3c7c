#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/show/pictures/picture.hpp"

namespace penstock {

/// A model to cut, and the size of its microbatches.
struct PlannedModelRequest {
  std::string path;  // "-" for standard input
  ModelFileOptions file;
  std::string hardware;  // a machine or its file, for layers given by kind
  std::optional<std::uint32_t> sequence;
  std::optional<std::uint32_t> microbatch;
  std::optional<std::uint32_t> tensor;
};

/// A model as partitioners see it.
struct PlannedModel {
  ModelGraph graph;
  ModelToCut to_cut;
  std::vector<std::string> notes;  // of its file, and what its times leave out
};

/// A model to cut by one partitioner.
struct PartitionRequest {
  PlannedModelRequest model;
  std::string method = "balanced";
  std::uint32_t ranks = 1;
  std::uint32_t chunks = 1;
  std::uint32_t microbatches = 1;
  std::optional<std::uint32_t> devices;
  std::optional<double> bandwidth_bytes_per_s;
  std::optional<double> memory_bytes;
  bool exactly = false;
  CutSettings settings;
};

/// A model and its cut.
struct PartitionResult {
  std::string method;
  PlannedModel model;
  Cut cut;
};

/// Cuts a model. Throws InputError that starts with the model's file, and UsageError.
PartitionResult partition_model(const PartitionRequest& request);

ordered_json partition_json(const PartitionResult& result);
/// A table of stages.
std::string partition_text(const PartitionResult& result);
/// The stages as bars.
std::string partition_picture(PictureFormat format, const PartitionResult& result);

}  // namespace penstock
