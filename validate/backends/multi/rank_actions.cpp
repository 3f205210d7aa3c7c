#include "validate/backends/multi/rank_actions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "validate/backends/cuda/gpu_error.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/running/gpu_actions.hpp"
#include "validate/statistics/median.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t moved_buffer_bytes = std::uint64_t{128} << 20;  // far beyond a cache
constexpr std::uint64_t word_bytes = 16;

constexpr std::array works_of_ranks{GpuWork::spin, GpuWork::flops, GpuWork::bytes,
                                    GpuWork::products};  // by ActionWork

/// Some milliseconds on a GPU.
std::uint64_t tried_amount(GpuWork work) {
  if (work == GpuWork::products) return 64;
  return work == GpuWork::flops ? std::uint64_t{1} << 20 : std::uint64_t{1} << 26;
}

/// Memory of the stamps of one task.
struct TrialStamps {
  explicit TrialStamps(const GpuCalls& gpu)
      : begin_ns(make_memory(gpu, sizeof(std::uint64_t))),
        end_ns(make_memory(gpu, sizeof(std::uint64_t))),
        record(make_memory(gpu, sizeof(GpuTaskRecord))) {
    const GpuTaskRecord nothing{};
    check(gpu, gpu.write(record.get(), &nothing, sizeof nothing), "writing a trial");
  }

  GpuKernelTask task() const {
    GpuKernelTask task{};
    task.begin_ns = static_cast<std::uint64_t*>(begin_ns.get());
    task.end_ns = static_cast<std::uint64_t*>(end_ns.get());
    task.records = static_cast<const GpuTaskRecord*>(record.get());
    task.stamped = true;
    return task;
  }

  GpuOwner<void> begin_ns;
  GpuOwner<void> end_ns;
  GpuOwner<void> record;
};

std::uint64_t stamp_in(const GpuCalls& gpu, const GpuOwner<void>& memory) {
  std::uint64_t ns = 0;
  check(gpu, gpu.read(&ns, memory.get(), sizeof ns), "reading a trial");
  return ns;
}

}  // namespace

RankActions::RankActions(const RankDevice& device, ActionWork work)
    : device_(device),
      gpu_(device.gpu()),
      work_(works_of_ranks.at(static_cast<std::size_t>(work))),
      sms_seen_(make_memory(gpu_, most_sm_ids)),
      memory_(nullptr, gpu_.free_memory) {
  const GpuStream stream = device.compute();
  if (work_ == GpuWork::bytes) {
    memory_ = make_memory(gpu_, moved_buffer_bytes);
    check(gpu_, gpu_.fill(memory_.get(), 0, moved_buffer_bytes, stream), "filling a buffer");
  } else if (work_ == GpuWork::products) {
    constexpr std::uint32_t size = action_product_size;
    product_ = std::make_unique<GpuMatrixProduct>(
        gpu_, GpuProductShape{size, size, size, device.facts().sms});
  }
  if (work_ != GpuWork::spin) ns_per_amount_ = measured_ns_per_amount();
}

double RankActions::measured_ns_per_amount() const {
  constexpr int turns = 5;
  const TrialStamps stamps(gpu_);
  const GpuStream stream = device_.compute();
  std::vector<double> times;
  for (int turn = 0; turn <= turns; ++turn) {
    check(gpu_, gpu_.fill(stamps.begin_ns.get(), 0xff, sizeof(std::uint64_t), stream), "a trial");
    check(gpu_, gpu_.fill(stamps.end_ns.get(), 0, sizeof(std::uint64_t), stream), "a trial");
    launch(stream, stamps.task(), tried_amount(work_));
    check(gpu_, gpu_.synchronize(stream), "running a trial of actions");
    const std::uint64_t begin = stamp_in(gpu_, stamps.begin_ns);
    const std::uint64_t end = stamp_in(gpu_, stamps.end_ns);
    if (turn > 0) times.push_back(static_cast<double>(end - begin));  // the first warms up
  }
  return std::max(median(times), 1.0) / static_cast<double>(tried_amount(work_));
}

std::uint64_t RankActions::amount(std::uint64_t duration_ns) const {
  if (work_ == GpuWork::spin || duration_ns == 0) return 0;
  const double exact = static_cast<double>(duration_ns) / ns_per_amount_;
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(std::llround(exact)), 1);
}

void RankActions::launch(GpuStream stream, const GpuKernelTask& task, std::uint64_t amount) const {
  if (work_ == GpuWork::products && amount > 0) {
    check(gpu_, gpu_.launch_begin(stream, task), "beginning item", task.task / 2);
    for (std::uint64_t i = 0; i < amount; ++i) product_->launch(stream);
    return check(gpu_, gpu_.launch_end(stream, task, false), "ending item", task.task / 2);
  }
  const GpuWork work = amount > 0 ? work_ : GpuWork::spin;
  const GpuGrid grid = grid_of(work, device_.facts().sms);
  GpuActionKernel kernel{};
  kernel.task = task;
  kernel.work = work;
  kernel.blocks = grid.blocks;
  kernel.threads = grid.threads;
  kernel.amount = amount;
  kernel.memory = memory_.get();
  kernel.words = moved_buffer_bytes / word_bytes;
  kernel.sms_seen = static_cast<unsigned char*>(sms_seen_.get());
  check(gpu_, gpu_.launch_action(stream, kernel), "launching item", task.task / 2);
}

const char* RankActions::name() const {
  constexpr std::array names{"spin", "flops", "bytes", "products"};
  return names.at(static_cast<std::size_t>(work_));
}

}  // namespace penstock
