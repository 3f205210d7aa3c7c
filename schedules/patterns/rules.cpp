#include "schedules/patterns/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/plain_numbers.hpp"

namespace penstock {
namespace {

void require_two_chunks(std::uint32_t chunks) {
  if (chunks == 2) return;
  throw RuleError(fmt::format("needs 2 chunks per rank, got {}", chunks));
}

}  // namespace

Placement one_stage_a_rank(std::uint32_t ranks, std::uint32_t chunks) {
  if (chunks != 1) {
    throw RuleError(fmt::format("needs 1 chunk per rank, got {}", chunks));
  }
  return Placement::loop(ranks, 1);
}

Placement vee_of_two(std::uint32_t ranks, std::uint32_t chunks) {
  require_two_chunks(chunks);
  return Placement::vee(ranks, 2);
}

Placement two_directions(std::uint32_t ranks, std::uint32_t chunks) {
  require_two_chunks(chunks);
  return Placement::bidirectional(ranks);
}

void require_vee(std::string_view rule, const Placement& placement, std::uint32_t chunks) {
  if (placement == Placement::vee(placement.ranks(), chunks)) return;
  throw RuleError(
      fmt::format("{} needs {} stages per rank that snake over the ranks: 0, 1, …, p-1, p-1, …, 0",
                  rule, chunks));
}

void require_two_directions(std::string_view rule, const Placement& placement) {
  if (placement == Placement::bidirectional(placement.ranks())) return;
  throw RuleError(
      fmt::format("{} needs two copies of the model in opposite directions of the ranks", rule));
}

void require_one_stage_a_rank(std::string_view rule, const Placement& placement) {
  std::vector<std::uint32_t> held(placement.ranks());
  for (std::uint32_t slot = 0; slot < placement.slots(); ++slot) {
    const Rank rank = placement.rank_of_slot(slot);
    if (++held[index(rank)] > 1) {
      throw RuleError(
          fmt::format("rank {} holds several stages; {} needs one per rank", index(rank), rule));
    }
  }
}

void require_no_replicas(std::string_view rule, const Placement& placement) {
  for (Stage stage : placement.stages()) {
    if (placement.replicas(stage) > 1) {
      throw RuleError(fmt::format("stage {} has {} replicas; {} supports one", index(stage),
                                  placement.replicas(stage), rule));
    }
  }
}

double fill_and_drain_bubble(std::uint32_t ranks, std::uint32_t /*chunks*/,
                             std::uint32_t microbatches) {
  return (ranks - 1.0) / (microbatches + ranks - 1.0);
}

std::uint32_t ScheduleOptions::number(std::string_view name, std::uint32_t otherwise) const {
  const auto found = settings.find(name);
  if (found == settings.end()) return otherwise;
  const std::string& text = found->second;
  const auto value = whole_number<std::uint32_t>(text);
  if (value && *value > 0) return *value;
  throw RuleError(fmt::format("{} is \"{}\": must be a positive whole number", name, text));
}

std::string_view ScheduleOptions::choice(std::string_view name,
                                         std::span<const std::string_view> values) const {
  const auto found = settings.find(name);
  if (found == settings.end()) return values.front();
  const auto value = std::ranges::find(values, found->second);
  if (value == values.end()) {
    throw RuleError(fmt::format("{} is \"{}\": must be one of {}", name, found->second,
                                fmt::join(values, ", ")));
  }
  return *value;
}

void check_options(std::string_view rule, std::span<const ScheduleOption> known,
                   const ScheduleOptions& options) {
  for (const auto& setting : options.settings) {
    const std::string& name = setting.first;
    const bool is_known = std::ranges::any_of(
        known, [&](const ScheduleOption& option) { return option.name == name; });
    if (is_known) continue;
    std::string takes;
    for (const ScheduleOption& option : known) {
      takes += fmt::format("{}{}", takes.empty() ? "" : ", ", option.name);
    }
    throw UnknownOption(name, fmt::format("unknown option \"{}\"; {} takes {}", name, rule,
                                          known.empty() ? "no options" : takes));
  }
}

}  // namespace penstock
