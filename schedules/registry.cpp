#include "schedules/registry.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// Small letters and digits alone.
std::string squeezed(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) text += small;
  }
  return text;
}

/// Names that differ from ours by more than case and signs: PyTorch's, Megatron's and papers'.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> foreign_names{
    {{"zbvzerobubble", "zb-v"},
     {"interleavedzerobubble", "interleaved-zb"},
     {"flexibleinterleaved1f1b", "interleaved-1f1b"},
     {"pipedreamflush", "1f1b"},
     {"zb1p", "zb-h1"},
     {"zb2p", "zb-h2"}}};

}  // namespace

std::string meant_schedule(std::string_view name) {
  constexpr std::string_view prefix = "schedule";
  std::string word = squeezed(name);
  if (word.starts_with(prefix)) word.erase(0, prefix.size());
  for (const auto& [foreign, ours] : foreign_names) {
    if (word == foreign) return std::string(ours);
  }
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (word == squeezed(entry->name)) return std::string(entry->name);
  }
  return std::string(name);
}

std::uint32_t usual_chunks(const ScheduleEntry& entry, const ScheduleOptions& options) {
  return entry.chunks_for == nullptr ? entry.default_chunks : entry.chunks_for(options);
}

Placement place_stages(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t chunks,
                       const ScheduleOptions& options, std::string_view remedy) {
  try {
    return entry.place(ranks, chunks);
  } catch (const RuleError& error) {
    const std::uint32_t usual = usual_chunks(entry, options);
    if (usual == chunks) throw;
    throw RuleError(fmt::format("{}{}{}", error.what(), remedy, usual));
  }
}

void check_size(const Placement& placement, const ScheduleOptions& options) {
  if (placement.stage_count() == 0 || options.microbatch_count == 0) {
    throw RuleError(fmt::format("{} stages and {} microbatches are no schedule: at least 1 of each",
                                placement.stage_count(), options.microbatch_count));
  }
  const std::uint64_t actions =
      std::uint64_t{placement.stage_count()} * options.microbatch_count * 3;
  if (actions > Limits::actions) {
    throw RuleError(fmt::format("{} stages times {} microbatches are too many: at most {} actions",
                                placement.stage_count(), options.microbatch_count,
                                Limits::actions));
  }
}

Schedule make_schedule(const ScheduleEntry& entry, const Placement& placement,
                       const ScheduleOptions& options) {
  check_options(entry.name, entry.options, options);
  check_size(placement, options);
  return entry.make(placement, options);
}

}  // namespace penstock
