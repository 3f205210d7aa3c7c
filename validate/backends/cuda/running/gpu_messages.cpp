#include "validate/backends/cuda/running/gpu_messages.hpp"

#include <algorithm>
#include <stdexcept>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr std::size_t name_bytes = 16;
constexpr std::uint64_t meeting_bytes = 256;
constexpr std::uint64_t no_run = 0;

bool has_calls(const GpuProgram& program) {
  return std::any_of(program.tasks.begin(), program.tasks.end(),
                     [](const GpuTask& task) { return !task.calls.empty(); });
}

const GpuCall* find_call(const GpuTask& task, CommKind kind) {
  const auto found = std::find_if(task.calls.begin(), task.calls.end(),
                                  [&](const GpuCall& call) { return call.kind == kind; });
  return found == task.calls.end() ? nullptr : &*found;
}

}  // namespace

GpuRings rings_of(const GpuProgram& program) {
  constexpr std::uint64_t alignment = 256;
  GpuRings rings{std::vector<GpuRing>(program.links), std::vector<GpuRing>(program.links)};
  for (const GpuTask& task : program.tasks) {
    for (const GpuCall& call : task.calls) {
      const auto use = [&](std::vector<GpuRing>& all) {
        GpuRing& ring = all[task.lane - program.ranks];
        ring.step = std::max(ring.step, (call.bytes + alignment - 1) / alignment * alignment);
        ring.slots = std::max(ring.slots, call.slot + 1);
      };
      if (call.kind != CommKind::receive) use(rings.sent);
      if (call.kind != CommKind::send) use(rings.received);
    }
  }
  return rings;
}

std::uint64_t GpuRings::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto* const rings : {&sent, &received}) {
    for (const GpuRing& ring : *rings) bytes += ring.step * ring.slots;
  }
  return bytes;
}

GpuMessages::GpuMessages(const GpuDevice& device, const GpuProgram& program, const GpuComms* comms)
    : device_(device),
      calls_(device.calls()),
      program_(program),
      comms_(comms == nullptr ? GpuComms{} : *comms),
      used_(has_calls(program)),
      names_(nullptr, calls_.free_memory),
      found_(nullptr, calls_.free_memory),
      meeting_(nullptr, calls_.free_memory),
      sms_seen_(nullptr, calls_.free_memory) {
  if (!used_) return;
  if (comms == nullptr) throw std::logic_error("calls of NCCL need communicators");
  names_ = make_memory(calls_, program_.tasks.size() * name_bytes);
  found_ = make_memory(calls_, program_.tasks.size() * name_bytes);
  meeting_ = make_memory(calls_, meeting_bytes);
  sms_seen_ = make_memory(calls_, most_sm_ids);
  const GpuRings rings = rings_of(program_);
  sent_ = made(rings.sent);
  received_ = made(rings.received);
}

std::byte* GpuMessages::Ring::at(std::uint32_t slot) const {
  return static_cast<std::byte*>(memory.get()) + slot * step;
}

std::vector<GpuMessages::Ring> GpuMessages::made(const std::vector<GpuRing>& rings) const {
  std::vector<Ring> all;
  for (const GpuRing& ring : rings) {
    all.push_back({ring.step, {nullptr, calls_.free_memory}});
    if (ring.step == 0) continue;
    all.back().memory = make_memory(calls_, ring.slots * ring.step);
    check(calls_,
          calls_.fill(all.back().memory.get(), 0, ring.slots * ring.step, device_.conductor()),
          "filling the buffers of link", static_cast<std::uint32_t>(all.size() - 1));
  }
  return all;
}

void GpuMessages::clear() {
  if (!used_) return;
  ++runs_;
  std::vector<Name> names(program_.tasks.size());
  for (std::size_t task = 0; task < names.size(); ++task) {
    const GpuCall* const sent = find_call(program_.tasks[task], CommKind::send);
    if (sent != nullptr) names[task] = {runs_, sent->name};
  }
  const std::size_t bytes = names.size() * name_bytes;
  check(calls_, calls_.write(names_.get(), names.data(), bytes), "writing names of tensors");
  check(calls_, calls_.fill(found_.get(), 0, bytes, device_.conductor()),
        "clearing names of tensors");
}

void GpuMessages::meet(GpuStream stream, const GpuTaskTable& table) const {
  if (!used_) return;
  stamp(stream, table.of_lead());
  check(*comms_.nccl,
        comms_.nccl->all_reduce(meeting_.get(), meeting_.get(), 8, nccl_uint8, nccl_sum,
                                comms_.world, stream),
        "beginning together", comms_.world);
}

/// Between a stamp before and one after, which also move names.
void GpuMessages::launch(std::uint32_t task, const GpuTaskTable& table) const {
  const GpuTask& what = program_.tasks[task];
  const std::uint32_t link = what.lane - program_.ranks;
  const GpuStream lane = device_.lane(what.lane);
  const NcclCalls& nccl = *comms_.nccl;
  if (const GpuCall* const sent = find_call(what, CommKind::send)) {
    move_name(lane, table.of_task(task), name_at(names_, task), sent_[link].at(sent->slot));
  } else {
    stamp(lane, table.of_task(task));
  }
  check(nccl, nccl.group_start(), "beginning a group", nullptr);
  for (const GpuCall& one : what.calls) call(link, one, lane);
  check(nccl, nccl.group_end(), "issuing a group", comms_.of_link[link]);
  if (const GpuCall* const received = find_call(what, CommKind::receive)) {
    move_name(lane, table.after(task), received_[link].at(received->slot), name_at(found_, task));
  } else {
    stamp(lane, table.after(task));
  }
}

void GpuMessages::call(std::uint32_t link, const GpuCall& call, GpuStream stream) const {
  const NcclCalls& nccl = *comms_.nccl;
  const NcclComm comm = comms_.of_link[link];
  void* const from = call.kind == CommKind::receive ? nullptr : sent_[link].at(call.slot);
  void* const to = call.kind == CommKind::send ? nullptr : received_[link].at(call.slot);
  const auto peer = static_cast<int>(call.peer);
  const std::size_t words = call.bytes / 2;
  const std::size_t share = std::max<std::size_t>(words / call.ranks, 1);
  const auto error = [&] {
    switch (call.kind) {
      case CommKind::send:
        return nccl.send(from, call.bytes, nccl_uint8, peer, comm, stream);
      case CommKind::receive:
        return nccl.recv(to, call.bytes, nccl_uint8, peer, comm, stream);
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

/// A kernel of one thread that waits for the time of its record.
void GpuMessages::stamp(GpuStream stream, const GpuKernelTask& task) const {
  GpuActionKernel kernel{};
  kernel.task = task;
  kernel.work = GpuWork::spin;
  kernel.blocks = 1;
  kernel.threads = 32;
  kernel.sms_seen = static_cast<unsigned char*>(sms_seen_.get());
  check(calls_, calls_.launch_action(stream, kernel), "launching a stamp");
}

void GpuMessages::move_name(GpuStream stream, const GpuKernelTask& task, const void* from,
                            void* to) const {
  check(calls_, calls_.launch_copy(stream, {task, 1, 32, from, to, name_bytes, name_bytes}),
        "launching a stamp");
}

void* GpuMessages::name_at(const GpuOwner<void>& names, std::uint32_t task) const {
  return static_cast<std::byte*>(names.get()) + task * name_bytes;
}

std::optional<GpuWrongTensor> GpuMessages::wrong() const {
  if (!used_) return std::nullopt;
  std::vector<Name> found(program_.tasks.size());
  check(calls_, calls_.read(found.data(), found_.get(), found.size() * name_bytes),
        "reading names of tensors");
  for (std::size_t task = 0; task < found.size(); ++task) {
    const GpuCall* const received = find_call(program_.tasks[task], CommKind::receive);
    if (received == nullptr) continue;
    if (found[task].run == runs_ && found[task].tensor == received->name) continue;
    GpuWrongTensor wrong{received->name, {}};
    if (found[task].run != no_run) wrong.brought = static_cast<std::uint32_t>(found[task].tensor);
    return wrong;
  }
  return std::nullopt;
}

void GpuMessages::take(const GpuTensor& tensor, const GpuStageEnds& ends, GpuStream stream) const {
  const std::byte* const from = received_[tensor.link].at(tensor.slot) + name_bytes;
  check(calls_,
        calls_.copy_within(ends.in, from, std::min(ends.bytes, tensor.bytes - name_bytes), stream),
        "copying what layers read");
}

void GpuMessages::give(const GpuTensor& tensor, const GpuStageEnds& ends, GpuStream stream) const {
  std::byte* const to = sent_[tensor.link].at(tensor.slot) + name_bytes;
  check(calls_,
        calls_.copy_within(to, ends.out, std::min(ends.bytes, tensor.bytes - name_bytes), stream),
        "copying what layers made");
}

}  // namespace penstock
