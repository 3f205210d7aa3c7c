#include "validate/processes/process_backend.hpp"

#include <fmt/format.h>

#include <new>
#include <set>
#include <stdexcept>
#include <utility>

#include "validate/processes/round.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/transports/tcp_frames.hpp"
#include "validate/transports/tcp_peers.hpp"

namespace penstock {
namespace {

/// The most informative failure: halts and lost connections are consequences of others.
std::optional<Standstill> standstill_of(const std::vector<ControlMessage>& answers) {
  std::vector<Standstill> deadlocks;
  std::vector<Standstill> transports;
  for (const ControlMessage& answer : answers) {
    if (answer.type != MessageType::fault) continue;
    Standstill halt = standstill_in(answer);
    if (halt.kind == "deadlock") {
      deadlocks.push_back(std::move(halt));
    } else if (halt.kind == "transport") {
      transports.push_back(std::move(halt));
    } else {
      return halt;
    }
  }
  if (!deadlocks.empty()) return joined(deadlocks);
  if (!transports.empty()) return transports.front();
  return std::nullopt;
}

/// Measures the link between two processes of this machine.
std::map<std::string, std::string> measured_loopback() {
  constexpr std::size_t large = std::size_t{1} << 20;
  const double one_way_ns = median(measure_link(8, 100));
  const double large_ns = median(measure_link(large, 20));
  return {{"links", "TCP on loopback"},
          {"tcp_one_way_us", fmt::format("{:.1f}", one_way_ns * 1e-3)},
          {"tcp_gigabytes_per_s", fmt::format("{:.2f}", static_cast<double>(large) / large_ns)}};
}

}  // namespace

ProcessBackend::ProcessBackend(const Job& job, MakePart make, std::uint32_t processes,
                               const ProcessLimits& limits)
    : job_(job),
      limits_(limits),
      run_limit_(run_limit(job, std::chrono::minutes(1), 50)),
      groups_(rank_groups(job.priced.plan.ranks, processes)),
      shared_(sizeof(StartLine)),
      line_(new (shared_.take(sizeof(StartLine), alignof(StartLine)))
                StartLine(job.priced.plan.ranks, 200'000)),
      recorder_({job.priced.plan.tasks()}) {
  const ProcessJob all{&job, make, line_, groups_, random_token(), limits.start, run_limit_};
  children_ = start_children(
      processes, [&](std::uint32_t process, Control& control) { serve(all, process, control); });
  connect();
}

ProcessBackend::~ProcessBackend() {
  end_children(children_, {MessageType::quit}, std::chrono::seconds(2));
}

/// Sends each process the ports of the others and waits until they are connected.
void ProcessBackend::connect() {
  // Children give up a little earlier and know why.
  const Watch watch{.limit = limits_.start + std::chrono::seconds(5), .silence = {}};
  ProcessRound listening(children_, groups_, watch);
  std::vector<std::uint16_t> ports;
  const auto listeners = listening.answers();
  if (!listeners) throw std::runtime_error(listening.lost()->text);
  for (const ControlMessage& answer : *listeners) ports.push_back(ports_in(answer).at(0));
  ProcessRound connecting(children_, groups_, watch);
  if (!connecting.ask(MessageType::ports, body_of(ports)))
    throw std::runtime_error(connecting.lost()->text);
}

/// The answers of all processes; nothing once one was lost.
std::optional<std::vector<ControlMessage>> ProcessBackend::ask(MessageType type) {
  if (lost_) return std::nullopt;
  ProcessRound round(children_, groups_,
                     {.limit = run_limit_, .silence = limits_.silence, .run = runs_});
  auto answers = round.ask(type);
  if (answers) return answers;
  lost_ = round.lost();
  children_.clear();
  return std::nullopt;
}

/// Empty after a process was lost; the next run reports it.
std::vector<Time> ProcessBackend::profile() {
  std::vector<Time> times = job_.priced.costs.duration;
  const auto answers = ask(MessageType::profile);
  if (!answers) return times;
  for (std::uint32_t process = 0; process < groups_.size(); ++process) {
    const std::vector<Time> its = profile_in((*answers)[process]);
    for (std::uint32_t work = 0; work < times.size(); ++work) {
      const std::uint32_t rank = job_.priced.plan.classes[work].resource;
      if (groups_[process].contains(rank)) times[work] = its.at(work);
    }
  }
  return times;
}

RunOutcome ProcessBackend::run() {
  ++runs_;
  const auto answers = ask(MessageType::run);
  if (!answers) return *lost_;
  if (auto halt = standstill_of(*answers)) return *std::move(halt);
  recorder_.clear();
  std::set<std::string> disturbances;
  for (const ControlMessage& answer : *answers) {
    const PartRun part = run_in(answer);
    for (const TaskSpan& one : part.spans) recorder_.add(0, one.task, one.span);
    disturbances.insert(part.disturbances.begin(), part.disturbances.end());
  }
  disturbances_.assign(disturbances.begin(), disturbances.end());
  return recorder_.timeline(job_.priced.plan);
}

/// As `ask`, for results of past runs: the next run reports a loss. A process that does not answer
/// is asked no more, since a late answer would be mistaken for the next one.
std::optional<std::vector<ControlMessage>> ProcessBackend::ask_about(MessageType type) const {
  if (lost_) return std::nullopt;
  ProcessRound round(children_, groups_, {.limit = limits_.silence, .silence = limits_.silence});
  auto answers = round.ask(type);
  if (!answers) lost_ = round.lost();
  return answers;
}

std::optional<TrainedNumbers> ProcessBackend::numbers() const {
  const auto answers = ask_about(MessageType::total);
  if (!answers) return std::nullopt;
  std::optional<TrainedNumbers> sum;
  for (const ControlMessage& answer : *answers) {
    const auto part = numbers_in(answer);
    if (!part) return std::nullopt;
    if (!sum) sum.emplace();
    add(*part, *sum);
  }
  return sum;
}

/// Includes the link, measured once a program.
std::map<std::string, std::string> ProcessBackend::environment() const {
  const auto answers = ask_about(MessageType::describe);
  auto all = answers ? merged_environment(*answers) : std::map<std::string, std::string>{};
  all["processes"] = fmt::format("{}", groups_.size());
  static const auto loopback = measured_loopback();
  for (const auto& [name, value] : loopback) all[name] = value;
  return all;
}

std::vector<pid_t> ProcessBackend::pids() const {
  std::vector<pid_t> all;
  for (const auto& child : children_) all.push_back(child->pid());
  return all;
}

}  // namespace penstock
