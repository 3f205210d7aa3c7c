#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/timeline/timeline_columns.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

/// Leaves room for rounding up without overflow.
constexpr Time latest{9'200'000'000'000'000'000};

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) {
  throw InputError(fmt::format(text, std::forward<Values>(values)...));
}

/// One number of an entry must be below a bound.
void check_below(std::uint64_t value, std::uint64_t bound, std::string_view entry, std::size_t at,
                 std::string_view what) {
  if (value >= bound) {
    refuse("{} {}: its {} is {}; it must be below {}", entry, at, what, value, bound);
  }
}

void check_sizes(const Plan& plan) {
  if (plan.ranks == 0 || plan.ranks > Limits::ranks) {
    refuse("{} ranks; must be 1 to {}", plan.ranks, Limits::ranks);
  }
  if (plan.microbatches > Limits::microbatches) {
    refuse("{} microbatches; at most {} are allowed", plan.microbatches, Limits::microbatches);
  }
  if (plan.model_stage.size() > Limits::stages) {
    refuse("{} stages; at most {} are allowed", plan.model_stage.size(), Limits::stages);
  }
  for (const std::size_t size : {plan.work.size(), plan.inputs.size(), plan.links.size()}) {
    if (size >= Plan::several - Limits::ranks) refuse("{} entries are too many", size);
  }
  if (plan.microbatch.size() != plan.work.size() || plan.input.size() != plan.work.size()) {
    refuse("{} tasks, but {} microbatches and {} inputs of tasks; the numbers must be equal",
           plan.work.size(), plan.microbatch.size(), plan.input.size());
  }
}

void check_small_tables(const Plan& plan) {
  const std::size_t stages = plan.model_stage.size();
  for (std::size_t s = 0; s < stages; ++s) {
    check_below(plan.model_stage[s], stages, "stage", s, "index in its chain");
  }
  for (std::size_t l = 0; l < plan.links.size(); ++l) {
    const auto [from, to] = plan.links[l];
    if (is_rank(from) || !is_rank(to)) check_below(index(from), plan.ranks, "link", l, "sender");
    if (is_rank(to)) check_below(index(to), plan.ranks, "link", l, "receiver");
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    check_below(static_cast<std::size_t>(plan.buffers[b].kind), buffer_kinds, "buffer class", b,
                "kind");
    check_below(index(plan.buffers[b].stage), stages, "buffer class", b, "stage");
    check_below(index(plan.buffers[b].rank), plan.ranks, "buffer class", b, "rank");
  }
}

void check_effects(const Plan& plan, std::size_t c) {
  for (const MemoryEffect& effect : plan.classes[c].effects) {
    check_below(effect.buffer, plan.buffers.size(), "work class", c, "buffer class");
  }
}

void check_class(const Plan& plan, std::size_t c) {
  const WorkClass& work = plan.classes[c];
  check_below(static_cast<std::size_t>(work.pass), pass_count, "work class", c, "pass");
  check_below(index(work.stage), plan.model_stage.size(), "work class", c, "stage");
  check_below(work.resource, plan.resources(), "work class", c, "resource");
  if (is_transfer(work.pass) != plan.is_link(work.resource)) {
    refuse("work class {}: {} runs on resource {}; transfers need a link, other work a rank", c,
           letters(work.pass), work.resource);
  }
  if (is_transfer(work.pass) || work.buffer != none) {
    check_below(work.buffer, plan.buffers.size(), "work class", c, "buffer class");
  }
  if (work.follows_partner || work.partner != none) {
    check_below(work.partner, plan.classes.size(), "work class", c, "partner");
  }
  check_effects(plan, c);
}

/// Follows the lists in `Plan::inputs`. Their total length is bounded: a file with many tasks
/// sharing one long list cannot keep the reader busy for hours.
class InputCheck {
 public:
  explicit InputCheck(const Plan& plan) : plan_(plan), unread_(plan.inputs.size()) {}

  void check(TaskId task) {
    const TaskId input = plan_.input[task];
    if (input == no_task) {
      const Pass pass = plan_.class_of(task).pass;
      if (!is_transfer(pass) || pass == Pass::gather_weights) return;
      refuse("task {}: a transfer must have an input, but for one that gathers weights", task);
    }
    if ((input & Plan::several) != 0) check_list(task, input & ~Plan::several);
    plan_.for_each_input(task, [&](TaskId one) { check_below(one, task, "task", task, "input"); });
  }

 private:
  void check_list(TaskId task, std::size_t place) {
    check_below(place, plan_.inputs.size(), "task", task, "list of inputs");
    const std::size_t length = plan_.inputs[place];
    if (length < 2 || length >= plan_.inputs.size() - place || length + 1 > unread_) {
      refuse(
          "task {}: its list of inputs has {} entries; it must have at least 2, and all of its own",
          task, length);
    }
    unread_ -= length + 1;
  }

  const Plan& plan_;
  std::size_t unread_;
};

bool leads(const WorkClass& work) { return work.partner != none && !work.follows_partner; }

/// Every first part of a fused cell is followed by a second part on the same rank, and `followers`
/// lists these.
void check_fused_cells(const Plan& plan) {
  auto follower = plan.followers.begin();
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const bool behind_first = task > 0 && leads(plan.class_of(task - 1));
    if (!behind_first && !work.follows_partner) continue;
    if (!behind_first || !work.follows_partner ||
        work.resource != plan.class_of(task - 1).resource) {
      refuse("task {}: the two parts of a fused cell must follow each other on one rank", task);
    }
    if (follower == plan.followers.end() || *follower++ != task) {
      refuse("task {}: second part of a fused cell, but not listed as one", task);
    }
  }
  const bool open = plan.tasks() > 0 && leads(plan.class_of(plan.tasks() - 1));
  if (open) refuse("task {}: the second part of the fused cell is missing", plan.tasks() - 1);
  if (follower != plan.followers.end()) {
    refuse("task {}: listed as the second part of a fused cell, but it is not", *follower);
  }
}

bool is_input(const Plan& plan, TaskId task, TaskId wanted) {
  const auto inputs = plan.inputs_of(task);
  return std::ranges::find(inputs, wanted) != inputs.end();
}

/// Whether `wanted` is a transfer that an action's rank sends, which may have delayed it under
/// blocking sends.
bool is_own_send(const Plan& plan, TaskId task, TaskId wanted) {
  if (wanted >= plan.tasks()) return false;
  const std::uint32_t resource = plan.class_of(wanted).resource;
  return plan.is_link(resource) && index(plan.link(resource).from) == plan.class_of(task).resource;
}

void check_spans(const Plan& plan, const Timeline& timeline) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Time begin = timeline.begin[task];
    const Time end = timeline.end[task];
    if (begin < Time{} || end < begin || end > latest) {
      refuse("task {}: it runs from {} µs to {} µs; 0 <= begin <= end <= {} must hold", task,
             text_us(begin), text_us(end), text_us(latest));
    }
    const TaskId last = timeline.last_input[task];
    if (last != no_task && !is_input(plan, task, last) && !is_own_send(plan, task, last)) {
      refuse("task {}: its last input is {}, which is not among its inputs", task, last);
    }
  }
}

void check_lengths(std::string_view column, const std::vector<Time>& lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] >= Time{} && lengths[i] <= latest) continue;
    refuse("task {}: its {} is {} µs; must be 0 to {}", i, column, text_us(lengths[i]),
           text_us(latest));
  }
}

/// A report adds up the busy time of all ranks, which must fit in the clock.
void check_total(const Plan& plan, const Timeline& timeline) {
  std::vector<Time> busy_until(plan.ranks);
  Time left = latest;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (is_transfer(plan.class_of(task).pass)) continue;
    Time& until = busy_until[plan.class_of(task).resource];
    const Time from = std::max(timeline.begin[task], until);
    if (timeline.end[task] <= from) continue;
    const Time length = timeline.end[task] - from;
    if (length > left) refuse("the total busy time of the ranks exceeds the clock, 106 days");
    left -= length;
    until = timeline.end[task];
  }
}

void check_samples(const Plan& plan, const Timeline& timeline) {
  for (std::size_t i = 0; i < timeline.memory.size(); ++i) {
    const MemorySample& sample = timeline.memory[i];
    check_below(index(sample.rank), plan.ranks, "memory sample", i, "rank");
    if (sample.time < Time{} || sample.time > latest) {
      refuse("memory sample {}: its time is {} µs; must be 0 to {}", i, text_us(sample.time),
             text_us(latest));
    }
    if (i == 0) continue;
    const MemorySample& before = timeline.memory[i - 1];
    if (std::tie(sample.rank, sample.time) < std::tie(before.rank, before.time)) {
      refuse("memory sample {}: samples must be ordered by rank, then time", i);
    }
  }
}

}  // namespace

void check_plan_head(const Plan& plan) {
  check_sizes(plan);
  check_small_tables(plan);
  for (std::size_t c = 0; c < plan.classes.size(); ++c) check_class(plan, c);
}

void check_plan(const Plan& plan) {
  check_plan_head(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    check_below(plan.work[task], plan.classes.size(), "task", task, "work class");
    check_below(index(plan.microbatch[task]), Limits::microbatches, "task", task, "microbatch");
  }
  InputCheck inputs(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) inputs.check(task);
  check_fused_cells(plan);
}

void check_timeline(const Plan& plan, const Timeline& timeline) {
  for (const std::size_t size :
       {timeline.begin.size(), timeline.end.size(), timeline.last_input.size()}) {
    if (size != plan.tasks()) {
      refuse("{} spans for {} tasks; the numbers must be equal", size, plan.tasks());
    }
  }
  for (const std::size_t size : {timeline.slowed.size(), timeline.memory_wait.size()}) {
    if (size == 0 || size == plan.tasks()) continue;
    refuse("{} waits for {} tasks; must be as many, or none", size, plan.tasks());
  }
  check_lengths("slowed", timeline.slowed);
  check_lengths("memory_wait", timeline.memory_wait);
  check_spans(plan, timeline);
  check_total(plan, timeline);
  check_samples(plan, timeline);
}

}  // namespace penstock
