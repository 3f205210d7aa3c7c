#include "validate/job/layer_times.hpp"

namespace penstock {

void add(const TimesOfLayers& part, TimesOfLayers& sum) {
  for (const auto& [layer, spent] : part) {
    sum[layer].ns += spent.ns;
    sum[layer].cells += spent.cells;
  }
}

}  // namespace penstock
