#include "validate/job/layer_times.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {

void add(const TimesOfLayers& part, TimesOfLayers& sum) {
  for (const auto& [layer, spent] : part) {
    sum[layer].ns += spent.ns;
    sum[layer].cells += spent.cells;
  }
}

double CodingSums::sqnr_db() const { return 10 * std::log10(signal / noise); }

double CodingSums::bits_per_value() const {
  return values == 0 ? 0 : 8 * static_cast<double>(packed_bytes) / static_cast<double>(values);
}

void add(const CodingSums& part, CodingSums& sum) {
  sum.values += part.values;
  sum.packed_bytes += part.packed_bytes;
  sum.signal += part.signal;
  sum.noise += part.noise;
  sum.most_error = std::max(sum.most_error, part.most_error);
  sum.most_value = std::max(sum.most_value, part.most_value);
}

void add(const CodingNumbers& part, CodingNumbers& sum) {
  add(part.stash, sum.stash);
  add(part.link, sum.link);
  sum.peak_stash_bytes.insert(part.peak_stash_bytes.begin(), part.peak_stash_bytes.end());
}

}  // namespace penstock
