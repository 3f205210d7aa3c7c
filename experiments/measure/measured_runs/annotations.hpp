#pragma once

#include <vector>

#include "experiments/measure/measured_runs/op_pattern.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"

namespace penstock {

/// Which names in a trace the patterns match, most frequent first.
struct NameUse {
  std::vector<NameCount> matched;
  std::vector<NameCount> unmatched;  // without "ProfilerStep#N" and the names of NCCL
};
NameUse name_use(const KinetoTrace& trace, const std::vector<OpPattern>& patterns);

/// The ops of a rank, from its annotations. `stage` is the stage of ops whose names do not state
/// one.
///
/// A host annotation marks the launches of an op. The op ran from the begin of the first to the end
/// of the last kernel or copy that any thread launched meanwhile, without messages and collectives.
/// A trace without launches uses annotations on the device. These may be too short for a backward:
/// Kineto ties them to the thread that made them, and backwards run on another thread. A trace
/// without a device uses annotations on the host.
///
/// Throws InputError for nested matching annotations, and if the trace gives no times.
RankOps ops_of_annotations(const KinetoTrace& trace, const std::vector<OpPattern>& patterns,
                           Stage stage);

}  // namespace penstock
