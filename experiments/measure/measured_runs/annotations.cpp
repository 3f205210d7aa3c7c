#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// By name index of the trace: the op that the name marks, both parts of an overlap, or none.
using OpNames = std::vector<std::vector<OpName>>;

OpNames op_names(const KinetoTrace& trace, const std::vector<OpPattern>& patterns) {
  OpNames ops(trace.names.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const OpPattern& pattern : patterns) {
      if (ops[i].empty()) ops[i] = ops_of_name(pattern, trace.names[i]);
    }
  }
  return ops;
}

bool is_of_the_profiler(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("nccl:");
}

std::vector<NameCount> most_frequent_first(const KinetoTrace& trace,
                                           const std::vector<std::size_t>& counts) {
  std::vector<NameCount> names;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) names.emplace_back(trace.names[i], counts[i]);
  }
  std::sort(names.begin(), names.end(), [](const NameCount& a, const NameCount& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return names;
}

/// Whether a name marks the op of another name, and does not state its stage as that one does.
bool restates(const std::vector<OpName>& outer, const std::vector<OpName>& inner) {
  if (outer.size() != 1 || inner.size() != 1) return false;
  const OpName& a = outer.front();
  const OpName& b = inner.front();
  return !a.stage && b.stage && a.pass == b.pass && a.microbatch == b.microbatch;
}

/// Drops "Forward 0" around "PP:0F0": PyTorch's GPipe marks its ops, with what they wait for.
void drop_restated(const OpNames& names, std::vector<KinetoAnnotation>& sorted) {
  std::map<std::uint32_t, std::size_t> last;  // by lane
  std::vector<bool> restated(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto before = last.try_emplace(sorted[i].lane, i).first;
    const std::size_t outer = std::exchange(before->second, i);
    restated[outer] = sorted[i].span.begin_ns < sorted[outer].span.end_ns &&
                      restates(names[sorted[outer].name], names[sorted[i].name]);
  }
  std::size_t next = 0;
  std::erase_if(sorted, [&](const KinetoAnnotation&) { return restated[next++]; });
}

/// The matching annotations of the host or the device, ordered by begin.
std::vector<KinetoAnnotation> matching(const KinetoTrace& trace, const OpNames& names,
                                       bool on_device) {
  std::vector<KinetoAnnotation> found;
  for (const KinetoAnnotation& annotation : trace.annotations) {
    if (annotation.on_device == on_device && !names[annotation.name].empty())
      found.push_back(annotation);
  }
  std::sort(found.begin(), found.end(), [](const KinetoAnnotation& a, const KinetoAnnotation& b) {
    return std::pair(a.span.begin_ns, b.span.end_ns) < std::pair(b.span.begin_ns, a.span.end_ns);
  });
  drop_restated(names, found);
  return found;
}

void check_apart(const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations) {
  for (std::size_t i = 1; i < annotations.size(); ++i) {
    if (annotations[i].span.begin_ns >= annotations[i - 1].span.end_ns) continue;
    throw InputError(fmt::format(
        "the annotations \"{}\" and \"{}\" overlap and both match; a pattern that tells ops apart "
        "is needed",
        shortened(trace.names[annotations[i - 1].name]),
        shortened(trace.names[annotations[i].name])));
  }
}

/// The streams of a device that run more than messages and collectives. Kineto shows an annotation
/// on each stream that it put work on.
std::vector<bool> computing_lanes(const KinetoTrace& trace) {
  std::vector<bool> computes;
  for (const KinetoWork& work : trace.works) {
    if (work.lane >= computes.size()) computes.resize(work.lane + 1);
    if (is_own_work(work.kind)) computes[work.lane] = true;
  }
  return computes;
}

/// Merges overlapping annotations of one name on several streams of a device.
std::vector<KinetoAnnotation> merged(std::vector<KinetoAnnotation> annotations) {
  std::ranges::stable_sort(annotations, {}, &KinetoAnnotation::name);
  std::vector<KinetoAnnotation> all;
  for (const KinetoAnnotation& next : annotations) {
    const bool same =
        !all.empty() && all.back().name == next.name && next.span.begin_ns < all.back().span.end_ns;
    if (!same) {
      all.push_back(next);
    } else {
      all.back().span.end_ns = std::max(all.back().span.end_ns, next.span.end_ns);
    }
  }
  return all;
}

class Collector {
 public:
  Collector(const OpNames& names, Stage stage, RankOps& result)
      : names_(names), stage_(stage), result_(result) {}

  void add(const KinetoAnnotation& annotation, const OpSpans& spans,
           std::optional<std::uint32_t> step) {
    const std::vector<OpName>& names = names_[annotation.name];
    for (std::size_t part = 0; part < names.size(); ++part) {
      const OpName& name = names[part];
      const Action action(name.pass, name.stage.value_or(stage_),
                          name.microbatch.value_or(no_microbatch),
                          /*joined=*/part + 1 < names.size());
      result_.ops.push_back({action, spans.of_part(part, names.size()), step,
                             part == 0 ? spans.host_ns : 0, part == 0 ? spans.lead_ns : 0});
    }
  }
  /// Sorts ops, drops those outside of steps, and counts microbatches if names do not number them.

  void finish(bool has_steps) {
    std::vector<MeasuredOp>& ops = result_.ops;
    std::ranges::stable_sort(ops, {}, [](const MeasuredOp& op) { return op.span.begin_ns; });
    if (has_steps) {
      result_.outside_steps = std::erase_if(ops, [](const MeasuredOp& op) { return !op.step; });
    }
    std::map<std::tuple<std::optional<std::uint32_t>, Pass, Stage>, std::uint32_t> counts;
    for (MeasuredOp& op : ops) {
      if (op.action.microbatch != no_microbatch) continue;
      op.action.microbatch = Microbatch{counts[{op.step, op.action.pass, op.action.stage}]++};
    }
  }

 private:
  static constexpr Microbatch no_microbatch{UINT32_MAX};

  const OpNames& names_;
  Stage stage_;
  RankOps& result_;
};

/// The sends and receives that a host issued within steps, in their order.
std::vector<IssuedComm> issued_comms(const KinetoTrace& trace, const ProfilerSteps& steps) {
  std::vector<std::optional<CommCell>> cells;
  for (const std::string& name : trace.names) cells.push_back(comm_of_name(name));
  std::vector<IssuedComm> comms;
  for (const KinetoAnnotation& annotation : trace.annotations) {
    const auto& cell = cells[annotation.name];
    const auto step = steps.at(annotation.span.begin_ns);
    if (cell && step && !annotation.on_device) {
      comms.push_back({*cell, annotation.span.begin_ns, step});
    }
  }
  std::ranges::stable_sort(comms, {}, &IssuedComm::at_ns);
  return comms;
}

/// Adds the ops of a trace whose launches identify the kernels of an annotation, or that has no
/// device. Nothing otherwise.
bool add_by_host(const KinetoTrace& trace, const std::vector<KinetoAnnotation>& host,
                 Collector& collector, RankOps& result) {
  auto spans = spans_of_works(trace, host);
  const bool launched =
      std::ranges::any_of(spans, [](const auto& span) { return span.has_value(); });
  if (!launched && !trace.works.empty()) return false;
  result.times = launched ? TimesOf::kernels : TimesOf::host_annotations;
  if (auto by_operators = spans_of_operators(trace, host); !launched && !by_operators.empty()) {
    result.times = TimesOf::host_operators;
    spans = std::move(by_operators);
  }
  const ProfilerSteps steps(trace, false);
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (launched && !spans[i]) continue;  // none of its work was profiled
    collector.add(host[i], spans[i].value_or(OpSpans{host[i].span}),
                  steps.at(host[i].span.begin_ns));
  }
  collector.finish(!steps.empty());
  if (!launched) result.comms = issued_comms(trace, steps);
  return true;
}

void add_by_device(const KinetoTrace& trace, const OpNames& names, Collector& collector,
                   RankOps& result) {
  std::vector<KinetoAnnotation> device = matching(trace, names, true);
  const std::vector<bool> computes = computing_lanes(trace);
  const auto is_elsewhere = [&](const KinetoAnnotation& annotation) {
    return annotation.lane < computes.size() && !computes[annotation.lane];
  };
  std::erase_if(device, is_elsewhere);
  result.times = TimesOf::device_annotations;
  const ProfilerSteps steps(trace, true);
  for (const KinetoAnnotation& annotation : merged(std::move(device))) {
    collector.add(annotation, {annotation.span}, steps.at(annotation.span.begin_ns));
  }
  collector.finish(!steps.empty());
}

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

NameUse name_use(const KinetoTrace& trace, const std::vector<OpPattern>& patterns) {
  const OpNames names = op_names(trace, patterns);
  std::vector<std::size_t> matched(names.size());
  std::vector<std::size_t> unmatched(names.size());
  for (const KinetoAnnotation& annotation : trace.annotations) {
    if (is_of_the_profiler(trace.names[annotation.name])) continue;
    ++(!names[annotation.name].empty() ? matched : unmatched)[annotation.name];
  }
  return {most_frequent_first(trace, matched), most_frequent_first(trace, unmatched)};
}

RankOps ops_of_annotations(const KinetoTrace& trace, const std::vector<OpPattern>& patterns,
                           Stage stage) {
  const OpNames names = op_names(trace, patterns);
  RankOps result;
  Collector collector(names, stage, result);
  const std::vector<KinetoAnnotation> host = matching(trace, names, false);
  check_apart(trace, host);
  if (add_by_host(trace, host, collector, result)) return result;
  add_by_device(trace, names, collector, result);
  if (result.ops.empty() && result.outside_steps == 0 && !host.empty()) {
    throw InputError(
        "its annotations stand on the host, and nothing ties the device's kernels to them; trace "
        "both with ProfilerActivity.CPU and ProfilerActivity.CUDA");
  }
  return result;
}

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
