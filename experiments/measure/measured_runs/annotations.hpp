#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/input/formats/traces/kineto_trace.hpp"
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
/// Throws InputError for nested matching annotations, unless the outer one marks the op of the
/// inner one without its stage, as PyTorch's GPipe does, and if the trace gives no times.
RankOps ops_of_annotations(const KinetoTrace& trace, const std::vector<OpPattern>& patterns,
                           Stage stage);

/// When the ops of an annotation ran: one, or the two parts of an overlap cell.
struct OpSpans {
  KinetoSpan whole;
  std::optional<std::int64_t> turn_ns = {};  // where the second part of an overlap cell begins
  std::int64_t host_ns = 0;  // of the host between the annotations, without waits for messages
  std::int64_t lead_ns = 0;  // from the begin of the annotation to the op

  KinetoSpan of_part(std::size_t part, std::size_t parts) const;
};

/// By annotation, sorted by begin: from the begin of the first to the end of the last kernel or
/// copy launched in it; nothing without any. Of an overlap cell, another thread than the
/// annotation's launches the backward.
std::vector<std::optional<OpSpans>> spans_of_works(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations);

/// By annotation, sorted by begin, of a trace without a device: from its first operator that does
/// more than to allocate to its end. Ahead of that, PyTorch waits for a receive. An
/// annotation without operators, such as the input gradient of the first stage, does nothing: its
/// op has no length. Empty if most annotations have none: then operators were not traced.
std::vector<std::optional<OpSpans>> spans_of_operators(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations);

}  // namespace penstock
