#pragma once

#include <vector>

#include "experiments/measured_runs/op_pattern.hpp"
#include "experiments/measured_runs/rank_ops.hpp"

namespace penstock {

/// What the patterns make of the names in a trace, most frequent ones first.
struct NameUse {
  std::vector<NameCount> matched;
  std::vector<NameCount> unmatched;  // "ProfilerStep#N" and those of NCCL are passed over
};
NameUse name_use(const KinetoTrace& trace, const std::vector<OpPattern>& patterns);

/// The ops of a rank whose stage, where names do not say one, is `stage`. Annotations tell when the
/// host asked for an op; it ran from the begin of the first to the end of the last kernel or copy
/// that any thread launched meanwhile, messages and collectives apart. Without launches in the
/// trace, annotations on the device count, which for a backward may be too short (Kineto ties them
/// to the thread that they were made on, and backwards run on another one); without a device, those
/// on the host. Throws InputError where annotations that match are inside each other, and where
/// nothing tells the times.
RankOps ops_of_annotations(const KinetoTrace& trace, const std::vector<OpPattern>& patterns,
                           Stage stage);

}  // namespace penstock
