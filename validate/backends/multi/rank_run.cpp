#include "validate/backends/multi/rank_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_probes.hpp"

namespace penstock {
namespace {

void put_task(ByteWriter& out, const std::optional<TaskId>& task) {
  out.u32(task.value_or(no_task));
}

std::optional<TaskId> take_task(ByteReader& in) {
  const TaskId task = in.u32();
  return task == no_task ? std::nullopt : std::optional(task);
}

/// Stamps of one task, by rank.
using Stamps = std::vector<std::map<std::uint32_t, RankStamp>>;

Stamps stamps_of(const Plan& plan, const std::vector<RankRun>& runs) {
  Stamps all(plan.tasks());
  for (std::uint32_t rank = 0; rank < runs.size(); ++rank) {
    for (const RankStamp& stamp : runs[rank].stamps) {
      if (stamp.task >= plan.tasks()) throw std::runtime_error("an unknown task was recorded");
      all[stamp.task].emplace(rank, stamp);
    }
  }
  return all;
}

/// The rank that says when a task ended.
std::uint32_t ending_rank(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (!plan.is_link(work.resource)) return work.resource;
  const Link& link = plan.link(work.resource);
  return index(is_collective(work.pass) ? link.from : link.to);
}

const RankStamp& stamp_of(const Plan& plan, const Stamps& stamps, TaskId task, std::uint32_t rank) {
  const auto found = stamps[task].find(rank);
  if (found != stamps[task].end()) return found->second;
  throw std::runtime_error(
      fmt::format("rank {} did not say when {} ran", rank, task_text(plan, task)));
}

void check_order(const Plan& plan, const Stamps& stamps, TaskId task,
                 const std::vector<RankRun>& runs, Causality& causality) {
  const WorkClass& work = plan.class_of(task);
  if (!plan.is_link(work.resource) || is_collective(work.pass)) return;
  const Link& link = plan.link(work.resource);
  const std::uint32_t from = index(link.from), to = index(link.to);
  causality.add(stamp_of(plan, stamps, task, from).begin_ns,
                stamp_of(plan, stamps, task, to).end_ns,
                runs[from].uncertainty_ns + runs[to].uncertainty_ns);
}

constexpr std::size_t one_of = 10;

std::int64_t round_trip_ns(const ClockSample& sample) {
  return sample.answered_ns - sample.asked_ns;
}

}  // namespace

GpuDevice rank_device(const MultiCalls& calls, const CommPlan& comms,
                      std::chrono::milliseconds longest_wait) {
  const auto links = static_cast<std::uint32_t>(comms.channels.size());
  return {*calls.gpu(), 1, links, {}, "one rank has the whole GPU", longest_wait};
}

RankClock::RankClock(const GpuDevice& device, std::int64_t (*host_ns)())
    : device_(device),
      host_ns_(host_ns),
      reading_(make_memory(device.calls(), sizeof(std::uint64_t))),
      step_ns_(clock_step(device).median_ns) {}

ClockAnchor RankClock::anchor() const {
  constexpr std::uint32_t samples = 100;
  const GpuCalls& gpu = device_.calls();
  const GpuStream stream = device_.conductor();
  auto* const reading = static_cast<std::uint64_t*>(reading_.get());
  std::vector<ClockSample> all(samples);
  for (ClockSample& sample : all) {
    sample.asked_ns = host_ns_();
    check(gpu, gpu.launch_clock_reader(stream, reading, 1), "asking for the time");
    device_.wait_for(stream, "asking for the time");
    sample.answered_ns = host_ns_();
    std::uint64_t read = 0;
    check(gpu, gpu.read(&read, reading, sizeof read), "asking for the time");
    sample.read_ns = static_cast<std::int64_t>(read);
  }
  ClockAnchor anchor = anchor_of(std::move(all));
  anchor.uncertainty_ns += static_cast<double>(step_ns_);
  return anchor;
}

RankRun run_rank(GpuExecutor& executor, const std::vector<RankItem>& items,
                 const RankClock& clock) {
  AlignedClock aligned;
  aligned.begin = clock.anchor();
  const GpuRun run = executor.run();
  aligned.end = clock.anchor();
  RankRun made{.stamps = {}, .uncertainty_ns = aligned.uncertainty_ns()};
  const auto host = [&](std::uint64_t ns) { return aligned.own_ns(static_cast<std::int64_t>(ns)); };
  for (std::size_t item = 0; item < items.size(); ++item) {
    const auto add = [&](TaskId task) {
      if (task == no_task) return;
      made.stamps.push_back({task, host(run.begin_ns[item]), host(run.end_ns[item])});
    };
    if (items[item].is_action()) {
      add(items[item].action);
      add(items[item].beside);
    }
    for (const CommOp& op : items[item].group) add(op.task);
  }
  if (run.wrong) {
    made.wrong = run.wrong->name;
    made.brought = run.wrong->brought;
  }
  return made;
}

ByteWriter body_of(const RankRun& run) {
  ByteWriter out;
  out.f64(run.uncertainty_ns);
  put_task(out, run.wrong);
  put_task(out, run.brought);
  out.u32(static_cast<std::uint32_t>(run.stamps.size()));
  for (const RankStamp& stamp : run.stamps) {
    out.u32(stamp.task);
    out.i64(stamp.begin_ns);
    out.i64(stamp.end_ns);
  }
  return out;
}

RankRun rank_run_in(const ControlMessage& message) {
  constexpr std::size_t stamp_bytes = 20;
  ByteReader in(message.body);
  RankRun run;
  run.uncertainty_ns = in.f64();
  run.wrong = take_task(in);
  run.brought = take_task(in);
  for (std::uint32_t left = in.count(stamp_bytes); left > 0; --left) {
    const TaskId task = in.u32();
    const std::int64_t begin_ns = in.i64();
    run.stamps.push_back({task, begin_ns, in.i64()});
  }
  return run;
}

ByteWriter body_of(const NcclId& id) {
  ByteWriter out;
  out.text({id.bytes.data(), id.bytes.size()});
  return out;
}

NcclId nccl_id_in(const ControlMessage& message) {
  const std::string text = text_in(message);
  NcclId id;
  if (text.size() != id.bytes.size()) throw std::runtime_error("sent an invalid identifier");
  std::copy(text.begin(), text.end(), id.bytes.begin());
  return id;
}

ByteWriter body_of(std::int64_t ns) {
  ByteWriter out;
  out.i64(ns);
  return out;
}

std::int64_t ns_in(const ControlMessage& message) { return ByteReader(message.body).i64(); }

RunMerger::RunMerger(const Plan& plan, ChannelRule rule)
    : plan_(plan), meetings_(meetings_of(plan, task_channels(plan, rule), rule)) {}

Timeline RunMerger::merge(const std::vector<RankRun>& runs, Causality& causality) const {
  const Stamps stamps = stamps_of(plan_, runs);
  std::vector<std::int64_t> begin(plan_.tasks()), end(plan_.tasks());
  for (const Meeting& meeting : meetings_.all) {
    std::int64_t latest = INT64_MIN;
    for (const TaskId task : meeting.tasks) {
      for (const auto& [rank, stamp] : stamps[task]) latest = std::max(latest, stamp.begin_ns);
    }
    for (const TaskId task : meeting.tasks) {
      check_order(plan_, stamps, task, runs, causality);
      begin[task] = latest;
      end[task] = std::max(latest, stamp_of(plan_, stamps, task, ending_rank(plan_, task)).end_ns);
    }
  }
  Timeline timeline;
  const std::int64_t first = begin.empty() ? 0 : *std::min_element(begin.begin(), begin.end());
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    timeline.begin.push_back(from_ns(begin[task] - first));
    timeline.end.push_back(from_ns(end[task] - first));
  }
  find_last_inputs(plan_, timeline);
  return timeline;
}

ClockAnchor anchor_of(std::vector<ClockSample> samples) {
  const std::size_t kept = (samples.size() + one_of - 1) / one_of;
  const auto end = samples.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(samples.begin(), end, samples.end(), [](const auto& a, const auto& b) {
    return round_trip_ns(a) < round_trip_ns(b);
  });
  // Relative to the first: a double does not hold the nanoseconds since 1970.
  const ClockSample first = samples.front();
  double read = 0, own = 0, trips = 0;
  for (auto sample = samples.begin(); sample != end; ++sample) {
    read += static_cast<double>(sample->read_ns - first.read_ns);
    own += static_cast<double>(sample->asked_ns - first.asked_ns) +
           static_cast<double>(round_trip_ns(*sample)) / 2;
    trips += static_cast<double>(round_trip_ns(*sample));
  }
  const auto count = static_cast<double>(kept);
  return {first.read_ns + std::llround(read / count), first.asked_ns + std::llround(own / count),
          trips / count / 2};
}

double AlignedClock::drift() const {
  const std::int64_t read = end.read_ns - begin.read_ns;
  if (read <= 0) return 0;
  return static_cast<double>(end.own_ns - begin.own_ns - read) / static_cast<double>(read);
}

std::int64_t AlignedClock::own_ns(std::int64_t read_ns) const {
  const std::int64_t since = read_ns - begin.read_ns;
  return begin.own_ns + since + std::llround(static_cast<double>(since) * drift());
}

double AlignedClock::uncertainty_ns() const {
  return std::max(begin.uncertainty_ns, end.uncertainty_ns);
}

void Causality::add(std::int64_t sent_ns, std::int64_t arrived_ns, double uncertainty_ns) {
  ++tensors;
  worst_uncertainty_ns = std::max(worst_uncertainty_ns, uncertainty_ns);
  const std::int64_t before = sent_ns - arrived_ns;
  if (before <= 0) return;
  ++violations;
  worst_ns = std::max(worst_ns, before);
  if (static_cast<double>(before) > uncertainty_ns) ++unexplained;
}

}  // namespace penstock
