#include "experiments/measure/measured_runs/op_spans.hpp"

#include <algorithm>
#include <utility>

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
  return {*all, std::min(launched.own->end_ns, launched.other->end_ns)};
}

/// The operators in an annotation, on its thread.
struct OperatorRange {
  bool any = false;
  bool backward = false;                // the first is of a backward
  std::int64_t begin_ns = 0;            // of the first
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
      range = {true, op.backward, op.span.begin_ns, std::nullopt};
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
  return part == 0 ? KinetoSpan{whole.begin_ns, turn} : KinetoSpan{turn, whole.end_ns};
}

std::vector<std::optional<OpSpans>> spans_of_works(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations) {
  std::vector<Launched> launched(annotations.size());
  for_each_work(trace, [&](const KinetoWork& work, const KinetoLaunch* launch) {
    if (launch == nullptr || !is_own_work(work.kind)) return;
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
  const std::vector<OperatorRange> ranges = operators_in(trace, annotations);
  const auto filled = static_cast<std::size_t>(std::count_if(
      ranges.begin(), ranges.end(), [](const OperatorRange& range) { return range.any; }));
  if (2 * filled < ranges.size()) return {};
  std::vector<std::optional<OpSpans>> spans;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const KinetoSpan& span = annotations[i].span;
    const std::int64_t begin_ns = ranges[i].any ? ranges[i].begin_ns : span.end_ns;
    spans.push_back(OpSpans{.whole = {begin_ns, span.end_ns}, .turn_ns = ranges[i].turn_ns});
    if (i > 0)
      spans.back()->host_ns =
          std::max<std::int64_t>(span.begin_ns - annotations[i - 1].span.end_ns, 0);
    if (ranges[i].any) spans.back()->lead_ns = begin_ns - span.begin_ns;
  }
  return spans;
}

}  // namespace penstock
