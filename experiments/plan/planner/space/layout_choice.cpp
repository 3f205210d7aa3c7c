#include "experiments/plan/planner/space/layout_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/run/layout/order.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

std::string degrees_text(const LayoutChoice& choice) {
  std::string text =
      fmt::format("tensor {}, pipeline {}, data {}", choice.tensor, choice.pipeline, choice.data);
  if (choice.context > 1) text += fmt::format(", context {}", choice.context);
  if (choice.expert > 1) text += fmt::format(", expert {}", choice.expert);
  if (choice.expert_tensor) text += fmt::format(", expert_tensor {}", *choice.expert_tensor);
  if (choice.tensor > 1 && !choice.sequence_parallel) text += ", no sequence parallelism";
  return text;
}

std::string schedule_text(const LayoutChoice& choice) {
  std::string text = choice.schedule;
  if (choice.chunks > 1) text += fmt::format(" with {} chunks", choice.chunks);
  for (const auto& [name, value] : choice.options) text += fmt::format(" {}={}", name, value);
  if (choice.fused) text += ", fused cells";
  if (choice.hides_experts) text += ", hidden expert traffic";
  return text;
}

/// What layers do not keep.
std::string recompute_text(const LayoutChoice& choice) {
  if (choice.offloaded_layers > 0) {
    return fmt::format("offload of {} a stage", counted(choice.offloaded_layers, "layer"));
  }
  if (choice.recompute == "none") return "no recomputation";
  if (choice.recomputes_stages) return choice.recompute + " recomputation by stage";
  if (choice.layers > 0) {
    return fmt::format("recomputation of {} a stage", counted(choice.layers, "layer"));
  }
  if (choice.operators.empty()) return choice.recompute + " recomputation";
  return fmt::format("recomputation of {}", fmt::join(choice.operators, ", "));
}

using Options = std::map<std::string, std::string, std::less<>>;

/// Values of rule options that change speed or memory; empty: the default.
constexpr std::array<std::pair<const char*, const char*>, 5> varied{
    {{"waves", "2"},
     {"slices", "4"},
     {"slices", "8"},
     {"remedy", "forward-doubling"},
     {"remedy", "backward-halving"}}};

std::vector<Options> options_of(const ScheduleEntry& entry) {
  std::vector<Options> all{{}};
  for (const auto& [name, value] : varied) {
    for (const ScheduleOption& option : entry.options) {
      if (option.name == name) all.push_back({{name, value}});
    }
  }
  return all;
}

/// A small order of a rule, to learn what it is made of; nothing when it takes no such chunks.
std::optional<Schedule> sample_of(const OrderChoice& order) {
  for (const auto& [ranks, microbatches] : {std::pair{2U, 8U}, {4U, 16U}, {8U, 32U}}) {
    try {
      return make_schedule(*order.rule, placement_of(order, ranks), {microbatches, order.options});
    } catch (const RuleError&) {
      continue;
    }
  }
  return std::nullopt;
}

/// Fills in what the order is made of. False if the rule does not take it.
bool learn(OrderChoice& order) {
  const auto sample = sample_of(order);
  if (!sample) return false;
  order.splits = sample->has(Pass::backward_weight);
  order.joins = has_joined_cells(*sample);
  if (order.rule->slices_for != nullptr) order.slices = order.rule->slices_for({1, order.options});
  if (!sample->has_backward()) order.why_not = "the order has no backward passes";
  if (order.rule->weights != WeightUse::flushed) {
    order.why_not = "asynchronous orders train differently";
  }
  return true;
}

/// With one chunk, a rule that usually takes two is another rule of the list.
std::vector<std::uint32_t> chunks_of(const ScheduleEntry& entry, const Options& options) {
  if (entry.chunks_for != nullptr) return {entry.chunks_for({1, options})};
  if (entry.default_chunks == 1) return {1};
  constexpr std::uint32_t most = 16;  // of those that are tried
  std::vector<std::uint32_t> all;
  for (std::uint32_t chunks = 2; chunks <= most; ++chunks) all.push_back(chunks);
  return all;
}

}  // namespace

std::string text_of(const LayoutChoice& choice) {
  std::string text =
      fmt::format("{}, {}, {} of {}, {}", degrees_text(choice), schedule_text(choice),
                  counted(choice.microbatches, "microbatch", "microbatches"), choice.microbatch,
                  recompute_text(choice));
  if (choice.zero > 0) text += fmt::format(", ZeRO-{}", choice.zero);
  if (choice.stash) text += ", stash " + encoding_text(*choice.stash);
  if (choice.link) text += ", links " + encoding_text(*choice.link);
  if (choice.offload) text += fmt::format(", offload all but {}", *choice.offload);
  if (choice.partition != "even" && choice.pipeline > 1) text += ", cut " + choice.partition;
  if (choice.module) text += ", " + text_of(*choice.module);
  return text;
}

std::string text_of(const ModuleChoice& module) {
  std::string text =
      module.devices > 0
          ? fmt::format("{} on {} of its own", module.name, counted(module.devices, "device"))
          : fmt::format("{} {} on every rank", module.name,
                        module.in_bubbles ? "in bubbles" : "first and last");
  if (module.tensor > 1) text += fmt::format(", tensor {}", module.tensor);
  return text;
}

std::array<std::uint32_t, 6> degrees_of(const LayoutChoice& choice) {
  return {choice.tensor,  choice.pipeline, choice.data,
          choice.context, choice.expert,   choice.expert_tensor.value_or(0)};
}

LayoutFamily family_of(const LayoutChoice& choice) {
  return {degrees_of(choice), find_named(schedule_entries(), choice.schedule)->name,
          runs_sharded(choice.zero)};
}

Placement placement_of(const OrderChoice& order, std::uint32_t ranks) {
  return order.rule->place(ranks, order.chunks);
}

std::vector<OrderChoice> orders_of(const Restrictions& only) {
  std::vector<OrderChoice> all;
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (!only.allow("/schedule/name", entry->name)) continue;
    for (const Options& options : options_of(*entry)) {
      for (const std::uint32_t chunks : chunks_of(*entry, options)) {
        OrderChoice order{.rule = entry, .chunks = chunks, .options = options};
        if (only.allow("/parallel/chunks", chunks) && learn(order)) all.push_back(order);
      }
    }
  }
  return all;
}

}  // namespace penstock
