#pragma once

#include <cstdint>
#include <vector>

#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// By model stage, how many buckets its gradients are reduced in while its last backward runs, with
/// ZeRO-2 each. A bucket has the gradients of at least one layer, and at least 25 MiB, as in
/// PyTorch; with `/parallel/bucket_bytes` it has these bytes. Without overlap there is one.
std::vector<std::uint32_t> gradient_buckets(const Layout& layout);

}  // namespace penstock
