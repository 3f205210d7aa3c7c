#include "validate/backends/cuda/running/gpu_executor.hpp"

#include <algorithm>
#include <bit>
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

// Larger tensors cycle through a buffer of this size.
constexpr std::uint64_t most_buffer_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t least_buffer_bytes = 64;
constexpr std::uint64_t word_bytes = 16;

/// The size of each buffer, by link: at most `most`, and less where all would take more than
/// `most_of_all`.
std::vector<std::uint64_t> buffer_sizes(const GpuProgram& program, const TransferSlots& slots,
                                        std::uint64_t most, std::uint64_t most_of_all) {
  std::vector<std::uint64_t> bytes(program.links, least_buffer_bytes);
  for (const GpuTask& task : program.tasks) {
    if (!program.is_copy(task)) continue;
    std::uint64_t& own = bytes[task.lane - program.ranks];
    own = std::max(own, std::bit_ceil(std::min(task.bytes, most)));
  }
  std::uint64_t all = 0;
  for (std::uint32_t link = 0; link < program.links; ++link) {
    all += bytes[link] * (slots.from_count[link] + slots.to_count[link]);
  }
  if (all <= most_of_all || most <= least_buffer_bytes) return bytes;
  return buffer_sizes(program, slots, most / 2, most_of_all);
}

std::size_t slot_bytes(std::uint64_t bytes, std::uint32_t count) {
  return bytes * std::max(count, 1U);
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
  device_.wait_for(device_.conductor(), "making ready to run");
  make_action_graphs();
  if (setup_.ordering == GpuOrdering::graph) make_graph();
  device_.wait_for(device_.conductor(), "making ready to run");
}

void GpuExecutor::make_events() {
  for (std::size_t task = 0; task < program_.tasks.size(); ++task) {
    done_.emplace_back(nullptr, calls_.free_event);
  }
  for (std::uint32_t task = 0; task < program_.tasks.size(); ++task) {
    for (const std::uint32_t before : waits_of(task)) {
      if (!done_[before]) done_[before] = device_.make_event_of(program_.tasks[before].lane);
    }
  }
  for (std::uint32_t lane = 0; lane < program_.lanes(); ++lane) {
    lane_end_.push_back(device_.make_event_of(lane));
  }
}

/// The tasks of other lanes that a task waits for by an event.
std::vector<std::uint32_t> GpuExecutor::waits_of(std::uint32_t task) const {
  const GpuTask& what = program_.tasks[task];
  std::vector<std::uint32_t> waits;
  const auto add = [&](std::uint32_t before) {
    if (program_.tasks[before].lane != what.lane) waits.push_back(before);
  };
  if (setup_.ordering != GpuOrdering::one_by_one) {
    for (const std::uint32_t input : what.inputs) add(input);
  } else if (task > 0) {
    add(task - 1);
  }
  return waits;
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
    device_.wait_for(lane, "uploading the graph of task", action.tasks.front());
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
  device_.wait_for(conductor, "running all tasks");
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
  for (const std::uint32_t before : waits_of(task)) {
    check(calls_, calls_.wait(lane, done_[before].get()), "waiting before task", task);
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

GpuTransfers::GpuTransfers(const GpuDevice& device, const GpuProgram& program, GpuLinkKind kind,
                           bool checked)
    : device_(device),
      calls_(device.calls()),
      program_(program),
      kind_(kind),
      slots_(transfer_slots(program)),
      wrong_(nullptr, calls_.free_memory) {
  if (slots_.from_count.empty()) return;
  make_rings();
  if (!checked) return;
  const std::size_t bytes = std::max<std::size_t>(program_.tasks.size(), 1) * sizeof(std::uint32_t);
  wrong_ = make_memory(calls_, bytes);
  check(calls_, calls_.fill(wrong_.get(), 0, bytes, device_.conductor()), "clearing checks");
  poison();
}

void GpuTransfers::make_rings() {
  const std::vector<std::uint64_t> sizes =
      buffer_sizes(program_, slots_, most_buffer_bytes, device_.most_link_bytes());
  for (std::uint32_t link = 0; link < program_.links; ++link) {
    const std::uint64_t bytes = sizes[link];
    const bool host = kind_ == GpuLinkKind::host;
    rings_.push_back(
        {bytes, make_memory(calls_, slot_bytes(bytes, slots_.from_count[link])),
         make_memory(calls_, slot_bytes(bytes, slots_.to_count[link])),
         host ? make_pinned(calls_, bytes) : GpuOwner<void>(nullptr, calls_.free_pinned)});
  }
}

void GpuTransfers::poison() {
  constexpr int no_content = 0xa5;
  for (std::uint32_t link = 0; link < program_.links; ++link) {
    const std::size_t bytes = slot_bytes(rings_[link].bytes, slots_.to_count[link]);
    check(calls_, calls_.fill(rings_[link].to.get(), no_content, bytes, device_.conductor()),
          "filling the buffers of link", link);
  }
}

const GpuTransfers::Ring& GpuTransfers::ring(std::uint32_t transfer) const {
  return rings_[program_.tasks[transfer].lane - program_.ranks];
}

void* GpuTransfers::from(std::uint32_t transfer) const {
  const Ring& own = ring(transfer);
  return static_cast<std::byte*>(own.from.get()) + slots_.from[transfer] * own.bytes;
}

void* GpuTransfers::to(std::uint32_t transfer) const {
  const Ring& own = ring(transfer);
  return static_cast<std::byte*>(own.to.get()) + slots_.to[transfer] * own.bytes;
}

/// The part of a tensor that has a buffer.
std::uint64_t GpuTransfers::words(std::uint32_t transfer) const {
  const std::uint64_t whole = (program_.tasks[transfer].bytes + word_bytes - 1) / word_bytes;
  return std::min(whole, ring(transfer).bytes / word_bytes);
}

void GpuTransfers::launch(std::uint32_t transfer, const GpuKernelTask& task) const {
  if (kind_ == GpuLinkKind::host) return bounce(transfer, task);
  const GpuTask& what = program_.tasks[transfer];
  const LinkEngine engine = device_.links();
  check(calls_,
        calls_.launch_copy(device_.lane(what.lane),
                           {task, engine.blocks, engine.threads, from(transfer), to(transfer),
                            what.bytes, ring(transfer).bytes}),
        "launching task", transfer);
}

/// Store and forward, a buffer at a time: the copy engines of all links contend as they do.
void GpuTransfers::bounce(std::uint32_t transfer, const GpuKernelTask& task) const {
  const GpuTask& what = program_.tasks[transfer];
  const GpuStream lane = device_.lane(what.lane);
  const Ring& own = ring(transfer);
  check(calls_, calls_.launch_begin(lane, task), "beginning task", transfer);
  for (std::uint64_t done = 0; done < what.bytes; done += own.bytes) {
    const std::uint64_t part =
        std::min((what.bytes - done + word_bytes - 1) / word_bytes * word_bytes, own.bytes);
    check(calls_, calls_.copy_out(own.pinned.get(), from(transfer), part, lane),
          "copying out, of task", transfer);
    check(calls_, calls_.copy_in(to(transfer), own.pinned.get(), part, lane), "copying in, of task",
          transfer);
  }
  check(calls_, calls_.launch_end(lane, task, true), "ending task", transfer);
}

void GpuTransfers::write_content(std::uint32_t transfer, GpuStream stream) const {
  check(calls_, calls_.launch_content(stream, {from(transfer), words(transfer), transfer, nullptr}),
        "writing the content of task", transfer);
}

void GpuTransfers::check_content(std::uint32_t transfer, GpuStream stream) const {
  auto* const wrong = static_cast<std::uint32_t*>(wrong_.get()) + transfer;
  check(calls_, calls_.launch_content(stream, {to(transfer), words(transfer), transfer, wrong}),
        "checking the content of task", transfer);
}

std::vector<std::uint32_t> GpuTransfers::wrong_words() const {
  std::vector<std::uint32_t> wrong(program_.tasks.size());
  if (!wrong_ || wrong.empty()) return wrong;
  const std::size_t bytes = wrong.size() * sizeof(std::uint32_t);
  check(calls_, calls_.read(wrong.data(), wrong_.get(), bytes), "reading checks");
  return wrong;
}

}  // namespace penstock
