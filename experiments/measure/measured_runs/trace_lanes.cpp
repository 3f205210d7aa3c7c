#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/traces/nsys_trace.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A span with the number of its name.
struct NamedSpan {
  KinetoSpan span;
  std::uint32_t name;
};

struct TraceLane {
  std::string name;
  std::string source;            // the file
  std::int64_t base_ns = 0;      // of its times
  std::vector<NamedSpan> boxes;  // by begin, without overlap
};

class LaneCollector {
 public:
  void add(const KinetoTrace& trace, std::size_t place) {
    const std::string rank = std::to_string(trace.rank.value_or(place));
    const std::size_t before = lanes_.size();
    by_lane_.clear();
    for (const KinetoAnnotation& own : trace.annotations) {
      put(own.span, own.lane, trace.names[own.name], trace.base_ns);
    }
    take(trace, rank);
    for (const KinetoWork& own : trace.works) {
      put(own.span, own.lane, short_kernel_name(trace.work_names[own.name]), trace.base_ns);
    }
    take(trace, rank);
    for (const KinetoOperator& own : trace.operators) {
      put(own.span, own.lane, trace.work_names[own.name], trace.base_ns);
    }
    take(trace, rank);
    if (lanes_.size() > before) return;
    throw in_file(trace.source, InputError("it has no kernels, annotations or operators"));
  }

  Recording recording() const {
    Recording result;
    Plan& plan = result.plan;
    plan.schedule = "trace";
    plan.ranks = static_cast<std::uint32_t>(lanes_.size());
    plan.microbatches = 1;
    plan.model_stage = {0};
    add_tasks(plan, result.timeline);
    result.title =
        fmt::format("{} in {}", counted(plan.tasks(), "box", "boxes"), counted(plan.ranks, "lane"));
    return result;
  }

 private:
  void put(const KinetoSpan& span, std::uint32_t lane, const std::string& name,
           std::int64_t base_ns) {
    if (span.end_ns <= span.begin_ns) return;
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    by_lane_[lane].push_back({{span.begin_ns + base_ns, span.end_ns + base_ns}, found->second});
  }
  /// Moves what was put into lanes; what is nested in another box, or overlaps it, into further
  /// ones.
  void take(const KinetoTrace& trace, const std::string& rank) {
    for (auto& [lane, boxes] : by_lane_) {
      std::ranges::sort(boxes, {}, [](const NamedSpan& box) {
        return std::tuple(box.span.begin_ns, -box.span.end_ns, box.name);
      });
      using Busy = std::pair<std::int64_t, std::size_t>;  // until when, and which lane
      std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
      std::set<std::size_t> free;
      for (const NamedSpan& box : boxes) {
        for (; !busy.empty() && busy.top().first <= box.span.begin_ns; busy.pop()) {
          free.insert(busy.top().second);
        }
        if (free.empty()) {
          free.insert(lanes_.size());
          lanes_.push_back(
              {fmt::format("{} · {}", rank, trace.lanes[lane]), trace.source, trace.base_ns, {}});
        }
        const std::size_t first = free.extract(free.begin()).value();
        lanes_[first].boxes.push_back(box);
        busy.emplace(box.span.end_ns, first);
      }
    }
    by_lane_.clear();
  }

  struct Task {
    KinetoSpan span;
    std::uint32_t work;
  };

  void add_tasks(Plan& plan, Timeline& timeline) const {
    std::vector<Task> tasks;
    std::int64_t origin = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      plan.rank_names.push_back(lanes_[rank].name);
      std::map<std::uint32_t, std::uint32_t> classes;  // by name
      for (const NamedSpan& box : lanes_[rank].boxes) {
        const auto [found, is_new] =
            classes.try_emplace(box.name, static_cast<std::uint32_t>(plan.classes.size()));
        if (is_new) add_class(plan, rank, names_[box.name]);
        tasks.push_back({box.span, found->second});
        origin = std::min(origin, box.span.begin_ns);
      }
    }
    std::ranges::stable_sort(tasks, {}, [](const Task& task) { return task.span.begin_ns; });
    for (const Task& task : tasks) {
      check_end(plan, tasks.front(), task);
      add_task(plan, task.work, Microbatch{0}, no_task);
      timeline.begin.push_back(Time{(task.span.begin_ns - origin) * 1000});
      timeline.end.push_back(Time{(task.span.end_ns - origin) * 1000});
    }
    timeline.last_input.assign(plan.tasks(), no_task);
  }
  static void add_class(Plan& plan, std::uint32_t rank, const std::string& name) {
    plan.classes.push_back({.pass = Pass::forward, .stage = Stage{0}, .resource = rank});
    plan.class_names.push_back(name);
  }
  /// Throws InputError for a span whose end has no time since the first one began.
  void check_end(const Plan& plan, const Task& first, const Task& task) const {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
    if (task.span.end_ns - first.span.begin_ns <= most) return;
    const auto lane_of = [&](const Task& one) -> const TraceLane& {
      return lanes_[plan.classes[one.work].resource];
    };
    const auto event = [&](const Task& one) {
      return fmt::format("\"{}\" at ts {}", plan.class_names[one.work],
                         (one.span.begin_ns - lane_of(one).base_ns) / 1000);
    };
    throw InputError(lane_of(task).source, "",
                     fmt::format("{} ends more than a hundred days after {} of {}; leave one of "
                                 "the two out",
                                 event(task), event(first), lane_of(first).source));
  }

  std::vector<TraceLane> lanes_;
  std::map<std::uint32_t, std::vector<NamedSpan>> by_lane_;  // not yet taken
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace

std::string short_kernel_name(const std::string& name) {
  std::string_view text = name;
  if (text.starts_with("void ")) text.remove_prefix(5);
  const std::size_t end = text.find_first_of("<(");
  if (end != std::string_view::npos && end > 0) text = text.substr(0, end);
  return shortened(text);
}

Recording lanes_of_traces(const std::vector<std::string>& files,
                          const std::function<void(double)>& on_progress) {
  LaneCollector lanes;
  const auto count = static_cast<double>(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    lanes.add(read_trace(files[i],
                         [&](double share) {
                           if (on_progress) on_progress((static_cast<double>(i) + share) / count);
                         }),
              i);
  }
  return lanes.recording();
}

}  // namespace penstock
