#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/named.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/small_models.hpp"
#include "validate/backends/registry.hpp"
#include "validate/job/measurement.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/processes/control.hpp"
#include "validate/processes/process_backend.hpp"
#include "validate/wire/bytes.hpp"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Job four_ranks(const JobLength& length = quick) { return job_of(system_of("1f1b", 4, 8), length); }

/// Some seconds of work in all.
Job long_job() { return four_ranks({.mean_action_ns = 50'000'000, .most_work_ns = 4'000'000'000}); }

/// A part of which nothing is expected but what happens to it in a run.
template <int what>
class Failing : public Backend {
 public:
  explicit Failing(const RankGroup& ranks) : ranks_(ranks) {}
  std::vector<Time> profile() override { return {}; }
  RunOutcome run() override {
    if (ranks_.first > 0 && what == 0) _exit(3);
    if (ranks_.first > 0 && what == 1) throw std::runtime_error("no more memory");
    std::this_thread::sleep_for(seconds(60));
    return Timeline{};
  }
  std::map<std::string, std::string> environment() const override { return {}; }

 private:
  RankGroup ranks_;
};

template <int what>
std::unique_ptr<Backend> failing(const Job&, const RunPart& part) {
  return std::make_unique<Failing<what>>(part.ranks);
}

std::unique_ptr<Backend> unmade(const Job&, const RunPart& part) {
  if (part.ranks.first > 0) throw std::runtime_error("no more memory");
  return std::make_unique<Failing<2>>(part.ranks);
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Whether this process has any that it started and did not wait for.
bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

/// Runs in the background while `act` happens a while later.
Standstill halt_while(Backend& backend, const std::function<void()>& act) {
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(200));
    act();
  });
  return halt_of(backend);
}

}  // namespace

TEST_CASE("processes: ranks in a row go to processes as evenly as can be") {
  const auto text = [](std::uint32_t ranks, std::uint32_t processes) {
    std::string all;
    for (const RankGroup& group : rank_groups(ranks, processes)) {
      all += fmt::format("{}-{} ", group.first, group.end - 1);
    }
    return all;
  };
  CHECK(text(4, 1) == "0-3 ");
  CHECK(text(4, 2) == "0-1 2-3 ");
  CHECK(text(5, 2) == "0-1 2-4 ");
  CHECK(text(4, 4) == "0-0 1-1 2-2 3-3 ");
  CHECK(text(7, 3) == "0-1 2-3 4-6 ");
  const auto groups = rank_groups(7, 3);
  CHECK(process_of(groups, 3) == 1);
  CHECK(process_of(groups, 4) == 2);
  CHECK(process_text(groups, 1) == "process 1 (ranks 2, 3)");
  CHECK(process_text(groups, 2) == "process 2 (ranks 4 to 6)");
  CHECK(process_text(rank_groups(2, 2), 1) == "process 1 (rank 1)");
}

// As in threads: simulated with the lengths that its own actions had, an iteration takes what it
// took, to the nanosecond, however the ranks are split over processes: stamps on tensors are all
// that clocks of different processes have in common.
TEST_CASE(
    "processes: every schedule of the catalogue runs in 2 and in 4, with no structure error") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const std::uint32_t processes : {2U, 4U}) {
      CAPTURE(entry->name);
      CAPTURE(processes);
      const Job job = job_of(system_of(*entry, 4, 8));
      ProcessBackend backend(job, cpu_logical().make_part, processes);
      const Measurement measured = measured_by(backend, job, {.iterations = 2, .steady = 100});
      CHECK(measured.iterations.size() == 2);
      const RunErrors errors = run_errors(job, measured);
      CHECK(errors.structure == 0);
      CHECK(errors.measured > Time{});
      for (std::uint32_t work = 0; work < job.priced.plan.classes.size(); ++work) {
        if (job.priced.plan.is_link(job.priced.plan.classes[work].resource)) {
          CHECK(measured.profile[work] == job.priced.costs.duration[work]);
        } else {
          CHECK(measured.profile[work] > Time{});
        }
      }
    }
  }
}

TEST_CASE("processes: a measured run says that it was in several, over TCP") {
  const Job job = four_ranks();
  const ProcessBackend backend(job, cpu_logical().make_part, 3);
  const auto environment = backend.environment();
  CHECK(environment.at("backend") == "cpu_logical");
  CHECK(environment.at("processes") == "3");
  CHECK(environment.at("links") == "TCP on loopback");
  CHECK(std::stod(environment.at("tcp_one_way_us")) > 0);
  CHECK(std::stod(environment.at("tcp_gigabytes_per_s")) > 0);
}

// What each stage's layers come to on a rank of its own process is what they come to in one: split
// weights, two directions and delayed updates included. Copies of a stage are added up in another
// order, so that the last bits may differ.
TEST_CASE("processes: spread over them, an order trains the same model") {
  for (const char* name : {"1f1b", "zb-v", "dualpipe", "pipedream"}) {
    CAPTURE(std::string(name));
    const System system = system_of(name, 4, 8);
    const Job job = layered_job(system, small_transformer(), small_transformer_shape());
    const auto threads = cpu_logical().make(job);
    CHECK(std::holds_alternative<Timeline>(threads->run()));
    const TrainedNumbers right = threads->numbers().value();
    CHECK(right.loss > 0);
    for (const std::uint32_t processes : {2U, 4U}) {
      ProcessBackend backend(job, cpu_logical().make_part, processes);
      CHECK(std::holds_alternative<Timeline>(backend.run()));
      const auto numbers = backend.numbers();
      REQUIRE(numbers);
      CHECK(largest_error(*numbers, right) < 1e-12);
    }
  }
  const Job busy = four_ranks();
  CHECK_FALSE(ProcessBackend(busy, cpu_logical().make_part, 2).numbers());
}

TEST_CASE("processes: what they measure alike is told once, and what differs by process") {
  const auto answer = [](const std::map<std::string, std::string>& environment) {
    const ByteWriter body = body_of(environment);
    return ControlMessage{MessageType::described, {body.bytes().begin(), body.bytes().end()}};
  };
  const auto merged =
      merged_environment({answer({{"backend", "cpu_timed"}, {"t_wake_us", "0.1"}}),
                          answer({{"backend", "cpu_timed"}, {"t_wake_us", "0.3"}})});
  CHECK(merged.at("backend") == "cpu_timed");
  CHECK(merged.at("t_wake_us") == "0.1, 0.3");
}

// Real time is one for all processes of a computer. How long anything takes is not looked at; that
// nothing begins before what it needs has ended is.
TEST_CASE("processes: in real time no action begins before its inputs, of whatever process") {
  const BackendEntry& timed = *find_named(backend_entries(), "cpu_timed");
  const Job job = job_of(system_of("zb-h1", 4, 8));
  ProcessBackend backend(job, timed.make_part, 2);
  const auto profile = backend.profile();
  for (std::uint32_t work = 0; work < profile.size(); ++work) {
    CHECK(profile[work] >= job.priced.costs.duration[work]);
  }
  for (int run = 0; run < 3; ++run) {
    CHECK(too_early(job.priced.plan, timeline_of(backend.run())) == 0);
  }
  CHECK(backend.environment().at("backend") == "cpu_timed");
  CHECK(backend.environment().contains("t_wake_us"));
}

// Rank 0 sends only behind 0B0 what 1F0 waits for, and 0B0 waits for 1B0, which stands behind 1F0.
// Each of the two processes only knows that its own rank waits.
TEST_CASE("processes: a deadlock between them is found, with all who wait, as between threads") {
  Job job = job_of(two_stages("0F0,0B0\n1F0,1B0\n"));
  job.priced.plan.input[task_of(job.priced.plan, "0SEND_F0")] = task_of(job.priced.plan, "0B0");
  ProcessBackend backend(job, cpu_logical().make_part, 2);
  const auto begin = std::chrono::steady_clock::now();
  const Standstill halt = halt_of(backend);
  CHECK(std::chrono::steady_clock::now() - begin < seconds(30));
  CHECK(halt.kind == "deadlock");
  CHECK(halt.rank == Rank{0});
  CHECK(halt.text ==
        "deadlock: 0B0 of rank 0 waits for 1SEND_B0; 1F0 of rank 1 waits for 0SEND_F0");
  CHECK(halt_of(backend).text == halt.text);  // and nothing of the first is left
}

// The same two in one process of 1f1b, beside ranks that get what they need until nothing comes.
TEST_CASE("processes: a deadlock says the same however ranks are split") {
  Job job = four_ranks();
  job.priced.plan.input[task_of(job.priced.plan, "2SEND_F3")] = task_of(job.priced.plan, "2B7");
  const std::string text = halt_of(job).text;
  CHECK(text.find("3F3 of rank 3 waits for 2SEND_F3") != std::string::npos);
  for (const std::uint32_t processes : {2U, 3U, 4U}) {
    ProcessBackend backend(job, cpu_logical().make_part, processes);
    CHECK(halt_of(backend).text == text);
  }
}

TEST_CASE("processes: a plan that ties an action to the wrong tensor is found out") {
  Job job = job_of(two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n"));
  std::swap(job.priced.plan.input[task_of(job.priced.plan, "1F0")],
            job.priced.plan.input[task_of(job.priced.plan, "1F1")]);
  ProcessBackend backend(job, cpu_logical().make_part, 2);
  const Standstill halt = halt_of(backend);
  CHECK(halt.kind == "wrong_tensor");
  CHECK(halt.rank == Rank{1});
  CHECK(halt.text.starts_with("before 1F0 on rank 1: the activation of model stage 0"));
}

TEST_CASE("processes: one that is killed is a fault of the run, and of all after it") {
  const Job job = long_job();
  ProcessBackend backend(job, cpu_logical().make_part, 2);
  const pid_t victim = backend.pids()[1];
  const Standstill halt = halt_while(backend, [&] { kill(victim, SIGKILL); });
  CHECK(halt.kind == "lost_process");
  CHECK(halt.rank == Rank{2});
  CHECK(halt.text == "process 1 (ranks 2, 3) ended: signal 9");
  CHECK_FALSE(has_children());
  CHECK(backend.profile() == job.priced.costs.duration);
  CHECK(halt_of(backend).text == halt.text);
}

TEST_CASE("processes: one that is killed between two runs is a fault of the next") {
  const Job job = four_ranks();
  ProcessBackend backend(job, cpu_logical().make_part, 2);
  CHECK(std::holds_alternative<Timeline>(backend.run()));
  kill(backend.pids()[0], SIGTERM);
  CHECK(halt_of(backend).text == "process 0 (ranks 0, 1) ended: signal 15");
}

TEST_CASE("processes: one that hangs is a fault, and is killed") {
  const Job job = four_ranks();
  ProcessBackend backend(job, cpu_logical().make_part, 2, {.silence = seconds(3)});
  kill(backend.pids()[1], SIGSTOP);
  const Standstill halt = halt_of(backend);
  CHECK(halt.kind == "lost_process");
  CHECK(halt.text == "process 1 (ranks 2, 3) did not answer for 3 s");
  CHECK_FALSE(has_children());
}

TEST_CASE("processes: one that ends early, or cannot go on, says how") {
  const Job job = four_ranks();
  {
    ProcessBackend backend(job, failing<0>, 2);
    CHECK(halt_of(backend).text == "process 1 (ranks 2, 3) ended: exit code 3");
  }
  {
    ProcessBackend backend(job, failing<1>, 2);
    CHECK(halt_of(backend).text == "process 1 (ranks 2, 3) cannot go on: no more memory");
  }
  CHECK_THROWS_WITH(ProcessBackend(job, unmade, 2),
                    "process 1 (ranks 2, 3) cannot go on: no more memory");
  CHECK_FALSE(has_children());
}

TEST_CASE("processes: nothing is left of them, neither processes nor open files") {
  const std::ptrdiff_t before = open_files();
  const Job job = four_ranks();
  for (int time = 0; time < 3; ++time) {
    ProcessBackend backend(job, cpu_logical().make_part, 4);
    CHECK(std::holds_alternative<Timeline>(backend.run()));
    CHECK(has_children());
  }
  CHECK_FALSE(has_children());
  CHECK(open_files() == before);
}

// A process between this one and those that it starts is killed; they then belong to this one. They
// are killed as well, or leave when their connection closes, whichever comes first.
TEST_CASE("processes: they end with the one that started them, however it ends") {
  const Job job = long_job();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto [ours, its] = connected_pair();
  const pid_t middle = fork();
  REQUIRE(middle >= 0);
  if (middle == 0) {
    ProcessBackend backend(job, cpu_logical().make_part, 2);
    const std::vector<pid_t> pids = backend.pids();
    send_all(its, std::as_bytes(std::span(pids)), after(seconds(10)));
    static_cast<void>(backend.run());
    pause();
  }
  std::array<pid_t, 2> orphans{};
  REQUIRE(receive_all(ours, std::as_writable_bytes(std::span(orphans)), after(seconds(30))));
  kill(middle, SIGKILL);
  CHECK(waitpid(middle, nullptr, 0) == middle);
  for (const pid_t orphan : orphans) {
    CHECK(waitpid(orphan, nullptr, 0) == orphan);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("processes: a program with threads starts none") {
  const Job job = four_ranks();
  std::atomic<bool> done = false;
  std::jthread other([&] { done.wait(false); });
  CHECK_THROWS_WITH(ProcessBackend(job, cpu_logical().make_part, 2),
                    "a program with 2 threads cannot start processes");
  done = true;
  done.notify_all();
}

}  // namespace penstock::testing
