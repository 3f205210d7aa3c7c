#include "experiments/show/pictures/lanes/mixed_cells.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>

#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

Colour colour_of(const CellKind& kind, std::uint32_t chunks) {
  if (const auto* cause = std::get_if<IdleCause>(&kind)) return idle_colour(*cause);
  const auto& action = std::get<ActionKind>(kind);
  return pass_colour(action.pass, action.chunk, chunks);
}

Colour mixture(std::span<const Cell> cells, std::uint32_t chunks) {
  double red = 0, green = 0, blue = 0, free = 1;
  const auto add = [&](Colour colour, double share) {
    red += share * colour.red;
    green += share * colour.green;
    blue += share * colour.blue;
    free -= share;
  };
  for (const Cell& cell : cells) add(colour_of(cell.kind, chunks), cell.bottom - cell.top);
  add(idle_ground, std::max(free, 0.0));
  const auto channel = [](double value) {
    return static_cast<std::uint8_t>(std::clamp(4 * std::lround(value / 4), 0L, 255L));
  };
  return {channel(red), channel(green), channel(blue)};
}

}  // namespace

std::vector<MixedCell> mixed_cells(const Lane& lane, std::uint32_t chunks) {
  std::vector<MixedCell> mixed;
  for (auto first = lane.begin(); first != lane.end();) {
    const auto end = std::find_if(first, lane.end(), [first](const Cell& cell) {
      return cell.begin != first->begin || cell.end != first->end;
    });
    Cell whole = *first;
    whole.top = 0;
    whole.bottom = 1;
    const bool pure = end - first == 1 && *first == whole;
    mixed.push_back({whole, pure ? colour_of(first->kind, chunks) : mixture({first, end}, chunks)});
    first = end;
  }
  return mixed;
}

}  // namespace penstock
