#include "experiments/measure/measured_runs/annotations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/measure/measured_runs/op_spans.hpp"
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
  std::stable_sort(
      annotations.begin(), annotations.end(),
      [](const KinetoAnnotation& a, const KinetoAnnotation& b) { return a.name < b.name; });
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
  void finish(bool has_steps);

 private:
  static constexpr Microbatch no_microbatch{UINT32_MAX};

  const OpNames& names_;
  Stage stage_;
  RankOps& result_;
};

void Collector::finish(bool has_steps) {
  std::vector<MeasuredOp>& ops = result_.ops;
  std::stable_sort(ops.begin(), ops.end(), [](const MeasuredOp& a, const MeasuredOp& b) {
    return a.span.begin_ns < b.span.begin_ns;
  });
  if (has_steps) {
    const std::size_t all = ops.size();
    ops.erase(std::remove_if(ops.begin(), ops.end(), [](const MeasuredOp& op) { return !op.step; }),
              ops.end());
    result_.outside_steps = all - ops.size();
  }
  std::map<std::tuple<std::optional<std::uint32_t>, Pass, Stage>, std::uint32_t> counts;
  for (MeasuredOp& op : ops) {
    if (op.action.microbatch != no_microbatch) continue;
    op.action.microbatch = Microbatch{counts[{op.step, op.action.pass, op.action.stage}]++};
  }
}

/// Adds the ops of a trace whose launches identify the kernels of an annotation, or that has no
/// device. Nothing otherwise.
bool add_by_host(const KinetoTrace& trace, const std::vector<KinetoAnnotation>& host,
                 Collector& collector, RankOps& result) {
  auto spans = spans_of_works(trace, host);
  const bool launched =
      std::any_of(spans.begin(), spans.end(), [](const auto& span) { return span.has_value(); });
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
  return true;
}

void add_by_device(const KinetoTrace& trace, const OpNames& names, Collector& collector,
                   RankOps& result) {
  std::vector<KinetoAnnotation> device = matching(trace, names, true);
  const std::vector<bool> computes = computing_lanes(trace);
  const auto is_elsewhere = [&](const KinetoAnnotation& annotation) {
    return annotation.lane < computes.size() && !computes[annotation.lane];
  };
  device.erase(std::remove_if(device.begin(), device.end(), is_elsewhere), device.end());
  result.times = TimesOf::device_annotations;
  const ProfilerSteps steps(trace, true);
  for (const KinetoAnnotation& annotation : merged(std::move(device))) {
    collector.add(annotation, {annotation.span}, steps.at(annotation.span.begin_ns));
  }
  collector.finish(!steps.empty());
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

}  // namespace penstock
