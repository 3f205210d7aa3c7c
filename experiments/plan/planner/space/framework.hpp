#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"

namespace penstock {

struct LayoutChoice;
struct OrderChoice;
struct TrainingTask;

/// What a training framework runs. Each rule is a text for --why rules, or nullptr where a layout
/// is legal.
struct Framework {
  std::string_view name;    // of --for
  std::string_view format;  // of the files that start it
  std::string_view schedules;
  std::string_view recomputations;
  std::string_view cuts;             // tried by default
  std::string_view other_cuts = {};  // may be asked for; empty: none
  std::string_view operators = {};   // of selective recomputation, as JSON; empty: as asked
  std::string_view dtypes;
  std::string_view stack;               // of its kernels, where that was measured on a device
  bool sums_narrow = false;             // gradients are kept in the type of weights
  bool recomputes_some_layers = false;  // of each stage
  bool offloads_layers = false;         // the first of each stage, without a pipeline
  bool hides_experts = false;           // behind the other microbatch of interleaved 1F1B
  const char* unknown_schedule;
  const char* unknown_overlap;
  const char* unknown_offload;
  const char* whole_offload = nullptr;  // where layers can be offloaded, but not all
  const char* unknown_recomputation;
  const char* unknown_cut;

  const char* (*why_no_degrees)(const TrainingTask& task, const LayoutChoice& degrees);
  const char* (*why_no_sequence)(const TrainingTask& task, bool sequence);
  const char* (*why_no_order)(const TrainingTask& task, const LayoutChoice& degrees,
                              const OrderChoice& order);
  const char* (*why_no_zero)(const TrainingTask& task, const LayoutChoice& degrees,
                             std::uint32_t zero);

  bool runs(std::string_view schedule) const;
  /// `some`: the first layers of each stage alone.
  bool recomputes(std::string_view mode, bool stages, bool some) const;
  const char* why_no_overlap(bool fused, bool hides) const;
  const char* why_no_offload(const TrainingTask& task, const LayoutChoice& degrees,
                             std::uint32_t layers) const;
  bool cuts_by(std::string_view partitioner) const;
};

/// By name.
std::span<const Framework> frameworks();

/// "any" and the names of the frameworks.
std::vector<std::string> framework_names();

/// nullptr: any.
const Framework* framework_of(std::string_view name);

/// Restricts a task to a framework, if any, and states the stack that prices it unless the task
/// does. Throws UsageError for layers by times and for a type of products that it does not train
/// in.
void set_framework(const Framework* framework, const Catalogue& catalogue, TrainingTask& task);

/// The first rule of a framework that a layout of a task breaks; nullptr: none.
const char* why_not_in(const Framework& framework, const TrainingTask& task,
                       const LayoutChoice& choice);

}  // namespace penstock
