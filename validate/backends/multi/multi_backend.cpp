#include "validate/backends/multi/multi_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "validate/backends/nccl/hang_check.hpp"
#include "validate/launch/rendezvous.hpp"
#include "validate/processes/round.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t host_samples = 100;

constexpr const char* what_it_validates =
    "A run on several GPUs validates schedule order, dependency handling, bubble accounting, links "
    "and NCCL as they are used here. Tensors have the bytes of the scenario, whatever the scale of "
    "times.";

/// What the actions add to it.
const char* what_actions_validate(GpuWork work) {
  if (work == GpuWork::spin) {
    return " Actions only wait, so it validates neither compute nor its slow-down beside "
           "communication.";
  }
  return " Actions compute, so it also validates their slow-down beside communication; they are "
         "not those of the model, also where they are layers.";
}

/// "at most 8 blocks, shared"; empty: as NCCL chooses.
std::string comms_text(const CommResources& comms) {
  std::string text;
  if (comms.least_blocks > 0) text += fmt::format("at least {} blocks", comms.least_blocks);
  if (comms.most_blocks > 0) {
    text += fmt::format("{}at most {} blocks", text.empty() ? "" : ", ", comms.most_blocks);
  }
  if (comms.shared) text += text.empty() ? "shared" : ", shared";
  return text;
}

/// Short enough to notice ranks that wait for each other forever.
std::chrono::milliseconds run_limit_of(const Job& job, const MultiSetting& setting) {
  if (setting.run_limit.count() > 0) return setting.run_limit;
  return run_limit(job, std::chrono::seconds(30), 10);
}

RankJob rank_job(const Job& job, const MultiCalls& calls, const MultiSetting& setting,
                 std::uint32_t rank) {
  const std::uint32_t own = setting.gpus > 0 ? rank % setting.gpus : rank;
  const std::uint32_t local = setting.launch ? setting.launch->local_rank : own;
  return {.job = &job,
          .rule = setting.rule,
          .calls = calls,
          .rank = rank,
          .gpu = gpu_of_rank(environment_variable("CUDA_VISIBLE_DEVICES"), local),
          .shares_gpu = setting.gpus > 0 && setting.gpus < job.priced.plan.ranks,
          .run_limit = run_limit_of(job, setting),
          .stop_limit = setting.stop_limit,
          .sizes = setting.sizes};
}

/// The first fault that is not a consequence of another one.
std::optional<Standstill> fault_among(const std::vector<ControlMessage>& answers) {
  std::optional<Standstill> found;
  for (const ControlMessage& answer : answers) {
    if (answer.type != MessageType::fault) continue;
    Standstill halt = standstill_in(answer);
    if (!found || found->kind == "halted") found = std::move(halt);
  }
  return found;
}

/// The clock of another host.
ClockAnchor host_anchor(Control& control, const MultiCalls& calls) {
  std::vector<ClockSample> samples(host_samples);
  for (ClockSample& sample : samples) {
    sample.asked_ns = calls.host_ns();
    control.send(MessageType::ping);
    if (!await_arrival(control.socket(), after(std::chrono::seconds(10)))) {
      throw SocketError("did not answer for 10 s");
    }
    const auto answer = control.receive();
    sample.answered_ns = calls.host_ns();
    if (!answer || answer->type != MessageType::pong) throw SocketError("closed its connection");
    sample.read_ns = ns_in(*answer);
  }
  return anchor_of(std::move(samples));
}

/// A hang would need a mistake of this program, and show only after the time limit.
void check_calls(const CommPlan& comms, const Plan& plan) {
  if (const auto why = why_it_hangs(comms, plan)) throw std::logic_error(*why);
}

}  // namespace

MultiBackend::MultiBackend(const Job& job, const MultiCalls& calls, const MultiSetting& setting)
    : job_(job),
      calls_(calls),
      setting_(setting),
      multi_(multi_job(job, setting.rule)),
      merger_(job.priced.plan, setting.rule),
      profile_merger_(multi_.profile.priced.plan, ChannelRule::per_direction),
      groups_(rank_groups(job.priced.plan.ranks, job.priced.plan.ranks)) {
  check_calls(multi_.comms, job.priced.plan);
  check_calls(multi_.profile_comms, multi_.profile.priced.plan);
  start_processes();
  start_ranks();
}

MultiBackend::~MultiBackend() {
  if (!children_.empty()) stop_all();
}

/// By a launcher: only rank 0 is of this process, and the others connect to it.
void MultiBackend::start_processes() {
  const std::uint32_t here = setting_.launch ? 1 : job_.priced.plan.ranks;
  std::vector<RankJob> jobs;
  for (std::uint32_t rank = 0; rank < here; ++rank) {
    jobs.push_back(rank_job(job_, calls_, setting_, rank));
  }
  children_ = start_children(
      here, [&](std::uint32_t rank, Control& control) { serve_rank(jobs[rank], control); });
  if (!setting_.launch) return;
  auto sockets = meet(*setting_.launch, plan_hash(job_.priced.plan), after(setting_.limits.start));
  for (std::uint32_t rank = 1; rank < sockets.size(); ++rank) {
    children_.push_back(std::make_unique<ChildProcess>(std::move(sockets[rank])));
  }
}

/// Hands out the identifier that rank 0 makes.
void MultiBackend::start_ranks() {
  const auto answers_of = [&](ProcessRound& round, auto answers) {
    if (!answers) lose(*round.lost());
    if (answers) {
      if (auto halt = fault_among(*answers)) lose(*std::move(halt));
    }
    if (lost_) throw std::runtime_error(lost_->text);
    return *std::move(answers);
  };
  const Watch watch{.limit = setting_.limits.start, .silence = setting_.limits.silence};
  ProcessRound greeting(children_, groups_, {.limit = setting_.limits.start, .silence = {}});
  for (const ControlMessage& answer : answers_of(greeting, greeting.answers())) {
    hosts_.push_back(text_in(answer));
  }
  ProcessRound naming(children_, groups_, watch);
  const auto ids = answers_of(naming, naming.ask(MessageType::unique_id));
  ProcessRound starting(children_, groups_, watch);
  answers_of(starting, starting.ask(MessageType::start, body_of(nccl_id_in(ids.front()))));
  ProcessRound describing(children_, groups_, watch);
  environment_ = merged_environment(answers_of(describing, describing.ask(MessageType::describe)));
}

/// The answers of all ranks; nothing once one was lost or has failed.
std::optional<std::vector<ControlMessage>> MultiBackend::ask(MessageType type,
                                                             const ByteWriter& body) {
  if (lost_) return std::nullopt;
  ProcessRound round(children_, groups_,
                     {.limit = run_limit_of(job_, setting_) + std::chrono::seconds(10),
                      .silence = setting_.limits.silence});
  auto answers = round.ask(type, body);
  if (!answers) {
    lose(*round.lost());
  } else if (auto halt = fault_among(*answers)) {
    lose(*std::move(halt));
  }
  return lost_ ? std::nullopt : std::move(answers);
}

void MultiBackend::lose(Standstill why) {
  lost_ = std::move(why);
  stop_all();
}

/// Ranks end what they wait for, and then themselves; those that do not are killed.
void MultiBackend::stop_all() {
  std::vector<MessageType> last{MessageType::quit};
  if (lost_) last.insert(last.begin(), MessageType::halt);
  end_children(children_, last, setting_.stop_limit + std::chrono::seconds(1));
}

/// By rank. Processes of one host share a clock.
std::vector<ClockAnchor> MultiBackend::host_anchors() {
  std::vector<ClockAnchor> anchors(children_.size());
  const std::string own = calls_.host();
  for (std::uint32_t rank = 0; rank < children_.size(); ++rank) {
    if (hosts_[rank] != own) anchors[rank] = host_anchor(children_[rank]->control(), calls_);
  }
  return anchors;
}

/// Nothing when a rank was lost.
std::optional<Timeline> MultiBackend::measured(MessageType type, const RunMerger& merger) {
  if (lost_) return std::nullopt;
  try {
    const std::vector<ClockAnchor> begins = host_anchors();
    const auto answers = ask(type);
    if (!answers) return std::nullopt;
    const std::vector<ClockAnchor> ends = host_anchors();
    std::vector<RankRun> runs;
    for (std::uint32_t rank = 0; rank < answers->size(); ++rank) {
      const AlignedClock host{begins[rank], ends[rank]};
      RankRun& run = runs.emplace_back(rank_run_in((*answers)[rank]));
      run.uncertainty_ns += host.uncertainty_ns();
      for (RankStamp& stamp : run.stamps) {
        stamp.begin_ns = host.own_ns(stamp.begin_ns);
        stamp.end_ns = host.own_ns(stamp.end_ns);
      }
    }
    return merger.merge(runs, causality_);
  } catch (const std::runtime_error& error) {
    lose({"lost_process", Rank{0}, {}, fmt::format("the ranks {}", error.what())});
    return std::nullopt;
  }
}

/// Empty after a rank was lost; the next run reports it.
std::vector<Time> MultiBackend::profile() {
  std::vector<Time> times = job_.priced.costs.duration;
  const auto timeline = measured(MessageType::profile, profile_merger_);
  if (!timeline) return times;
  for (std::uint32_t work = 0; work < times.size(); ++work) {
    times[work] = timeline->end[work] - timeline->begin[work];
  }
  return times;
}

RunOutcome MultiBackend::run() {
  const std::uint32_t before = causality_.unexplained;
  auto timeline = measured(MessageType::run, merger_);
  if (!timeline) return *lost_;
  disturbances_.clear();
  if (causality_.unexplained > before) disturbances_.emplace_back("clocks");
  const auto ns = static_cast<double>(to_ns(makespan(job_.priced.plan, *timeline)));
  shortest_ns_ = shortest_ns_ == 0 ? ns : std::min(shortest_ns_, ns);
  return *std::move(timeline);
}

std::optional<std::string> MultiBackend::why_no_score() const {
  if (ranks_share_gpus()) {
    return fmt::format(
        "{} ranks share {}: order, abort and hangs are those of several GPUs, times "
        "are not",
        job_.priced.plan.ranks, setting_.gpus == 1 ? "a GPU" : "GPUs");
  }
  constexpr double most = 0.005;  // the target of the structure error
  if (causality_.worst_uncertainty_ns <= most * shortest_ns_) return std::nullopt;
  return fmt::format("clocks agree within {:.1f} µs only, over {:.1f} % of the shortest run",
                     causality_.worst_uncertainty_ns * 1e-3, 100 * most);
}

std::map<std::string, std::string> MultiBackend::environment() const {
  auto all = environment_;
  const bool pairs = setting_.rule == ChannelRule::per_pair;
  all["backend"] = pairs ? "cuda_multi_pairs" : "cuda_multi";
  all["processes"] = fmt::format("{}", groups_.size());
  all["started_by"] = setting_.launch ? setting_.launch->by : "penstock";
  all["links"] =
      pairs ? "NCCL, a communicator per pair of ranks" : "NCCL, a communicator per direction";
  all["channels"] = fmt::format("{}", multi_.comms.channels.size());
  all["clock_uncertainty_us"] = fmt::format("{:.3f}", causality_.worst_uncertainty_ns * 1e-3);
  all["clock_violations"] = fmt::format(
      "{} of {} tensors arrived before they were sent, by {:.3f} µs at most", causality_.violations,
      causality_.tensors, static_cast<double>(causality_.worst_ns) * 1e-3);
  all["validates"] = what_it_validates;
  all["validates"] += what_actions_validate(job_.device.work);
  if (auto text = comms_text(job_.device.comms); !text.empty()) {
    all["communicators"] = std::move(text);
  }
  return all;
}

std::vector<pid_t> MultiBackend::pids() const {
  std::vector<pid_t> all;
  for (const auto& child : children_) all.push_back(child->pid());
  return all;
}

bool serve_launched_rank(const Job& job, const MultiCalls& calls, const MultiSetting& setting) {
  if (!setting.launch || setting.launch->rank == 0) return false;
  const Launch& launch = *setting.launch;
  auto sockets = meet(launch, plan_hash(job.priced.plan), after(setting.limits.start));
  Control control(std::move(sockets.front()));
  if (serve_rank(rank_job(job, calls, setting, launch.rank), control)) return true;
  throw std::runtime_error(fmt::format("rank {}: rank 0 is gone, or has lost a rank", launch.rank));
}

std::unique_ptr<Backend> make_multi(const Job& job, ChannelRule rule) {
  MultiSetting setting{.rule = rule, .launch = launch_of()};
  if (!setting.launch) setting.gpus = count_gpus(cuda_calls).gpus;
  return std::make_unique<MultiBackend>(job, real_multi_calls(), setting);
}

bool serve_multi(const Job& job, ChannelRule rule) {
  return serve_launched_rank(job, real_multi_calls(), {.rule = rule, .launch = launch_of()});
}

}  // namespace penstock
