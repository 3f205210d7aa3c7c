#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/plan/planner/space/restrictions.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "schedules/registry.hpp"

namespace penstock {

/// The first layers of a model, on every rank of the pipeline beside the other layers or on devices
/// of their own.
struct ModuleChoice {
  std::string name;           // that they state
  bool in_bubbles = false;    // on every rank; else ahead of the other work and behind it
  std::uint32_t tensor = 1;   // of their own groups
  std::uint32_t devices = 0;  // of their own; 0: on every rank
  friend bool operator==(const ModuleChoice&, const ModuleChoice&) = default;
};

/// One way to lay out a training: degrees, batch, order, memory options.
struct LayoutChoice {
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t expert = 1;
  std::uint32_t data = 1;
  std::uint32_t chunks = 1;        // stages per rank
  std::uint32_t microbatch = 1;    // examples per device at a time
  std::uint32_t microbatches = 1;  // per replica and iteration
  std::uint32_t zero = 0;
  std::string schedule = "1f1b";
  std::string recompute = "none";
  std::uint32_t context = 1;
  std::optional<std::uint32_t> expert_tensor{};  // empty: the default of a scenario
  bool sequence_parallel = true;                 // with tensor > 1
  bool recomputes_stages = false;                // whole stages, not layers
  std::uint32_t layers = 0;              // first ones of each stage that `full` recomputes; 0: all
  std::uint32_t offloaded_layers = 0;    // first ones of each stage
  bool fused = false;                    // the parts of overlap cells run at once
  bool hides_experts = false;            // all-to-alls of experts overlap the compute of their pass
  std::vector<std::string> operators{};  // that `selective` recomputes
  std::map<std::string, std::string, std::less<>> options{};  // of the schedule
  std::optional<CodecSpec> stash{};                           // codec of kept activations
  std::optional<CodecSpec> link{};                            // codec of sent activations
  std::optional<std::uint32_t> offload{};                     // activations that a rank keeps
  std::string partition = "even";
  std::optional<ModuleChoice> module{};  // none: the model is cut as one

  /// Whether weights have replicas.
  bool has_replicas() const { return data > 1 || expert > 1 || context > 1; }
  friend bool operator==(const LayoutChoice&, const LayoutChoice&) = default;
};

/// "tensor 2, pipeline 4, data 8, 1f1b, 64 microbatches of 1, full recomputation, ZeRO-1".
std::string text_of(const LayoutChoice& choice);
/// "vision in bubbles on every rank, tensor 2", "vision on 8 devices of its own".
std::string text_of(const ModuleChoice& module);

/// Whether layouts of a ZeRO level run on the stack of sharded gradients.
constexpr bool runs_sharded(std::uint32_t zero) { return zero >= 2; }

/// How weights are spread, but for data replicas: tensor, pipeline, data, context, expert and
/// expert_tensor degrees.
std::array<std::uint32_t, 6> degrees_of(const LayoutChoice& choice);

/// Layouts of a family have the same degrees, schedule and stack. They differ in what a flag
/// changes: chunks, microbatches, recomputation, cut, ZeRO level, codecs.
struct LayoutFamily {
  std::array<std::uint32_t, 6> degrees{};
  std::string_view schedule;  // lives as long as the table of schedules
  bool sharded = false;

  friend auto operator<=>(const LayoutFamily&, const LayoutFamily&) = default;
};

LayoutFamily family_of(const LayoutChoice& choice);

/// A schedule rule with its chunks and options.
struct OrderChoice {
  const ScheduleEntry* rule = nullptr;
  std::uint32_t chunks = 1;
  std::map<std::string, std::string, std::less<>> options;
  std::uint32_t slices = 1;       // cells per microbatch
  bool splits = false;            // has W: a backward is I and W, or B
  bool joins = false;             // has overlap cells
  bool fused = false;             // their parts run at once
  bool hides_experts = false;     // all-to-alls overlap the compute of their pass
  const char* why_not = nullptr;  // the rule that excludes it from every layout
};

/// Every schedule rule with the chunks and options that it takes, by name and chunks.
std::vector<OrderChoice> orders_of(const Restrictions& only);

/// The placement of an order; throws RuleError for ranks that the rule does not take.
Placement placement_of(const OrderChoice& order, std::uint32_t ranks);

}  // namespace penstock
