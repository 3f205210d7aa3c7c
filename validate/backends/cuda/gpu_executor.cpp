#include "validate/backends/cuda/gpu_executor.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "validate/backends/cuda/gpu_error.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

// Larger tensors cycle through this buffer.
constexpr std::uint64_t most_buffer_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t least_buffer_bytes = 64;

/// Memory for one number per task.
GpuOwner<void> stamps_of(const GpuDevice& device, const GpuProgram& program) {
  return make_memory(device.calls(), std::max<std::size_t>(program.tasks.size(), 1) * 8);
}

std::vector<char> lanes_in_use(const GpuProgram& program) {
  std::vector<char> in_use(program.lanes());
  for (const GpuTask& task : program.tasks) in_use.at(task.lane) = 1;
  return in_use;
}

}  // namespace

GpuExecutor::GpuExecutor(const GpuDevice& device, GpuProgram program, GpuOrdering ordering)
    : device_(device),
      calls_(device.calls()),
      program_(std::move(program)),
      in_use_(lanes_in_use(program_)),
      inputs_(nullptr, calls_.free_memory),
      begin_ns_(stamps_of(device, program_)),
      end_ns_(stamps_of(device, program_)),
      sms_seen_(make_memory(calls_, std::size_t{program_.ranks} * most_sm_ids)),
      start_(make_event(calls_)),
      executable_(nullptr, calls_.free_executable) {
  const GpuStream conductor = device_.conductor();
  check(calls_, calls_.fill(sms_seen_.get(), 0, program_.ranks * most_sm_ids, conductor),
        "clearing what SMs were seen");
  write_inputs();
  make_events();
  make_link_buffers();
  if (ordering == GpuOrdering::graph) make_graph();
  check(calls_, calls_.synchronize(conductor), "making ready to run");
}

void GpuExecutor::write_inputs() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t task = 0; task < program_.tasks.size(); ++task) {
    first_input_.push_back(static_cast<std::uint32_t>(all.size()));
    for (const std::uint32_t input : program_.tasks[task].inputs) {
      if (input >= task) throw std::logic_error("a task precedes one of its inputs");
      all.push_back(input);
    }
  }
  if (all.empty()) return;
  inputs_ = make_memory(calls_, all.size() * sizeof(std::uint32_t));
  check(calls_, calls_.write(inputs_.get(), all.data(), all.size() * sizeof(std::uint32_t)),
        "writing what tasks wait for");
}

void GpuExecutor::make_events() {
  for (std::size_t task = 0; task < program_.tasks.size(); ++task) {
    done_.emplace_back(nullptr, calls_.free_event);
  }
  for (const GpuTask& task : program_.tasks) {
    for (const std::uint32_t input : task.inputs) {
      const bool elsewhere = program_.tasks[input].lane != task.lane;
      if (elsewhere && !done_[input])
        done_[input] = device_.make_event_of(program_.tasks[input].lane);
    }
  }
  for (std::uint32_t lane = 0; lane < program_.lanes(); ++lane) {
    lane_end_.push_back(device_.make_event_of(lane));
  }
}

void GpuExecutor::make_link_buffers() {
  std::vector<std::uint64_t> bytes(program_.links);
  for (const GpuTask& task : program_.tasks) {
    if (!program_.is_transfer(task)) continue;
    std::uint64_t& most = bytes[task.lane - program_.ranks];
    most = std::max(most, std::min(task.bytes, most_buffer_bytes));
  }
  for (const std::uint64_t most : bytes) {
    const std::uint64_t size = std::bit_ceil(std::max(most, least_buffer_bytes));
    buffers_.push_back({make_memory(calls_, size), make_memory(calls_, size), size});
  }
}

void GpuExecutor::make_graph() {
  const GpuStream conductor = device_.conductor();
  const GpuOwner<GpuGraphTag> graph = captured(calls_, conductor, [this] { issue(); });
  executable_ = instantiate(calls_, graph.get());
  check(calls_, calls_.upload(executable_.get(), conductor), "uploading a graph");
}

GpuRun GpuExecutor::run() {
  const auto before = std::chrono::steady_clock::now();
  if (executable_) {
    check(calls_, calls_.launch_graph(executable_.get(), device_.conductor()), "launching a graph");
  } else {
    issue();
  }
  const std::chrono::nanoseconds issuing = std::chrono::steady_clock::now() - before;
  check(calls_, calls_.synchronize(device_.conductor()), "running all tasks");
  GpuRun run;
  run.issue_ns = static_cast<std::uint64_t>(issuing.count());
  const std::size_t tasks = program_.tasks.size();
  run.begin_ns.resize(tasks);
  run.end_ns.resize(tasks);
  check(calls_, calls_.read(run.begin_ns.data(), begin_ns_.get(), tasks * 8), "reading stamps");
  check(calls_, calls_.read(run.end_ns.data(), end_ns_.get(), tasks * 8), "reading stamps");
  return run;
}

void GpuExecutor::issue() {
  clear_stamps();
  fork();
  for (std::uint32_t task = 0; task < program_.tasks.size(); ++task) issue_task(task);
  join();
}

void GpuExecutor::clear_stamps() {
  const GpuStream conductor = device_.conductor();
  const std::size_t bytes = program_.tasks.size() * 8;
  check(calls_, calls_.fill(begin_ns_.get(), 0xff, bytes, conductor), "clearing stamps");
  check(calls_, calls_.fill(end_ns_.get(), 0, bytes, conductor), "clearing stamps");
}

void GpuExecutor::fork() {
  check(calls_, calls_.record(start_.get(), device_.conductor()), "starting all lanes");
  for (std::uint32_t lane = 0; lane < program_.lanes(); ++lane) {
    if (!in_use_[lane]) continue;
    check(calls_, calls_.wait(device_.lane(lane), start_.get()), "starting lane", lane);
  }
}

void GpuExecutor::join() {
  for (std::uint32_t lane = 0; lane < program_.lanes(); ++lane) {
    if (!in_use_[lane]) continue;
    const GpuEvent end = lane_end_[lane].get();
    check(calls_, calls_.record(end, device_.lane(lane)), "ending lane", lane);
    check(calls_, calls_.wait(device_.conductor(), end), "ending lane", lane);
  }
}

void GpuExecutor::issue_task(std::uint32_t task) {
  const GpuTask& what = program_.tasks[task];
  const GpuStream lane = device_.lane(what.lane);
  for (const std::uint32_t input : what.inputs) {
    if (program_.tasks[input].lane == what.lane) continue;
    check(calls_, calls_.wait(lane, done_[input].get()), "waiting before task", task);
  }
  check(calls_, launch(task), "launching task", task);
  if (done_[task]) check(calls_, calls_.record(done_[task].get(), lane), "ending task", task);
}

int GpuExecutor::launch(std::uint32_t task) {
  const GpuTask& what = program_.tasks[task];
  const GpuStream lane = device_.lane(what.lane);
  if (!program_.is_transfer(what)) {
    auto* const seen = static_cast<unsigned char*>(sms_seen_.get()) + what.lane * most_sm_ids;
    return calls_.launch_action(lane, {kernel_task(task), device_.sms_of_rank(), seen});
  }
  const LinkBuffers& buffers = buffers_[what.lane - program_.ranks];
  const LinkEngine engine = device_.links();
  return calls_.launch_copy(
      lane, {kernel_task(task), what.latency_ns, engine.blocks, engine.threads, buffers.from.get(),
             buffers.to.get(), what.bytes, buffers.bytes});
}

GpuKernelTask GpuExecutor::kernel_task(std::uint32_t task) const {
  const GpuTask& what = program_.tasks[task];
  return {static_cast<std::uint64_t*>(begin_ns_.get()),
          static_cast<std::uint64_t*>(end_ns_.get()),
          static_cast<const std::uint32_t*>(inputs_.get()) + first_input_[task],
          static_cast<std::uint32_t>(what.inputs.size()),
          task,
          what.duration_ns};
}

std::vector<std::vector<std::uint32_t>> GpuExecutor::sms_seen() const {
  std::vector<unsigned char> seen(std::size_t{program_.ranks} * most_sm_ids);
  check(calls_, calls_.read(seen.data(), sms_seen_.get(), seen.size()), "reading what SMs ran");
  std::vector<std::vector<std::uint32_t>> ids(program_.ranks);
  for (std::uint32_t at = 0; at < seen.size(); ++at) {
    if (seen[at] != 0) ids[at / most_sm_ids].push_back(at % most_sm_ids);
  }
  return ids;
}

}  // namespace penstock
