#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/numbers.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A training as a framework starts it. `command` states everything that a format may write.
struct TrainingLaunch {
  std::string name;  // of its files, without suffix
  TrainingCommand command;
  ModelSpec model;
  ModelDetails details;
  std::vector<std::vector<LayerIndex>> stages;
  std::uint32_t host_devices = 1;
  bool overlaps_sums = true;        // of gradients with backwards
  const Schedule* order = nullptr;  // for frameworks that have no name for it
  // Settings of the scenario, "/memory/precision=fp32", that Megatron-LM alone has arguments for,
  // and that no framework has.
  std::vector<std::string> of_megatron, of_none;
};

/// A file that starts a training: "layout_1" and ".sh".
struct LaunchFile {
  std::string suffix;
  std::string text;
  std::vector<std::string> left_out = {};  // settings that it does not say, nor a comment in it
};

/// A line of a shell script that names what no argument of its command says; empty where that is
/// nothing.
std::string left_out_line(const std::vector<std::string>& left_out);

/// How torchrun is to be called on machines of this size: "torchrun --nnodes 2 --nproc-per-node 8".
std::string torchrun_text(const TrainingLaunch& launch);

/// How many layers of each stage count in an even cut, and all of them.
struct StageCounts {
  std::vector<std::uint32_t> even, all;
};
StageCounts stage_counts(const TrainingLaunch& launch);

/// Whether all numbers are equal.
bool are_equal(const std::vector<std::uint32_t>& counts);

}  // namespace penstock
