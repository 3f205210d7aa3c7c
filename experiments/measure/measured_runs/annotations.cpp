#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
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
  /// Sorts ops and parts them, drops those outside of steps, and counts microbatches if names do
  /// not number them.
  void finish(bool has_steps) {
    std::vector<MeasuredOp>& ops = result_.ops;
    std::ranges::stable_sort(ops, {}, [](const MeasuredOp& op) { return op.span.begin_ns; });
    part();
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

  /// A rank runs one op at a time: each ends where the next begins, whatever runs on beside it.
  void part() {
    for (std::size_t i = 1; i < result_.ops.size(); ++i) {
      std::int64_t& end_ns = result_.ops[i - 1].span.end_ns;
      const std::int64_t next_ns = result_.ops[i].span.begin_ns;
      result_.overlap_ns = std::max(result_.overlap_ns, end_ns - next_ns);
      end_ns = std::min(end_ns, next_ns);
    }
  }

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

/// Whether an annotation's op launches nothing in the whole trace, as PyTorch's input gradient of
/// the first stage. Others without works lost them.
std::vector<bool> launch_nothing(const OpNames& names, const std::vector<KinetoAnnotation>& host,
                                 const std::vector<std::optional<OpSpans>>& spans) {
  std::set<std::pair<std::optional<Stage>, Pass>> working;
  const auto pass_of = [&](const KinetoAnnotation& annotation) {
    const OpName& name = names[annotation.name].front();
    return std::pair(name.stage, name.pass);
  };
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (spans[i]) working.insert(pass_of(host[i]));
  }
  std::vector<bool> nothing;
  for (const KinetoAnnotation& annotation : host) {
    nothing.push_back(!working.contains(pass_of(annotation)));
  }
  return nothing;
}

/// Places ops that launch nothing: a W behind the op before it, any other, which may wait for its
/// input, where the next op begins.
void place_empty(const OpNames& names, const std::vector<KinetoAnnotation>& host,
                 std::vector<std::optional<OpSpans>>& spans) {
  const std::vector<bool> nothing = launch_nothing(names, host, spans);
  std::optional<KinetoSpan> before, next;
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (spans[i]) before = spans[i]->whole;
    if (nothing[i] && before) spans[i] = OpSpans{{before->end_ns, before->end_ns}};
  }
  for (std::size_t i = host.size(); i-- > 0;) {
    if (!nothing[i] && spans[i]) next = spans[i]->whole;
    if (!nothing[i] || !next) continue;
    const bool waits = names[host[i].name].front().pass != Pass::backward_weight;
    if (!spans[i] || waits || spans[i]->whole.begin_ns > next->begin_ns) {
      spans[i] = OpSpans{{next->begin_ns, next->begin_ns}};
    }
  }
}

/// Adds the ops of a trace whose launches identify the kernels of an annotation, or that has no
/// device. Nothing otherwise.
bool add_by_host(const KinetoTrace& trace, const OpNames& names,
                 const std::vector<KinetoAnnotation>& host, Collector& collector, RankOps& result) {
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
  if (launched) place_empty(names, host, spans);
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

}  // namespace

NameUse name_use(const KinetoTrace& trace, const std::vector<OpPattern>& patterns) {
  const OpNames names = op_names(trace, patterns);
  // On a device, each stream that a range of the host put work on repeats it.
  std::vector<std::size_t> on_host(names.size()), matched(names.size()), unmatched(names.size());
  for (const KinetoAnnotation& annotation : trace.annotations) {
    if (!annotation.on_device) ++on_host[annotation.name];
  }
  for (const KinetoAnnotation& annotation : trace.annotations) {
    if (is_of_the_profiler(trace.names[annotation.name])) continue;
    if (annotation.on_device && on_host[annotation.name] > 0) continue;
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
  if (add_by_host(trace, names, host, collector, result)) return result;
  add_by_device(trace, names, collector, result);
  if (result.ops.empty() && result.outside_steps == 0 && !host.empty()) {
    throw InputError(
        "its annotations stand on the host, and nothing ties the device's kernels to them; trace "
        "both with ProfilerActivity.CPU and ProfilerActivity.CUDA, or with nsys profile --trace "
        "cuda,nvtx");
  }
  return result;
}

}  // namespace penstock
