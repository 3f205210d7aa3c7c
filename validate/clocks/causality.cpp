#include "validate/clocks/causality.hpp"

#include <algorithm>

namespace penstock {

void Causality::add(std::int64_t sent_ns, std::int64_t arrived_ns, double uncertainty_ns) {
  ++tensors;
  worst_uncertainty_ns = std::max(worst_uncertainty_ns, uncertainty_ns);
  const std::int64_t before = sent_ns - arrived_ns;
  if (before <= 0) return;
  ++violations;
  worst_ns = std::max(worst_ns, before);
  if (static_cast<double>(before) > uncertainty_ns) ++unexplained;
}

}  // namespace penstock
