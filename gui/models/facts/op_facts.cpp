#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/facts/facts.hpp"
#include "gui/models/run/slack.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {
namespace {

constexpr int most_causes = 4;
constexpr std::size_t most_links = 8;  // of inputs or readers

std::string where(const Plan& plan, TaskId task) {
  return place_text(plan, plan.class_of(task).resource);
}

/// Collects what is known of an op.
class OpTeller {
 public:
  OpTeller(const SeenRuns& seen, const ShownOp& op)
      : seen_(seen),
        op_(op),
        steps_(seen.steps(op.run)),
        run_(seen.runs[op.run]->run->as_it_ran()),
        work_(run_.plan.class_of(op.task)),
        begin_(run_.timeline.begin[op.task].picoseconds),
        end_(run_.timeline.end[op.task].picoseconds) {}

  Facts tell() {
    const Timeline& on_axis = seen_.runs[op_.run]->run->timeline;
    facts_.title = task_text(run_.plan, op_.task) + seen_.of(op_.run);
    if (run_.plan.class_names.empty()) {
      facts_.title += fmt::format(": {} of stage {}, {}", pass_name(work_.pass), index(work_.stage),
                                  microbatch_text(run_, op_.task));
    }
    facts_.line = op_text(run_, op_.task, seen_.of(op_.run));
    add("where", where(run_.plan, op_.task));
    add("begin", seen_.moment(begin_, on_axis.begin[op_.task].picoseconds));
    add("end", seen_.moment(end_, on_axis.end[op_.task].picoseconds));
    add("length", exact_time(end_ - begin_));
    tell_other_runs();
    tell_slack();
    tell_bytes();
    tell_documents();
    tell_waits();
    add("why then", why_then(steps_, op_.task));
    tell_neighbours();
    return std::move(facts_);
  }

 private:
  void add(std::string name, std::string text) {
    facts_.all.push_back({std::move(name), std::move(text)});
  }
  void add_link(const char* name, TaskId task) {
    if (task != no_task) facts_.all.push_back(link_to(seen_, name, {task, op_.run}));
  }
  /// Each run but A beside A: of an op of A all of them, of another one its own.
  void tell_other_runs() {
    const std::uint8_t baseline = seen_.baseline();
    const ShownOp in_a = seen_.same_op(op_, baseline);
    for (std::size_t place = 1; place < seen_.runs.size(); ++place) {
      const auto run = static_cast<std::uint8_t>(lettered(place, seen_.frozen));
      if (op_.run != baseline && op_.run != run) continue;
      const ShownOp now = seen_.same_op(op_, run);
      const std::string name = fmt::format("{} − A", letter_of_run(place));
      if (in_a.is_none() || now.is_none()) {
        const char lacks = now.is_none() ? letter_of_run(place) : 'A';
        add(name, fmt::format("{} has no such op", lacks));
        continue;
      }
      facts_.all.push_back({name, change(in_a, now), op_.run == run ? in_a : now});
    }
  }
  std::string change(const ShownOp& a, const ShownOp& now) const {
    const auto begin_of = [&](const ShownOp& op) {
      return seen_.runs[op.run]->run->timeline.begin[op.task];
    };
    const auto length_of = [&](const ShownOp& op) {
      const Timeline& timeline = seen_.runs[op.run]->run->as_it_ran().timeline;
      return timeline.end[op.task] - timeline.begin[op.task];
    };
    const Time begin = begin_of(now) - begin_of(a);
    const Time length = length_of(a);
    const Time longer = length_of(now) - length;
    const std::string begins = "begin " + signed_time(begin.picoseconds);
    if (longer == Time{}) return begins + ", same length";
    const double share = length == Time{} ? 1
                                          : static_cast<double>(longer.picoseconds) /
                                                static_cast<double>(length.picoseconds);
    return fmt::format("{}, length {} ({}): {} in A, {} in {}", begins,
                       signed_time(longer.picoseconds), signed_percent(share),
                       short_time(length.picoseconds), short_time((length + longer).picoseconds),
                       letter_of_run(now.run, seen_.frozen));
  }

  void tell_slack() {
    if (op_.run >= seen_.slack.size() || seen_.slack[op_.run] == nullptr) return;
    const double share = (*seen_.slack[op_.run])[op_.task];
    // Others may have some: in gaps of a recorded run that nobody can explain, or where transfers
    // share links.
    const bool all = knows_all_slack(run_);
    if (share <= 0 && !all && !place_on_path(run_.report, op_.task)) {
      if (run_.layout != nullptr) add("slack", "none that is certain: transfers share links");
      return;
    }
    if (share <= 0) return add("slack", "none: a longer op makes the run longer");
    const auto slack =
        static_cast<std::int64_t>(share * static_cast<double>(run_.span().picoseconds));
    add("slack",
        fmt::format("{}{} until the run gets longer", all ? "" : "at least ", short_time(slack)));
  }

  void tell_bytes() {
    const std::vector<std::uint64_t>& bytes = run_.costs.bytes;
    if (is_transfer(work_.pass)) {
      const std::uint64_t moved = work_.buffer < bytes.size() ? bytes[work_.buffer] : 0;
      const Time used = left_link_at(run_, op_.task) - run_.timeline.begin[op_.task];
      if (moved == 0) return;
      const double rate = static_cast<double>(moved) * 1e3 / static_cast<double>(used.picoseconds);
      add("bytes", bytes_text(moved) + (used > Time{} ? fmt::format(" at {:.3g} GB/s", rate) : ""));
      return;
    }
    std::uint64_t taken = 0;
    std::uint64_t freed = 0;
    for (const MemoryEffect& effect : work_.effects) {
      if (effect.buffer < bytes.size()) (effect.takes ? taken : freed) += bytes[effect.buffer];
    }
    const std::string takes = taken > 0 ? "takes " + bytes_text(taken) : "";
    const std::string frees = freed > 0 ? "frees " + bytes_text(freed) : "";
    if (taken + freed > 0) add("memory", takes + (taken > 0 && freed > 0 ? ", " : "") + frees);
  }

  void tell_documents() {
    const bool of_one = !is_tail(work_.pass) && work_.pass != Pass::update;
    const std::size_t number = microbatch_of(run_, op_.task);
    if (!of_one || !run_.microbatches || number >= run_.microbatches->size()) return;
    const PackedMicrobatch& packed = (*run_.microbatches)[number].packed;
    add("tokens", fmt::format("{:.0f} in {}, the longest {}", packed.tokens,
                              counted(packed.documents, "document"), packed.longest));
    const double pictures = run_.layout ? run_.layout->documents->pictures_per_token : 0;
    if (pictures > 0) add("of pictures", fmt::format("{:.0f} tokens", pictures * packed.pictured));
  }

  void tell_waits() {
    const std::int64_t slowed = time_in(run_.timeline.slowed, op_.task).picoseconds;
    const std::int64_t waited = time_in(run_.timeline.memory_wait, op_.task).picoseconds;
    if (slowed > 0) add("slowed", short_time(slowed) + " by other tasks");
    if (waited > 0) add("waited", short_time(waited) + " for memory");
    if (!is_transfer(work_.pass)) return;
    const Link& link = run_.plan.link(work_.resource);
    if (is_exchange(run_.plan, work_)) return tell_end("EXCHANGE", link.from);
    tell_end("SEND", link.from);
    tell_end("RECV", link.to);
  }

  /// Of an end of a transfer that was there before it began.
  void tell_end(const char* cell, Rank rank) {
    if (!is_rank(rank)) return;
    const Time ready = end_ready_at(run_.plan, run_.timeline, op_.task, rank);
    const std::int64_t waited = begin_ - ready.picoseconds;
    if (waited > 0) add(cell, fmt::format("ready for {} before it began", short_time(waited)));
  }

  void tell_neighbours() {
    add_link("waited for", steps_.cause(op_.task));
    std::vector<TaskId> inputs;
    run_.plan.for_each_input(op_.task, [&](TaskId input) { inputs.push_back(input); });
    add_links("input", inputs);
    add_links("reader", readers_of(run_.plan, op_.task));
    add_link("before it", steps_.in_lane(op_.task, false));
    add_link("after it", steps_.in_lane(op_.task, true));
    const auto place = place_on_path(run_.report, op_.task);
    if (!place) return;
    const std::vector<PathStep>& path = run_.report.critical_path;
    if (*place + 1 < path.size()) add_link("next on the critical path", path[*place + 1].task);
  }
  void add_links(const char* name, const std::vector<TaskId>& tasks) {
    for (std::size_t i = 0; i < std::min(tasks.size(), most_links); ++i) {
      add_link(name, tasks[i]);
    }
    if (tasks.size() <= most_links) return;
    facts_.all.back().text += fmt::format(" and {} more", tasks.size() - most_links);
  }

  const SeenRuns& seen_;
  const ShownOp& op_;
  OpSteps steps_;
  const ViewedRun& run_;
  const WorkClass& work_;
  std::int64_t begin_, end_;
  Facts facts_;
};

/// How long a rank was idle before an action.
std::int64_t idle_before(const OpSteps& steps, TaskId task) {
  if (is_transfer(steps.plan.class_of(task).pass)) return 0;
  const TaskId before = steps.in_lane(task, false);
  const Timeline& timeline = steps.run.as_it_ran().timeline;
  const Time from = before == no_task ? Time{} : timeline.end[before];
  return std::max<std::int64_t>(0, (timeline.begin[task] - from).picoseconds);
}

/// "ran after 0F3 on its rank".
std::string cause_phrase(const OpSteps& steps, TaskId task, TaskId cause) {
  const Plan& plan = steps.plan;
  const bool same_place = plan.class_of(task).resource == plan.class_of(cause).resource;
  const bool arrives = is_transfer(plan.class_of(cause).pass);
  const std::string name =
      task_text(plan, cause) + (same_place || arrives ? "" : " on " + where(plan, cause));
  if (is_transfer(plan.class_of(task).pass)) {
    return same_place ? "queued behind " + name : "was sent when " + name + " ended";
  }
  const std::int64_t idle = idle_before(steps, task);
  if (same_place)
    return idle == 0 ? "ran after " + name
                     : fmt::format("began {} after {}", short_time(idle), name);
  if (idle > 0) return fmt::format("waited {} for {}", short_time(idle), name);
  return fmt::format("began when {} {}", name, arrives ? "arrived" : "ended");
}

}  // namespace

std::string SeenRuns::of(std::uint8_t run) const {
  return runs.size() > 1 ? fmt::format(" of {}", letter_of_run(run, frozen)) : std::string();
}

std::string SeenRuns::rank_name(std::uint32_t rank, std::uint8_t run) const {
  return place_text(runs[run]->run->plan, rank) + of(run);
}

std::string SeenRuns::moment(std::int64_t time, std::optional<std::int64_t> on_axis) const {
  const std::int64_t place = on_axis.value_or(time);
  if (origin <= 0 || place < origin) return exact_time(time);
  return fmt::format("{} (view + {})", exact_time(time), short_time(place - origin));
}

ShownOp SeenRuns::same_op(const ShownOp& op, std::uint8_t run) const {
  if (op.run == run) return op;
  const auto in_a = [&]() -> TaskId {
    if (op.run == baseline()) return op.task;
    const auto& against = runs[op.run]->against_a;
    return against == nullptr ? no_task : against->task_in_a(op.task);
  }();
  if (in_a == no_task || run == baseline()) return {in_a, run};
  const auto& against = runs[run]->against_a;
  return {against == nullptr ? no_task : against->task_here(in_a), run};
}

Fact link_to(const SeenRuns& seen, std::string name, const ShownOp& op) {
  const Plan& plan = seen.runs[op.run]->run->plan;
  return {std::move(name), task_text(plan, op.task) + ", " + where(plan, op.task), op, false};
}

std::string why_then(const OpSteps& steps, TaskId task) {
  std::string text;
  for (int hops = 0; task != no_task; ++hops) {
    if (hops == most_causes) return text + "; …";
    const TaskId cause = steps.cause(task);
    const bool moved = is_transfer(steps.plan.class_of(task).pass);
    if (hops > 0) text += moved ? ", which " : "; " + task_text(steps.plan, task) + " ";
    text += cause == no_task ? "waited for nothing" : cause_phrase(steps, task, cause);
    task = cause;
  }
  return text;
}

Facts facts_of_op(const SeenRuns& seen, const ShownOp& op) { return OpTeller(seen, op).tell(); }

}  // namespace penstock
