#include "validate/backends/cuda/running/gpu_task_table.hpp"

#include <algorithm>
#include <stdexcept>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr std::size_t stamp_bytes = sizeof(std::uint64_t);
constexpr std::size_t progress_bytes = 2 * sizeof(std::uint32_t);

/// Memory for these numbers, written; at least one, so that it exists.
template <class Number>
GpuOwner<void> written(const GpuCalls& calls, const std::vector<Number>& numbers,
                       const char* doing) {
  auto memory = make_memory(calls, std::max<std::size_t>(numbers.size(), 1) * sizeof(Number));
  if (!numbers.empty()) {
    check(calls, calls.write(memory.get(), numbers.data(), numbers.size() * sizeof(Number)), doing);
  }
  return memory;
}

/// By task: its slot behind those of all tasks, if it has calls.
std::vector<std::uint32_t> slots_after(const GpuProgram& program) {
  std::vector<std::uint32_t> after(program.tasks.size());
  auto next = static_cast<std::uint32_t>(program.tasks.size());
  for (std::size_t task = 0; task < after.size(); ++task) {
    if (!program.tasks[task].calls.empty()) after[task] = next++;
  }
  return after;
}

std::uint32_t slots_of(const std::vector<std::uint32_t>& after) {
  const auto calls = after.size() - std::count(after.begin(), after.end(), 0U);
  return static_cast<std::uint32_t>(after.size() + calls + (calls > 0 ? 1 : 0));
}

/// How long the GPU waits while the host gets ahead.
std::uint64_t lead_ns(std::size_t tasks) {
  constexpr std::uint64_t of_task = 5'000;
  constexpr std::uint64_t most = 20'000'000;
  return std::min(of_task * tasks, most);
}

}  // namespace

GpuTaskTable::GpuTaskTable(const GpuDevice& device, const GpuProgram& program,
                           const std::vector<std::vector<std::uint32_t>>& queues, bool stamped)
    : calls_(device.calls()),
      tasks_(program.tasks.size()),
      after_(slots_after(program)),
      slots_(slots_of(after_)),
      stamped_(stamped),
      records_(nullptr, calls_.free_memory),
      inputs_(nullptr, calls_.free_memory),
      begin_ns_(make_memory(calls_, std::max(slots_, 1U) * stamp_bytes)),
      end_ns_(make_memory(calls_, std::max(slots_, 1U) * stamp_bytes)),
      queued_(nullptr, calls_.free_memory),
      progress_(make_memory(calls_, std::max<std::size_t>(queues.size(), 1) * progress_bytes)) {
  write_records(program);
  write_queues(queues);
}

void GpuTaskTable::write_records(const GpuProgram& program) {
  std::vector<GpuTaskRecord> records;
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t at = 0; at < tasks_; ++at) {
    const GpuTask& task = program.tasks[at];
    const auto first = static_cast<std::uint32_t>(inputs.size());
    const auto count = static_cast<std::uint32_t>(task.inputs.size());
    records.push_back({task.duration_ns, task.latency_ns, first, count});
    for (const std::uint32_t input : task.inputs) {
      if (input >= at) throw std::logic_error("a task precedes one of its inputs");
      inputs.push_back(input);
    }
  }
  records.resize(slots_);
  if (slots_ > tasks_) records.back().duration_ns = lead_ns(tasks_);
  records_ = written(calls_, records, "writing the tasks");
  inputs_ = written(calls_, inputs, "writing what tasks wait for");
}

void GpuTaskTable::write_queues(const std::vector<std::vector<std::uint32_t>>& queues) {
  std::vector<std::uint32_t> queued;
  for (const auto& queue : queues) {
    first_task_.push_back(static_cast<std::uint32_t>(queued.size()));
    queued.insert(queued.end(), queue.begin(), queue.end());
  }
  queued_ = written(calls_, queued, "writing the tasks of graphs");
}

GpuKernelTask GpuTaskTable::of_slot(std::uint32_t slot) const {
  return {.begin_ns = static_cast<std::uint64_t*>(begin_ns_.get()),
          .end_ns = static_cast<std::uint64_t*>(end_ns_.get()),
          .records = static_cast<const GpuTaskRecord*>(records_.get()),
          .inputs = static_cast<const std::uint32_t*>(inputs_.get()),
          .task = slot,
          .stamped = stamped_,
          .queue = nullptr,
          .progress = nullptr};
}

GpuKernelTask GpuTaskTable::of_queue(std::uint32_t queue) const {
  GpuKernelTask task = of_slot(0);
  task.queue = static_cast<const std::uint32_t*>(queued_.get()) + first_task_[queue];
  task.progress = static_cast<std::uint32_t*>(progress_.get()) + 2 * queue;
  return task;
}

void GpuTaskTable::clear(GpuStream stream) const {
  const std::size_t bytes = slots_ * stamp_bytes;
  check(calls_, calls_.fill(begin_ns_.get(), 0xff, bytes, stream), "clearing stamps");
  check(calls_, calls_.fill(end_ns_.get(), 0, bytes, stream), "clearing stamps");
  if (first_task_.empty()) return;
  check(calls_, calls_.fill(progress_.get(), 0, first_task_.size() * progress_bytes, stream),
        "clearing the progress of graphs");
}

void GpuTaskTable::read(GpuRun& run) const {
  run.begin_ns.resize(slots_);
  run.end_ns.resize(slots_);
  const std::size_t bytes = slots_ * stamp_bytes;
  check(calls_, calls_.read(run.begin_ns.data(), begin_ns_.get(), bytes), "reading stamps");
  check(calls_, calls_.read(run.end_ns.data(), end_ns_.get(), bytes), "reading stamps");
  for (std::size_t task = 0; task < tasks_; ++task) {
    if (after_[task] == 0) continue;
    run.begin_ns[task] = run.end_ns[task];
    const std::uint64_t end = run.begin_ns[after_[task]];
    run.end_ns[task] = end == UINT64_MAX ? 0 : end;
  }
  run.begin_ns.resize(tasks_);
  run.end_ns.resize(tasks_);
}

}  // namespace penstock
