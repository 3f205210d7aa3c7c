#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/formats/traces/kineto_trace.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"

namespace penstock {
namespace {

/// The annotation that contains a moment, if any.
const KinetoAnnotation* annotation_at(const std::vector<KinetoAnnotation>& annotations,
                                      std::int64_t ns) {
  const auto next = std::upper_bound(annotations.begin(), annotations.end(), ns,
                                     [](std::int64_t time, const KinetoAnnotation& annotation) {
                                       return time < annotation.span.begin_ns;
                                     });
  if (next == annotations.begin() || (next - 1)->span.end_ns < ns) return nullptr;
  return &*(next - 1);
}

void widen(std::optional<KinetoSpan>& span, const KinetoSpan& other) {
  if (!span) span = other;
  span->begin_ns = std::min(span->begin_ns, other.begin_ns);
  span->end_ns = std::max(span->end_ns, other.end_ns);
}

/// The works of an annotation, by their launches.
struct Launched {
  std::optional<KinetoSpan> own;    // by the thread of the annotation
  std::optional<KinetoSpan> other;  // by another one
};

OpSpans spans_of(const Launched& launched) {
  std::optional<KinetoSpan> all = launched.own;
  if (launched.other) widen(all, *launched.other);
  if (!launched.own || !launched.other) return {*all};
  const std::int64_t first_ends = std::min(launched.own->end_ns, launched.other->end_ns);
  const std::int64_t second_begins = std::max(launched.own->begin_ns, launched.other->begin_ns);
  const std::int64_t turn = std::max(first_ends, second_begins);
  return {.whole = *all, .turn_ns = turn, .pause_ns = turn - first_ends};
}

/// The receives of a host, by end. PyTorch ends each where it has waited for it.
using Waits = std::vector<KinetoAnnotation>;

Waits waits_of(const KinetoTrace& trace) {
  Waits waits;
  for (const KinetoAnnotation& annotation : trace.annotations) {
    const std::string& name = trace.names[annotation.name];
    const bool receives = is_message_operator(name) && name.find("recv") != name.npos;
    if (receives && !annotation.on_device) waits.push_back(annotation);
  }
  std::ranges::stable_sort(waits, {}, [](const auto& wait) { return wait.span.end_ns; });
  return waits;
}

/// Those of a thread that end in a span of it, the last one first.
Waits waits_in(const Waits& waits, const KinetoSpan& span, std::uint32_t lane) {
  auto wait = std::ranges::upper_bound(waits, span.end_ns, {},
                                       [](const auto& one) { return one.span.end_ns; });
  Waits found;
  while (wait != waits.begin() && (--wait)->span.end_ns > span.begin_ns) {
    if (wait->lane == lane) found.push_back(*wait);
  }
  return found;
}

/// What the host does in a span between ops, without what it waits for.
std::int64_t busy_ns(const Waits& waits, const KinetoSpan& span, std::uint32_t lane) {
  std::int64_t busy = 0;
  std::int64_t until = span.end_ns;
  for (const KinetoAnnotation& wait : waits_in(waits, span, lane)) {
    busy += std::max<std::int64_t>(until - wait.span.end_ns, 0);
    until = std::min(until, wait.span.begin_ns);
  }
  return busy + std::max<std::int64_t>(until - span.begin_ns, 0);
}

/// Whether an operator takes memory alone, as for what is received before an op.
bool only_allocates(const KinetoTrace& trace, const KinetoOperator& op) {
  return trace.work_names[op.name].starts_with("aten::empty");
}

/// The operators in an annotation, on its thread.
struct OperatorRange {
  bool any = false;
  bool backward = false;                // the first is of a backward
  std::int64_t begin_ns = 0;            // of the first that does more than to allocate
  std::optional<std::int64_t> turn_ns;  // where backward follows forward, or forward backward
};

/// Operators by begin, outer ones first.
bool runs_before(const KinetoOperator& a, const KinetoOperator& b) {
  return std::pair(a.span.begin_ns, b.span.end_ns) < std::pair(b.span.begin_ns, a.span.end_ns);
}

std::vector<OperatorRange> operators_in(const KinetoTrace& trace,
                                        const std::vector<KinetoAnnotation>& annotations) {
  std::vector<OperatorRange> ranges(annotations.size());
  std::int64_t outer_end_ns = INT64_MIN;  // only operators inside no other tell the pass
  SortedRecords operators(trace.operators, runs_before);
  while (const KinetoOperator* const next = operators.next()) {
    const KinetoOperator& op = *next;
    const KinetoAnnotation* const annotation = annotation_at(annotations, op.span.begin_ns);
    if (annotation == nullptr || annotation->lane != op.lane) continue;
    OperatorRange& range = ranges[static_cast<std::size_t>(annotation - annotations.data())];
    const bool outer = op.span.begin_ns >= outer_end_ns;
    if (outer) outer_end_ns = op.span.end_ns;
    if (!range.any) {
      if (!only_allocates(trace, op)) range = {true, op.backward, op.span.begin_ns, std::nullopt};
    } else if (outer && !range.turn_ns && op.backward != range.backward) {
      range.turn_ns = op.span.begin_ns;
    }
  }
  return ranges;
}

}  // namespace

KinetoSpan OpSpans::of_part(std::size_t part, std::size_t parts) const {
  if (parts == 1) return whole;
  const std::int64_t middle = whole.begin_ns + (whole.end_ns - whole.begin_ns) / 2;
  const std::int64_t turn = turn_ns.value_or(middle);
  return part == 0 ? KinetoSpan{whole.begin_ns, turn - pause_ns} : KinetoSpan{turn, whole.end_ns};
}

std::vector<std::optional<OpSpans>> spans_of_works(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations) {
  std::vector<Launched> launched(annotations.size());
  const std::vector<bool> computes = computing_lanes(trace);
  for_each_work(trace, [&](const KinetoWork& work, const KinetoLaunch* launch) {
    if (launch == nullptr || !is_own_work(work.kind) || !computes[work.lane]) return;
    const KinetoAnnotation* const annotation = annotation_at(annotations, launch->at_ns);
    if (annotation == nullptr) return;
    Launched& of_op = launched[static_cast<std::size_t>(annotation - annotations.data())];
    widen(launch->lane == annotation->lane ? of_op.own : of_op.other, work.span);
  });
  std::vector<std::optional<OpSpans>> spans(annotations.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (launched[i].own || launched[i].other) spans[i] = spans_of(launched[i]);
  }
  return spans;
}

std::vector<std::optional<OpSpans>> spans_of_operators(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations) {
  const Waits waits = waits_of(trace);
  const std::vector<OperatorRange> ranges = operators_in(trace, annotations);
  if (2 * std::ranges::count(ranges, true, &OperatorRange::any) < std::ssize(ranges)) return {};
  std::vector<std::optional<OpSpans>> spans;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const KinetoSpan& span = annotations[i].span;
    const std::int64_t begin_ns = ranges[i].any ? ranges[i].begin_ns : span.end_ns;
    spans.push_back(OpSpans{.whole = {begin_ns, span.end_ns}, .turn_ns = ranges[i].turn_ns});
    if (i > 0) {
      const KinetoSpan gap{annotations[i - 1].span.end_ns, span.begin_ns};
      spans.back()->host_ns = busy_ns(waits, gap, annotations[i].lane);
    }
    if (ranges[i].any) spans.back()->lead_ns = begin_ns - span.begin_ns;
  }
  return spans;
}

}  // namespace penstock
