#pragma once

#include <array>
#include <string>
#include <string_view>

#include "experiments/input/model_files/launch.hpp"

namespace penstock {

/// A schedule rule as torchtitan names it.
struct TitanSchedule {
  std::string_view torch;
  std::string_view rule;
  bool several;  // stages per rank
};
inline constexpr std::array<TitanSchedule, 7> titan_schedules{
    {{"1F1B", "1f1b", false},
     {"GPipe", "gpipe", false},
     {"Interleaved1F1B", "interleaved-1f1b", true},
     {"LoopedBFS", "looped-bfs", true},
     {"InterleavedZeroBubble", "interleaved-zb", true},
     {"ZBVZeroBubble", "zb-v", true},
     {"DualPipeV", "dualpipev", true}}};
/// nullptr: torchtitan has no name for it.
const TitanSchedule* titan_schedule(std::string_view rule);

/// Of an order that a CSV has, by the stages of a rank.
inline constexpr std::string_view titan_order_of_one = "PipelineScheduleSingle";
inline constexpr std::string_view titan_order_of_several = "PipelineScheduleMulti";

/// What converts the products of a model to a type below 16 bits: today's names, older ones, and
/// those of products of experts.
struct TitanConverter {
  std::string_view name;
  std::string_view dtype;
  bool of_experts = false;
};
inline constexpr std::array<TitanConverter, 6> titan_converters{
    {{"quantize.linear.float8", "fp8"},
     {"quantize.linear.mx", "mxfp8"},
     {"float8", "fp8"},
     {"mx", "mxfp8"},
     {"quantize.grouped_mm.float8", "fp8", true},
     {"quantize.grouped_mm.mx", "mxfp8", true}}};

/// The command that starts a training, as a script.
std::string torchtitan_script(const TrainingLaunch& launch);

}  // namespace penstock
