#include "validate/backends/cuda/running/gpu_actions.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

// Buffers of actions that move bytes: far beyond the L2 cache, also of a rank alone on its GPU.
constexpr std::uint64_t action_buffer_bytes = std::uint64_t{128} << 20;
constexpr std::uint64_t least_action_buffer_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t action_word_bytes = 16;

std::vector<std::uint32_t> slots_of_ranks(const GpuProgram& program) {
  std::vector<std::uint32_t> slots(program.ranks);
  for (const GpuTask& task : program.tasks) {
    if (program.is_transfer(task) || program.body_of(task).work != GpuWork::bytes) continue;
    slots[task.lane] = std::max(slots[task.lane], task.slot + 1);
  }
  return slots;
}

std::uint64_t bytes_per_slot(const std::vector<std::uint32_t>& slots, std::uint64_t most_of_all) {
  std::uint64_t all = 0;
  for (const std::uint32_t own : slots) all += own;
  std::uint64_t bytes = action_buffer_bytes;
  while (bytes > least_action_buffer_bytes && bytes * all > most_of_all) bytes /= 2;
  return bytes;
}

/// Whether its kernels are those of products or layers.
bool runs_library(GpuWork work) {
  return work == GpuWork::products || layer_kind_of(work) != nullptr;
}

}  // namespace

std::vector<GpuActionGraph> action_graphs(const GpuProgram& program) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> known;
  std::vector<GpuActionGraph> graphs;
  for (std::uint32_t at = 0; at < program.tasks.size(); ++at) {
    const GpuTask& task = program.tasks[at];
    if (program.is_transfer(task) || !task.parts.empty()) continue;
    const auto [place, fresh] = known.try_emplace({task.lane, task.body, task.slot}, graphs.size());
    if (fresh) graphs.push_back({task.lane, task.body, task.slot, {}});
    graphs[place->second].tasks.push_back(at);
  }
  return graphs;
}

std::string name(GpuWork work) {
  return std::string(gpu_works[static_cast<std::size_t>(work)].first);
}

std::string task_text(const GpuProgram& program, std::uint32_t task) {
  constexpr std::array passes{"waiting", "forward", "backward", "input gradient",
                              "weight gradient"};
  const GpuTask& what = program.tasks[task];
  const std::string text = "task " + std::to_string(task);
  if (program.is_transfer(what))
    return text + ", on link " + std::to_string(what.lane - program.ranks);
  const GpuBody body = program.body_of(what);
  return text + ", " + passes.at(static_cast<std::size_t>(body.pass)) + " of stage " +
         std::to_string(body.stage) + " on rank " + std::to_string(what.lane) + " in slot " +
         std::to_string(what.slot) + ", " + name(body.work);
}

GpuGrid grid_of(GpuWork work, std::uint32_t sms) {
  if (work == GpuWork::spin) return {sms, 32};
  return {2 * sms, 512};
}

GpuActions::GpuActions(const GpuDevice& device, const GpuProgram& program,
                       const GpuMessages& messages)
    : device_(device),
      calls_(device.calls()),
      program_(program),
      messages_(messages),
      sms_seen_(make_memory(calls_, std::size_t{std::max(program.ranks, 1U)} * most_sm_ids)) {
  check(calls_,
        calls_.fill(sms_seen_.get(), 0, std::size_t{program_.ranks} * most_sm_ids,
                    device_.conductor()),
        "clearing what SMs were seen");
  const std::vector<std::uint32_t> slots = slots_of_ranks(program_);
  slot_bytes_ = bytes_per_slot(slots, device_.most_action_bytes());
  for (const std::uint32_t own : slots) {
    memory_.push_back(own == 0 ? GpuOwner<void>(nullptr, calls_.free_memory)
                               : make_memory(calls_, own * slot_bytes_));
  }
  make_products();
  stages_ = make_stages(device_, program_);
}

/// One per rank, launched once: a library loads its kernels late, which a capture does not allow.
void GpuActions::make_products() {
  products_.resize(program_.ranks);
  for (const GpuTask& task : program_.tasks) {
    if (program_.is_transfer(task) || products_[task.lane]) continue;
    bool has_any = false;
    program_.for_each_part(task, [&](const GpuPart& part) {
      has_any |= program_.body(part.pass.body).work == GpuWork::products;
    });
    if (!has_any) continue;
    constexpr std::uint32_t size = action_product_size;
    products_[task.lane] = std::make_unique<GpuMatrixProduct>(
        calls_, GpuProductShape{size, size, size, device_.sms_of_rank(task.lane)});
    products_[task.lane]->launch(device_.lane(task.lane));
    device_.wait_for(device_.lane(task.lane), "running a matrix product of rank", task.lane);
  }
}

bool GpuActions::is_of_library(const GpuTask& task) const {
  bool is = false;
  program_.for_each_part(
      task, [&](const GpuPart& part) { is |= runs_library(program_.body(part.pass.body).work); });
  return is;
}

std::optional<GpuStageEnds> GpuActions::ends(std::uint32_t rank, const GpuPassAt& pass) const {
  const GpuBody body = program_.body(pass.body);
  if (layer_kind_of(body.work) == nullptr) return std::nullopt;
  return stages_[rank]->ends(body, pass.slot);
}

/// Stamps are kernels of their own around products and layers of all parts.
void GpuActions::launch_library(std::uint32_t task, const GpuKernelTask& kernel_task) const {
  const GpuTask& what = program_.tasks[task];
  const GpuStream lane = device_.lane(what.lane);
  check(calls_, calls_.launch_begin(lane, kernel_task), "beginning task", task);
  program_.for_each_part(what, [&](const GpuPart& part) {
    if (runs_library(program_.body(part.pass.body).work)) launch_part(what.lane, part);
  });
  check(calls_, calls_.launch_end(lane, kernel_task, false), "ending task", task);
}

void GpuActions::launch_part(std::uint32_t rank, const GpuPart& part) const {
  const GpuStream lane = device_.lane(rank);
  const GpuBody body = program_.body(part.pass.body);
  if (body.work == GpuWork::products) {
    for (std::uint64_t i = 0; i < body.amount; ++i) products_[rank]->launch(lane);
    return;
  }
  const auto own = ends(rank, part.pass);
  if (own && part.reads) messages_.take(*part.reads, *own, lane);
  if (own && part.reads_from) hand_on(rank, *part.reads_from, part.pass);
  stages_[rank]->launch(body, part.pass.slot);
  if (!own) return;
  for (const GpuTensor& made : part.makes) messages_.give(made, *own, lane);
  if (part.writes_into) hand_on(rank, part.pass, *part.writes_into);
}

/// From a stage to the next one of this rank.
void GpuActions::hand_on(std::uint32_t rank, const GpuPassAt& from, const GpuPassAt& to) const {
  const auto made = ends(rank, from);
  const auto wanted = ends(rank, to);
  if (!made || !wanted) return;
  check(calls_, calls_.copy_within(wanted->in, made->out, made->bytes, device_.lane(rank)),
        "copying between stages of rank", rank);
}

std::uint64_t GpuActions::algorithms() const {
  std::uint64_t hash = 0;
  for (const auto& product : products_) {
    if (product) hash = hash * 0x100000001b3ULL + product->algorithm();
  }
  for (const auto& stages : stages_) {
    if (stages) hash = hash * 0x100000001b3ULL + stages->algorithms();
  }
  return hash;
}

void GpuActions::launch(std::uint32_t task, const GpuKernelTask& kernel_task) const {
  const GpuTask& what = program_.tasks[task];
  const GpuBody body = program_.body_of(what);
  if (is_of_library(what)) return launch_library(task, kernel_task);
  const GpuGrid grid = grid_of(body.work, device_.sms_of_rank(what.lane));
  GpuActionKernel kernel{.task = kernel_task,
                         .work = body.work,
                         .blocks = grid.blocks,
                         .threads = grid.threads,
                         .amount = body.amount,
                         .memory = nullptr,
                         .words = 0,
                         .sms_seen = static_cast<unsigned char*>(sms_seen_.get()) +
                                     std::size_t{what.lane} * most_sm_ids};
  if (body.work == GpuWork::bytes) {
    kernel.memory = static_cast<std::byte*>(memory_[what.lane].get()) + what.slot * slot_bytes_;
    kernel.words = slot_bytes_ / action_word_bytes;
  }
  check(calls_, calls_.launch_action(device_.lane(what.lane), kernel), "launching task", task);
}

std::vector<std::vector<std::uint32_t>> GpuActions::sms_seen() const {
  std::vector<unsigned char> seen(std::size_t{program_.ranks} * most_sm_ids);
  check(calls_, calls_.read(seen.data(), sms_seen_.get(), seen.size()), "reading what SMs ran");
  std::vector<std::vector<std::uint32_t>> ids(program_.ranks);
  for (std::uint32_t at = 0; at < seen.size(); ++at) {
    if (seen[at] != 0) ids[at / most_sm_ids].push_back(at % most_sm_ids);
  }
  return ids;
}

}  // namespace penstock
