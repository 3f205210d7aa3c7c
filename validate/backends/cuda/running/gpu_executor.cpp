#include "validate/backends/cuda/running/gpu_executor.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t no_graph = UINT32_MAX;

std::vector<char> lanes_in_use(const GpuProgram& program) {
  std::vector<char> in_use(program.lanes());
  for (const GpuTask& task : program.tasks) in_use.at(task.lane) = 1;
  return in_use;
}

std::vector<std::vector<std::uint32_t>> queues_of(const std::vector<GpuActionGraph>& graphs) {
  std::vector<std::vector<std::uint32_t>> queues;
  for (const GpuActionGraph& graph : graphs) queues.push_back(graph.tasks);
  return queues;
}

std::vector<std::uint32_t> graph_of_tasks(const GpuProgram& program,
                                          const std::vector<GpuActionGraph>& graphs) {
  std::vector<std::uint32_t> graph_of(program.tasks.size(), no_graph);
  for (std::uint32_t graph = 0; graph < graphs.size(); ++graph) {
    for (const std::uint32_t task : graphs[graph].tasks) graph_of[task] = graph;
  }
  return graph_of;
}

std::vector<std::vector<std::uint32_t>> outputs_of(const GpuProgram& program) {
  std::vector<std::vector<std::uint32_t>> outputs(program.tasks.size());
  for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
    if (program.is_copy(program.tasks[task])) {
      outputs[producer_of(program, task)].push_back(task);
    }
  }
  return outputs;
}

}  // namespace

GpuExecutor::GpuExecutor(const GpuDevice& device, GpuProgram program, const GpuRunSetup& setup)
    : device_(device),
      calls_(device.calls()),
      program_(std::move(program)),
      setup_(setup),
      in_use_(lanes_in_use(program_)),
      graphs_(setup.ordering == GpuOrdering::host_graphs ? action_graphs(program_)
                                                         : std::vector<GpuActionGraph>{}),
      graph_of_(graph_of_tasks(program_, graphs_)),
      outputs_(outputs_of(program_)),
      table_(device, program_, queues_of(graphs_), setup.stamped),
      transfers_(device, program_, setup.links, setup.checked),
      messages_(device, program_, setup.comms),
      actions_(device, program_, messages_),
      start_(make_event(calls_)),
      begin_(make_timer(calls_)),
      end_(make_timer(calls_)),
      executable_(nullptr, calls_.free_executable) {
  make_events();
  check(calls_, calls_.synchronize(device_.conductor()), "making ready to run");
  make_action_graphs();
  if (setup_.ordering == GpuOrdering::graph) make_graph();
  check(calls_, calls_.synchronize(device_.conductor()), "making ready to run");
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

void GpuExecutor::make_action_graphs() {
  for (std::uint32_t number = 0; number < graphs_.size(); ++number) {
    const GpuActionGraph& action = graphs_[number];
    const GpuStream lane = device_.lane(action.lane);
    const GpuOwner<GpuGraphTag> graph = captured(
        calls_, lane, [&] { actions_.launch(action.tasks.front(), table_.of_queue(number)); });
    executables_.push_back(instantiate(calls_, graph.get()));
    check(calls_, calls_.upload(executables_.back().get(), lane), "uploading the graph of task",
          action.tasks.front());
    check(calls_, calls_.synchronize(lane), "uploading the graph of task", action.tasks.front());
  }
}

void GpuExecutor::make_graph() {
  const std::string& why_not = device_.why_no_graph();
  if (!why_not.empty()) throw GpuError("no graph of all lanes: " + why_not);
  const GpuStream conductor = device_.conductor();
  const GpuOwner<GpuGraphTag> graph = captured(calls_, conductor, [this] { issue(); });
  executable_ = instantiate(calls_, graph.get());
  check(calls_, calls_.upload(executable_.get(), conductor), "uploading a graph");
}

GpuRun GpuExecutor::run() {
  messages_.clear();
  const GpuStream conductor = device_.conductor();
  const auto before = std::chrono::steady_clock::now();
  check(calls_, calls_.record(begin_.get(), conductor), "beginning a run");
  if (executable_) {
    check(calls_, calls_.launch_graph(executable_.get(), conductor), "launching a graph");
  } else {
    issue();
  }
  check(calls_, calls_.record(end_.get(), conductor), "ending a run");
  const std::chrono::nanoseconds issuing = std::chrono::steady_clock::now() - before;
  check(calls_, calls_.synchronize(conductor), "running all tasks");
  GpuRun run;
  run.issue_ns = static_cast<std::uint64_t>(issuing.count());
  float ms = 0;
  check(calls_, calls_.elapsed(&ms, begin_.get(), end_.get()), "asking how long a run took");
  run.elapsed_ns = 1e6 * static_cast<double>(ms);
  table_.read(run);
  run.wrong = messages_.wrong();
  return run;
}

std::optional<std::uint32_t> GpuExecutor::unfinished() const {
  GpuRun run;
  try {
    table_.read(run);
  } catch (const GpuError&) {
    return std::nullopt;  // the GPU itself has failed
  }
  const auto found = std::find(run.end_ns.begin(), run.end_ns.end(), 0U);
  if (found == run.end_ns.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - run.end_ns.begin());
}

void GpuExecutor::issue() {
  table_.clear(device_.conductor());
  messages_.meet(device_.conductor(), table_);
  fork();
  for (std::uint32_t task = 0; task < program_.tasks.size(); ++task) issue_task(task);
  join();
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
  if (setup_.checked) check_inputs(task);
  launch(task);
  if (setup_.checked && !program_.is_transfer(what)) write_outputs(task);
  if (done_[task]) check(calls_, calls_.record(done_[task].get(), lane), "ending task", task);
}

void GpuExecutor::launch(std::uint32_t task) {
  try {
    launch_on_lane(task);
  } catch (const GpuError& error) {
    throw GpuError(error.what() + ("; " + task_text(program_, task)));
  }
}

void GpuExecutor::launch_on_lane(std::uint32_t task) {
  const GpuTask& what = program_.tasks[task];
  if (!what.calls.empty()) return messages_.launch(task, table_);
  if (program_.is_transfer(what)) return transfers_.launch(task, table_.of_task(task));
  if (graph_of_[task] == no_graph) return actions_.launch(task, table_.of_task(task));
  const GpuExecutable executable = executables_[graph_of_[task]].get();
  check(calls_, calls_.launch_graph(executable, device_.lane(what.lane)),
        "launching the graph of task", task);
}

/// Before a task: the contents of the tensors that it reads; of a transfer without an action that
/// makes it, its own content to send.
void GpuExecutor::check_inputs(std::uint32_t task) {
  const GpuTask& what = program_.tasks[task];
  const GpuStream lane = device_.lane(what.lane);
  for (const std::uint32_t input : what.inputs) {
    if (program_.is_copy(program_.tasks[input])) transfers_.check_content(input, lane);
  }
  if (program_.is_copy(what)) write_outputs(task);
}

void GpuExecutor::write_outputs(std::uint32_t task) {
  const GpuStream lane = device_.lane(program_.tasks[task].lane);
  for (const std::uint32_t transfer : outputs_[task]) transfers_.write_content(transfer, lane);
}

}  // namespace penstock
