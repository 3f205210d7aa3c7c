#include "experiments/show/pictures/lanes/timeline_legend.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

bool is_move(Pass pass) { return pass == Pass::send_evicted || pass == Pass::send_loaded; }

/// A pass that recomputes its activation includes the time of both.
std::string legend_name(const Plan& plan, Pass pass) {
  const bool recomputes =
      std::any_of(plan.classes.begin(), plan.classes.end(),
                  [pass](const WorkClass& work) { return work.pass == pass && work.recomputes; });
  return std::string(pass_name(pass)) + (recomputes ? " with recomputation" : "");
}

}  // namespace

std::string_view pass_name(Pass pass) {
  constexpr std::array<std::string_view, pass_count> names{"forward",
                                                           "backward",
                                                           "input gradient",
                                                           "weight gradient",
                                                           "recompute",
                                                           "update",
                                                           "evict",
                                                           "load",
                                                           "send activation",
                                                           "send gradient",
                                                           "activation leaves",
                                                           "activation returns",
                                                           "reduce gradients",
                                                           "gather weights",
                                                           "tie gradients",
                                                           "reduce gradients early"};
  return names[static_cast<std::size_t>(pass)];
}

std::vector<LegendEntry> pass_entries(const Plan& plan, const std::set<Pass>& passes, bool idle) {
  const std::uint32_t chunks = most_chunks(plan);
  std::vector<LegendEntry> entries;
  for (const Pass pass : passes) {
    const bool plain = is_tail(pass) || is_move(pass);
    Swatch swatch{{}, plain ? "" : std::string(letters(pass))};
    const std::uint32_t shades = plain ? 1 : chunks;
    for (std::uint32_t c = 0; c < shades; ++c)
      swatch.colours.push_back(pass_colour(pass, c, chunks));
    if (is_move(pass)) swatch.outline = move_outline(pass == Pass::send_loaded);
    entries.push_back(legend_entry(swatch, legend_name(plan, pass)));
  }
  if (idle) entries.push_back(legend_entry({{idle_ground}, "", idle_hatch}, "idle"));
  return entries;
}

std::vector<LegendEntry> cause_entries(const std::set<IdleCause>& causes, bool critical_path) {
  std::vector<LegendEntry> entries;
  if (!causes.empty()) entries.push_back({0, nullptr, "idle:"});
  for (const IdleCause cause : causes) {
    entries.push_back(
        legend_entry({{idle_colour(cause)}, "", idle_lines(cause)}, std::string(name(cause))));
  }
  if (critical_path) {
    entries.push_back(legend_entry({{paper}, "", {}, ink}, "critical path"));
  }
  return entries;
}

}  // namespace penstock
