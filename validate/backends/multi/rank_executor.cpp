#include "validate/backends/multi/rank_executor.hpp"

#include <algorithm>
#include <utility>

#include "validate/backends/cuda/gpu_error.hpp"
#include "validate/backends/multi/aligned_clock.hpp"
#include "validate/backends/nccl/nccl_error.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t meeting_bytes = 256;
constexpr std::uint64_t no_run = 0;

/// Two stamps per item, and one of the kernel that holds the GPU.
GpuOwner<void> stamp_memory(const GpuCalls& calls, const RankWork& work) {
  return make_memory(calls, (work.items.size() * 2 + 1) * 8);
}

/// How long the GPU waits while the host gets ahead.
std::uint64_t lead_ns(const RankWork& work) {
  constexpr std::uint64_t of_item = 5'000;
  constexpr std::uint64_t most = 20'000'000;
  return std::min(of_item * work.items.size(), most);
}

/// By slot: two per item, then the kernel that holds the GPU.
GpuOwner<void> record_memory(const GpuCalls& calls, const RankWork& work) {
  std::vector<GpuTaskRecord> records(work.items.size() * 2 + 1);
  for (std::size_t item = 0; item < work.items.size(); ++item) {
    records[2 * item].duration_ns = work.duration_ns[item];
  }
  records.back().duration_ns = lead_ns(work);
  GpuOwner<void> memory = make_memory(calls, records.size() * sizeof(GpuTaskRecord));
  check(calls, calls.write(memory.get(), records.data(), records.size() * sizeof(GpuTaskRecord)),
        "writing the times of tasks");
  return memory;
}

GpuOwner<void> tag_memory(const GpuCalls& calls, const RankWork& work) {
  return make_memory(calls, std::max<std::size_t>(work.items.size(), 1) * tag_bytes);
}

const CommOp* find_op(const RankItem& item, CommKind kind) {
  const auto found = std::find_if(item.group.begin(), item.group.end(),
                                  [&](const CommOp& op) { return op.kind == kind; });
  return found == item.group.end() ? nullptr : &*found;
}

std::byte* tag_at(const GpuOwner<void>& memory, std::uint32_t item) {
  return static_cast<std::byte*>(memory.get()) + item * tag_bytes;
}

}  // namespace

RankExecutor::RankExecutor(const RankDevice& device, const RankCommunicators& communicators,
                           const RankActions& actions, RankWork work)
    : device_(device),
      communicators_(communicators),
      actions_(actions),
      gpu_(device.gpu()),
      work_(std::move(work)),
      begin_ns_(stamp_memory(gpu_, work_)),
      end_ns_(stamp_memory(gpu_, work_)),
      records_(record_memory(gpu_, work_)),
      sms_seen_(make_memory(gpu_, most_sm_ids)),
      tags_(tag_memory(gpu_, work_)),
      found_(tag_memory(gpu_, work_)),
      meeting_(make_memory(gpu_, meeting_bytes)),
      buffers_(device, work_),
      start_(make_event(gpu_)) {
  make_events();
}

void RankExecutor::make_events() {
  for (std::size_t item = 0; item < work_.items.size(); ++item) {
    done_.emplace_back(nullptr, gpu_.free_event);
  }
  for (const RankItem& item : work_.items) {
    for (const std::uint32_t wait : item.waits) {
      if (!done_[wait] && !shares_stream(item, work_.items[wait])) done_[wait] = make_event(gpu_);
    }
  }
}

GpuStream RankExecutor::stream_of(const RankItem& item) const {
  const bool own = item.is_action() || work_.in_one_stream;
  return own ? device_.compute() : device_.channel(item.channel);
}

bool RankExecutor::shares_stream(const RankItem& a, const RankItem& b) const {
  return stream_of(a) == stream_of(b);
}

RankRun RankExecutor::run() {
  ++runs_;
  AlignedClock clock;
  clock.begin = device_.anchor();
  clear();
  begin_together();
  for (std::uint32_t item = 0; item < work_.items.size(); ++item) issue(item);
  await_all();
  clock.end = device_.anchor();
  RankRun run{.uncertainty_ns = clock.uncertainty_ns()};
  const auto begins = stamps(begin_ns_);
  const auto ends = stamps(end_ns_);
  const auto host = [&](std::uint64_t ns) { return clock.own_ns(static_cast<std::int64_t>(ns)); };
  for (std::size_t item = 0; item < work_.items.size(); ++item) {
    const RankItem& what = work_.items[item];
    const std::size_t slot = 2 * item;
    if (what.is_action()) {
      for (const TaskId task : {what.action, what.beside}) {
        if (task != no_task) run.stamps.push_back({task, host(begins[slot]), host(ends[slot])});
      }
    }
    for (const CommOp& op : what.group) {
      run.stamps.push_back({op.task, host(ends[slot]), host(begins[slot + 1])});
    }
  }
  check_tags(run);
  return run;
}

void RankExecutor::clear() {
  const std::size_t bytes = work_.items.size() * 2 * 8;
  const GpuStream stream = device_.compute();
  check(gpu_, gpu_.fill(begin_ns_.get(), 0xff, bytes, stream), "clearing stamps");
  check(gpu_, gpu_.fill(end_ns_.get(), 0, bytes, stream), "clearing stamps");
  check(gpu_, gpu_.fill(found_.get(), 0, work_.items.size() * tag_bytes, stream), "clearing tags");
  std::vector<Tag> tags(work_.items.size());
  for (std::size_t item = 0; item < tags.size(); ++item) {
    const CommOp* const sent = find_op(work_.items[item], CommKind::send);
    if (sent != nullptr) tags[item] = {runs_, sent->task};
  }
  if (tags.empty()) return;
  check(gpu_, gpu_.write(tags_.get(), tags.data(), tags.size() * tag_bytes), "writing tags");
}

/// The GPU waits while the host gets ahead, then for all other ranks.
void RankExecutor::begin_together() {
  const GpuStream stream = device_.compute();
  const auto hold = static_cast<std::uint32_t>(2 * work_.items.size());
  stamp(hold, stream);
  check(communicators_.nccl(),
        communicators_.nccl().all_reduce(meeting_.get(), meeting_.get(), 8, nccl_uint8, nccl_sum,
                                         communicators_.world(), stream),
        "beginning together", communicators_.world());
  check(gpu_, gpu_.record(start_.get(), stream), "beginning together");
  for (std::uint32_t channel = 0; channel < buffers_.channels(); ++channel) {
    if (!buffers_.is_used(channel) || work_.in_one_stream) continue;
    check(gpu_, gpu_.wait(device_.channel(channel), start_.get()), "beginning on channel", channel);
  }
}

void RankExecutor::issue(std::uint32_t item) {
  const RankItem& what = work_.items[item];
  const GpuStream stream = stream_of(what);
  for (const std::uint32_t wait : what.waits) {
    if (shares_stream(what, work_.items[wait])) continue;
    check(gpu_, gpu_.wait(stream, done_[wait].get()), "waiting before item", item);
  }
  if (what.is_action()) {
    launch_action(item);
  } else {
    issue_group(item);
  }
  if (done_[item]) check(gpu_, gpu_.record(done_[item].get(), stream), "ending item", item);
}

/// Products and layers of all parts of a cell have their stamps around them, with the copies of
/// tensors from and to the buffers of channels.
void RankExecutor::launch_action(std::uint32_t item) {
  const auto& parts = work_.actions[item];
  const GpuKernelTask stamps = kernel_task(2 * item);
  const GpuActions& launched = actions_.launched();
  const auto is_of_library = [&](const RankAction& part) {
    return launched.is_of_library(part.task);
  };
  if (parts.empty()) return stamp(2 * item, device_.compute());
  if (std::none_of(parts.begin(), parts.end(), is_of_library)) {
    return launched.launch(parts.front().task, stamps);
  }
  check(gpu_, gpu_.launch_begin(device_.compute(), stamps), "beginning item", item);
  for (const RankAction& part : parts) {
    if (!is_of_library(part)) continue;
    take_tensors(item, part);
    launched.launch_unstamped(part.task);
    give_tensors(item, part);
  }
  check(gpu_, gpu_.launch_end(device_.compute(), stamps, false), "ending item", item);
}

void RankExecutor::take_tensors(std::uint32_t item, const RankAction& action) {
  const auto ends = actions_.launched().ends(action.task);
  if (!ends) return;
  if (action.reads) take_tensor(item, *action.reads, *ends);
  if (action.reads_from) hand_on(item, *action.reads_from, action.task);
}

void RankExecutor::give_tensors(std::uint32_t item, const RankAction& action) {
  const auto ends = actions_.launched().ends(action.task);
  if (!ends) return;
  for (const RankTensor& made : action.makes) give_tensor(item, made, *ends);
  if (action.writes_into) hand_on(item, action.task, *action.writes_into);
}

/// From a stage to the next one of this rank.
void RankExecutor::hand_on(std::uint32_t item, std::uint32_t from, std::uint32_t to) {
  const auto made = actions_.launched().ends(from);
  const auto wanted = actions_.launched().ends(to);
  if (!made || !wanted) return;
  check(gpu_, gpu_.copy_within(wanted->in, made->out, made->bytes, device_.compute()),
        "copying between stages at item", item);
}

/// As much of a tensor as has room behind its tag.
void RankExecutor::take_tensor(std::uint32_t item, const RankTensor& tensor,
                               const GpuStageEnds& ends) {
  const std::byte* const from = buffers_.received(tensor.channel, tensor.slot) + tag_bytes;
  const std::uint64_t bytes = std::min(ends.bytes, moved_bytes(tensor.bytes) - tag_bytes);
  check(gpu_, gpu_.copy_within(ends.in, from, bytes, device_.compute()),
        "copying what layers read before item", item);
}

void RankExecutor::give_tensor(std::uint32_t item, const RankTensor& tensor,
                               const GpuStageEnds& ends) {
  std::byte* const to = buffers_.sent(tensor.channel, tensor.slot) + tag_bytes;
  const std::uint64_t bytes = std::min(ends.bytes, moved_bytes(tensor.bytes) - tag_bytes);
  check(gpu_, gpu_.copy_within(to, ends.out, bytes, device_.compute()),
        "copying what layers made behind item", item);
}

/// Between a stamp before and one after, which also move tags.
void RankExecutor::issue_group(std::uint32_t item) {
  const RankItem& what = work_.items[item];
  const GpuStream stream = stream_of(what);
  const NcclCalls& nccl = communicators_.nccl();
  if (const CommOp* const sent = find_op(what, CommKind::send)) {
    move_tag(2 * item, stream, tag_at(tags_, item), sent_from(item, *sent));
  } else {
    stamp(2 * item, stream);
  }
  check(nccl, nccl.group_start(), "beginning a group", nullptr);
  for (const CommOp& op : what.group) call(item, op);
  check(nccl, nccl.group_end(), "issuing a group", communicators_.of(what.channel));
  if (const CommOp* const received = find_op(what, CommKind::receive)) {
    move_tag(2 * item + 1, stream, received_in(item, *received), tag_at(found_, item));
  } else {
    stamp(2 * item + 1, stream);
  }
}

std::uint32_t RankExecutor::slot_of(std::uint32_t item, const CommOp& op) const {
  if (work_.slots.empty()) return 0;
  return work_.slots[item][static_cast<std::size_t>(&op - work_.items[item].group.data())];
}

std::byte* RankExecutor::sent_from(std::uint32_t item, const CommOp& op) const {
  return buffers_.sent(work_.items[item].channel, slot_of(item, op));
}

std::byte* RankExecutor::received_in(std::uint32_t item, const CommOp& op) const {
  return buffers_.received(work_.items[item].channel, slot_of(item, op));
}

void RankExecutor::call(std::uint32_t item, const CommOp& op) {
  const std::uint32_t channel = work_.items[item].channel;
  const NcclCalls& nccl = communicators_.nccl();
  const NcclComm comm = communicators_.of(channel);
  const GpuStream stream = work_.in_one_stream ? device_.compute() : device_.channel(channel);
  const bool sends = op.kind != CommKind::receive;
  const bool receives = op.kind != CommKind::send;
  void* const from = sends ? sent_from(item, op) : nullptr;
  void* const to = receives ? received_in(item, op) : nullptr;
  const Channel& own = work_.channels[channel];
  const std::size_t bytes = moved_bytes(op.bytes);
  const std::size_t words = bytes / 2;
  const std::size_t share = std::max<std::size_t>(words / own.members.size(), 1);
  const auto error = [&] {
    switch (op.kind) {
      case CommKind::send:
        return nccl.send(from, bytes, nccl_uint8, static_cast<int>(own.position_of(op.peer)), comm,
                         stream);
      case CommKind::receive:
        return nccl.recv(to, bytes, nccl_uint8, static_cast<int>(own.position_of(op.peer)), comm,
                         stream);
      case CommKind::all_reduce:
        return nccl.all_reduce(from, to, words, nccl_bfloat16, nccl_sum, comm, stream);
      case CommKind::reduce_scatter:
        return nccl.reduce_scatter(from, to, share, nccl_bfloat16, nccl_sum, comm, stream);
      default:
        return nccl.all_gather(from, to, share, nccl_bfloat16, comm, stream);
    }
  }();
  check(nccl, error, "calling NCCL", comm);
}

void RankExecutor::stamp(std::uint32_t slot, GpuStream stream) {
  GpuActionKernel kernel{};
  kernel.task = kernel_task(slot);
  kernel.work = GpuWork::spin;
  kernel.blocks = 1;
  kernel.threads = 32;
  kernel.sms_seen = static_cast<unsigned char*>(sms_seen_.get());
  check(gpu_, gpu_.launch_action(stream, kernel), "launching item", slot / 2);
}

void RankExecutor::move_tag(std::uint32_t slot, GpuStream stream, const void* from, void* to) {
  constexpr std::uint32_t threads = 32;
  const GpuCopyKernel kernel{kernel_task(slot), 1, threads, from, to, tag_bytes, tag_bytes};
  check(gpu_, gpu_.launch_copy(stream, kernel), "launching item", slot / 2);
}

GpuKernelTask RankExecutor::kernel_task(std::uint32_t slot) const {
  GpuKernelTask task{};
  task.begin_ns = static_cast<std::uint64_t*>(begin_ns_.get());
  task.end_ns = static_cast<std::uint64_t*>(end_ns_.get());
  task.records = static_cast<const GpuTaskRecord*>(records_.get());
  task.task = slot;
  task.stamped = true;
  return task;
}

void RankExecutor::await_all() {
  check(gpu_, gpu_.synchronize(device_.compute()), "running all actions");
  for (std::uint32_t channel = 0; channel < buffers_.channels(); ++channel) {
    if (!buffers_.is_used(channel)) continue;
    check(gpu_, gpu_.synchronize(device_.channel(channel)), "running channel", channel);
  }
  if (communicators_.is_aborted()) throw NcclError("communication was aborted");
}

void RankExecutor::check_tags(RankRun& run) const {
  std::vector<Tag> found(work_.items.size());
  if (found.empty()) return;
  check(gpu_, gpu_.read(found.data(), found_.get(), found.size() * tag_bytes), "reading tags");
  for (std::size_t item = 0; item < found.size() && !run.wrong; ++item) {
    const CommOp* const received = find_op(work_.items[item], CommKind::receive);
    if (received == nullptr) continue;
    if (found[item].run == runs_ && found[item].task == received->task) continue;
    run.wrong = received->task;
    if (found[item].run != no_run) run.brought = static_cast<TaskId>(found[item].task);
  }
}

std::optional<TaskId> RankExecutor::unfinished() const {
  try {
    const auto begins = stamps(begin_ns_);
    const auto ends = stamps(end_ns_);
    for (std::size_t item = 0; item < work_.items.size(); ++item) {
      const RankItem& what = work_.items[item];
      if (what.is_action() ? ends[2 * item] != 0 : begins[2 * item + 1] != UINT64_MAX) continue;
      return what.is_action() ? what.action : what.group.front().task;
    }
  } catch (const GpuError&) {
    return std::nullopt;  // the GPU itself has failed
  }
  return std::nullopt;
}

std::vector<std::uint64_t> RankExecutor::stamps(const GpuOwner<void>& of) const {
  std::vector<std::uint64_t> all(work_.items.size() * 2);
  if (all.empty()) return all;
  check(gpu_, gpu_.read(all.data(), of.get(), all.size() * 8), "reading stamps");
  return all;
}

}  // namespace penstock
