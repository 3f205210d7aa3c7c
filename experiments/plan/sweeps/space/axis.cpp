#include "experiments/plan/sweeps/space/axis.hpp"

#include <utility>

#include "experiments/input/files/setting.hpp"

namespace penstock {

std::vector<Axis> axes_of(const std::string& text) {
  std::vector<Axis> axes;
  for (Setting& setting : settings_of("--vary", text)) {
    if (!setting.joined) axes.push_back({.pointers = {}, .values = {}, .option = "--vary " + text});
    axes.back().pointers.push_back(std::move(setting.pointer));
    axes.back().values.push_back(std::move(setting.values));
  }
  return axes;
}

}  // namespace penstock
