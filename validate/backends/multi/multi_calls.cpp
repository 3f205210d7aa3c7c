#include "validate/backends/multi/multi_calls.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <utility>
#include <variant>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/multi/rank_program.hpp"
#include "validate/backends/nccl/nccl_library.hpp"
#include "validate/launch/rendezvous.hpp"
#include "validate/machine/clock.hpp"
#include "validate/machine/host.hpp"
#include "validate/processes/child_process.hpp"
#include "validate/wire/bytes.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {
namespace {

GpuCount counted(const GpuCalls& calls) {
  if (const auto reason = why_no_gpu(calls)) return {0, *reason};
  int count = 0;
  if (calls.count_devices(&count) != 0) return {0, "no GPU: they cannot be counted"};
  return {static_cast<std::uint32_t>(count), ""};
}

/// In the other process.
[[noreturn]] void answer(const GpuCalls* (*calls)(), Control parent) {
  const GpuCount count = counted(*calls());
  ByteWriter out;
  out.u32(count.gpus);
  out.text(count.why_none);
  try {
    parent.send(MessageType::described, out);
  } catch (const SocketError&) {
    _exit(1);
  }
  _exit(0);
}

GpuCount answer_from(Control& child) {
  constexpr std::chrono::seconds limit{60};  // a driver may take seconds to wake a GPU
  const GpuCount none{0, "no GPU: the process that was to count them gave no answer"};
  try {
    if (!await_arrival(child.socket(), after(limit))) return none;
    const auto message = child.receive();
    if (!message) return none;
    ByteReader in(message->body);
    const std::uint32_t gpus = in.u32();
    return {gpus, in.text()};
  } catch (const std::runtime_error&) {
    return none;
  }
}

/// Loaded once: NCCL cannot be unloaded.
const std::variant<NcclLibrary, std::string>& nccl() {
  static const auto library = load_nccl();
  return library;
}

std::optional<Obstacle> of_plan(const PricedPlan& priced) {
  const auto refused = [](std::string text) { return Obstacle{false, std::move(text)}; };
  if (auto reason = why_not_relax(priced.plan, priced.conditions)) {
    return refused("this scenario: " + *reason);
  }
  if (priced.plan.written) {
    return refused(
        "communication as written; it runs orders with /schedule/communication=implicit");
  }
  if (priced.costs.has_launches()) return refused("launches that take time: a host has its own");
  if (!priced.costs.task_duration.empty()) return refused("chance: a machine has its own");
  for (const auto& plan : {priced.plan, profile_plan(priced.plan)}) {
    if (auto reason = why_no_comm_plan(plan)) return refused(*reason);
  }
  return std::nullopt;
}

std::optional<std::string> why_not_size(const Plan& plan) {
  constexpr std::uint32_t most_ranks = 128;
  constexpr std::uint32_t most_tasks = 200'000;
  if (plan.ranks > most_ranks) {
    return fmt::format("{} ranks, one GPU each; at most {}", plan.ranks, most_ranks);
  }
  if (plan.tasks() <= most_tasks) return std::nullopt;
  return fmt::format("{} actions and transfers; at most {}", plan.tasks(), most_tasks);
}

/// What the launcher says, or why that makes no sense.
std::variant<std::optional<Launch>, std::string> launch_here() {
  try {
    return launch_of();
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::optional<std::string> why_not_started(const Plan& plan, const std::optional<Launch>& launch) {
  if (!launch || plan.ranks == 0 || launch->ranks == plan.ranks) return std::nullopt;
  return fmt::format("{} started {} processes; this plan has {} ranks, one process each",
                     launch->by, launch->ranks, plan.ranks);
}

std::optional<std::string> why_no_gpus(const Plan& plan, const std::optional<Launch>& launch) {
  if (*why_no_cuda() != '\0') {
    return fmt::format("no GPU: this build is without CUDA, {}", why_no_cuda());
  }
  const GpuCount count = count_gpus(cuda_calls);
  if (!count.why_none.empty()) return count.why_none;
  if (launch || count.gpus >= plan.ranks) return std::nullopt;
  const auto* library = std::get_if<NcclLibrary>(&nccl());
  return why_not_shared(plan.ranks, count.gpus, library != nullptr ? library->version : 0);
}

/// A computer's clock starts when it does.
std::string booted_host() { return "boot " + file_text("/proc/sys/kernel/random/boot_id"); }

}  // namespace

std::optional<std::string> why_not_shared(std::uint32_t ranks, std::uint32_t gpus, int nccl) {
  constexpr std::uint32_t most_on_one = 4;
  if (nccl >= first_nccl_of_shared_gpus && ranks <= most_on_one * gpus) return std::nullopt;
  const std::string text = fmt::format(
      "{} ranks, one GPU each, and this host has {}; torchrun, mpirun or srun start "
      "ranks on several hosts",
      ranks, gpus);
  if (ranks > most_on_one * gpus) return text;
  return fmt::format("{}, and NCCL from {} on lets {} of them share a GPU", text,
                     nccl_version_text(first_nccl_of_shared_gpus), most_on_one);
}

GpuCount count_gpus(const GpuCalls* (*calls)()) {
  auto [own, its] = connected_pair();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return {0, "no GPU: no process can be started to count them"};
  if (pid == 0) answer(calls, Control(std::move(its)));
  its = Descriptor();
  ChildProcess child(pid, std::move(own));
  return answer_from(child.control());
}

std::optional<Obstacle> multi_obstacle(const PricedPlan& priced) {
  if (auto obstacle = of_plan(priced)) return obstacle;
  const auto found = launch_here();
  if (const auto* reason = std::get_if<std::string>(&found)) return Obstacle{true, *reason};
  const auto& launch = std::get<std::optional<Launch>>(found);
  for (const auto& reason : {why_not_size(priced.plan), why_not_started(priced.plan, launch)}) {
    if (reason) return Obstacle{true, *reason};
  }
  if (auto reason = why_no_gpus(priced.plan, launch)) return Obstacle{true, *reason};
  if (const auto* reason = std::get_if<std::string>(&nccl())) return Obstacle{true, *reason};
  return std::nullopt;
}

MultiCalls real_multi_calls() {
  return {cuda_calls, &std::get<NcclLibrary>(nccl()).calls, monotonic_ns, booted_host};
}

}  // namespace penstock
