#include "validate/backends/cuda/running/gpu_transfers.hpp"

#include <algorithm>
#include <bit>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

// Larger tensors cycle through a buffer of this size.
constexpr std::uint64_t most_buffer_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t least_buffer_bytes = 64;
constexpr std::uint64_t most_ring_bytes = std::uint64_t{8} << 30;  // of all links
constexpr std::uint64_t word_bytes = 16;

/// The size of each buffer, by link.
std::vector<std::uint64_t> buffer_sizes(const GpuProgram& program, const TransferSlots& slots,
                                        std::uint64_t most) {
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
  if (all <= most_ring_bytes || most <= least_buffer_bytes) return bytes;
  return buffer_sizes(program, slots, most / 2);
}

std::size_t slot_bytes(std::uint64_t bytes, std::uint32_t count) {
  return bytes * std::max(count, 1U);
}

}  // namespace

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
  const std::vector<std::uint64_t> sizes = buffer_sizes(program_, slots_, most_buffer_bytes);
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
