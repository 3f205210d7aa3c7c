#include "validate/backends/multi/multi_backend.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/fake_cluster.hpp"
#include "tests/support/jobs.hpp"
#include "validate/backends/cuda/nccl_calls.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/job/replica_ranks.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Mishap = FakeCluster::Mishap;

Job real_job(PricedPlan priced) {
  Job job = penstock::job_of(std::move(priced), gpu_job_length(4));
  use_real_links(job);
  return job;
}

Job catalogue_job(const char* schedule, std::uint32_t ranks, std::uint32_t microbatches) {
  return real_job(priced(system_of(schedule, ranks, microbatches)));
}

Measurement measured_on(const FakeCluster& cluster, const Job& job, const MultiSetting& setting,
                        std::map<std::string, std::string>* environment = nullptr) {
  MultiBackend backend(job, cluster.calls(), setting);
  Measurement measured = measured_by(backend, job, {.iterations = 3});
  CHECK_FALSE(backend.why_no_score());
  if (environment != nullptr) *environment = backend.environment();
  return measured;
}

/// Two stages, each in two replicas that reduce gradients, update, and gather weights.
Job data_parallel_job() {
  System system = two_stages("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  system.hardware = link(0, 1e9);
  for (Layer& stage : system.stages) stage.parameter_bytes = 400'000;
  system.extras.tail = {.reduces = {true, true}, .updates = true, .gathers = true};
  system.training = {.data = 2, .optimizer_us = 1};
  const PricedPlan one = priced(system);
  return real_job(with_replica_ranks(one, {one.costs, one.costs}));
}

/// Waited for, or never of this process.
bool is_gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

/// Why the first of some runs stands still, which is noticed within a minute and said by all later
/// ones. No process is left.
Standstill loss_on(const FakeCluster& cluster, const MultiSetting& setting) {
  const Job job = catalogue_job("1f1b", 4, 8);
  auto backend = std::make_unique<MultiBackend>(job, cluster.calls(), setting);
  const std::vector<pid_t> pids = backend->pids();
  Standstill halt;
  for (int run = 0; run < 3; ++run) {
    const auto before = std::chrono::steady_clock::now();
    auto outcome = backend->run();
    if (auto* found = std::get_if<Standstill>(&outcome)) {
      CHECK(std::chrono::steady_clock::now() - before < seconds(60));
      halt = std::move(*found);
      break;
    }
  }
  CHECK(halt_of(*backend).text == halt.text);
  backend.reset();
  REQUIRE(pids.size() == 4);
  for (const pid_t pid : pids) CHECK(is_gone(pid));
  return halt;
}

/// Of a process that this one has to wait for.
bool ends_before(pid_t pid, Moment end) {
  while (waitpid(pid, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

/// In the middle of the first run of any rank. Others wait, and must not be the first to fail.
void add_mishap(FakeCluster& cluster, Mishap mishap, std::uint32_t gpu) {
  cluster.mishap = mishap;
  cluster.mishap_gpu = gpu;
  cluster.mishap_launch = 12;
  cluster.standstill_ms = 60'000;
}

std::uint16_t port_now() { return listen_on_port(0).port; }

Launch launched(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port) {
  return {.by = "test",
          .job = "j",
          .rank = rank,
          .ranks = ranks,
          .local_rank = rank,
          .address = "127.0.0.1",
          .port = port};
}

/// Processes of ranks other than 0, started by something else.
class Others {
 public:
  Others(const Job& job, const FakeCluster& cluster, std::uint32_t ranks, std::uint16_t port) {
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) _exit(life(job, cluster, launched(rank, ranks, port)));
      pids_.push_back(pid);
    }
  }
  ~Others() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    codes();
  }
  /// How they ended, in order.
  std::vector<int> codes() {
    std::vector<int> all;
    for (const pid_t pid : pids_) {
      int status = 0;
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
      all.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    pids_.clear();
    return all;
  }

 private:
  static int life(const Job& job, const FakeCluster& cluster, const Launch& launch) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      return serve_launched_rank(job, cluster.calls(), {.launch = launch}) ? 0 : 3;
    } catch (const std::runtime_error&) {
      return 4;
    }
  }

  std::vector<pid_t> pids_;
};

}  // namespace

// The fake knows streams, events and NCCL, and nothing of plans: where a wait is missing or a call
// is out of order, a task begins too early or a tensor is another one, and the simulation of the
// plan no longer takes what the run took. Clocks of all GPUs differ and drift.
TEST_CASE("cuda_multi: schedules run on fake GPUs, with a structure error below the clocks'") {
  for (const char* schedule :
       {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "dualpipev", "bpipe"}) {
    for (const std::uint32_t ranks : {2U, 4U}) {
      CAPTURE(schedule);
      CAPTURE(ranks);
      if (std::string(schedule) == "bpipe" && ranks == 2) continue;
      FakeCluster cluster(ranks);
      if (ranks == 2) cluster.kernels = ptx::compiled_kernels();
      const Job job = catalogue_job(schedule, ranks, 2 * ranks);
      const Measurement measured = measured_on(cluster, job, {});
      CHECK(measured.iterations.size() == 3);
      const RunErrors errors = run_errors(job, measured);
      CHECK(errors.structure < 2e-4);
      CHECK(errors.profile < 2e-3);
      CHECK(cluster.aborts() == 0);
    }
  }
}

TEST_CASE("cuda_multi: replicas reduce, update and gather together") {
  const FakeCluster cluster(4);
  const Job job = data_parallel_job();
  std::map<std::string, std::string> environment;
  const Measurement measured = measured_on(cluster, job, {}, &environment);
  CHECK(run_errors(job, measured).structure < 2e-4);
  const Timeline& run = measured.iterations.front();
  const auto span = [&](const char* task) {
    const TaskId id = task_of(job.priced.plan, task);
    return std::pair(run.begin[id], run.end[id]);
  };
  // Both begin when the last of them comes, and end as one.
  const double apart = to_us(span("0REDUCE1").second) - to_us(span("0REDUCE3").second);
  CHECK(std::abs(apart) < 5);
  CHECK(span("0U1").first >= span("0REDUCE1").second);
  CHECK(environment.at("device") == "fake GPU");
  CHECK(environment.at("nccl") == "2.28.9");
  CHECK(environment.at("processes") == "4");
  CHECK(environment.at("started_by") == "penstock");
  CHECK(environment.at("clock_violations").starts_with("0 of "));
}

TEST_CASE("cuda_multi: with a channel per pair, both ends of a group begin and end together") {
  const FakeCluster cluster(4);
  const Job job = catalogue_job("1f1b", 4, 8);
  std::map<std::string, std::string> environment;
  const auto measured = measured_on(cluster, job, {.rule = ChannelRule::per_pair}, &environment);
  CHECK(measured.iterations.size() == 3);
  CHECK(environment.at("backend") == "cuda_multi_pairs");
  CHECK(environment.at("channels") == "3");
}

// Products of 2048 take 7.9 us on the fake GPU, flops a nanosecond for each multiply-add of a
// thread.
TEST_CASE("cuda_multi: actions compute for about their time, on all SMs, beside communication") {
  for (const GpuWork work : {GpuWork::flops, GpuWork::bytes, GpuWork::products}) {
    CAPTURE(static_cast<int>(work));
    FakeCluster cluster(2);
    cluster.kernels = ptx::compiled_kernels();
    Job job = catalogue_job("1f1b", 2, 4);
    job.device.work = work;
    std::map<std::string, std::string> environment;
    const Measurement measured = measured_on(cluster, job, {}, &environment);
    const RunErrors errors = run_errors(job, measured);
    CHECK(errors.structure < 2e-4);
    CHECK(errors.profile < 2e-3);
    CHECK(environment.at("bodies") ==
          std::array{"", "flops", "bytes", "products"}.at(static_cast<std::size_t>(work)));
    CHECK(environment.contains("algorithms") == (work == GpuWork::products));
    CHECK(environment.at("validates").find("slow-down beside communication") != std::string::npos);
    const TaskId first = task_of(job.priced.plan, "0F0");
    const Timeline& run = measured.iterations.front();
    CHECK(to_us(run.end[first]) - to_us(run.begin[first]) ==
          doctest::Approx(static_cast<double>(job.task_ns(first)) / 1e3).epsilon(0.01));
  }
}

TEST_CASE("cuda_multi: without cuBLASLt, products are a fault that says so") {
  FakeCluster cluster(2);
  cluster.has_products = false;
  Job job = catalogue_job("1f1b", 2, 2);
  job.device.work = GpuWork::products;
  CHECK_THROWS_WITH_AS(MultiBackend(job, cluster.calls()),
                       doctest::Contains("no matrix products: no cuBLASLt here"),
                       std::runtime_error);
}

TEST_CASE("cuda_multi: communicators get the blocks that are asked for, and may share them") {
  const FakeCluster cluster(2);
  Job job = catalogue_job("1f1b", 2, 2);
  std::map<std::string, std::string> environment;
  measured_on(cluster, job, {}, &environment);
  const int unset = NcclConfig::unset;
  CHECK(cluster.resources(1) == std::array{unset, unset, unset});
  CHECK_FALSE(environment.contains("communicators"));
  job.device.comms = {.least_blocks = 2, .most_blocks = 8, .shared = true};
  measured_on(cluster, job, {}, &environment);
  CHECK(cluster.resources(1) == std::array{2, 8, 1});
  CHECK(environment.at("communicators") == "at least 2 blocks, at most 8 blocks, shared");
}

// A plan of one rank has no channel, but a communicator of its own.
TEST_CASE("cuda_multi: one rank runs alone") {
  const FakeCluster cluster(1);
  const Job job = catalogue_job("1f1b", 1, 4);
  const Measurement measured = measured_on(cluster, job, {});
  CHECK(run_errors(job, measured).structure < 1e-4);
}

TEST_CASE("cuda_multi: a rank that is killed ends all others within seconds, and is named") {
  FakeCluster cluster(4);
  add_mishap(cluster, Mishap::dies, 2);
  // Were they not told to abort, they would end after this limit.
  const Standstill halt = loss_on(cluster, {.stop_limit = seconds(120)});
  CHECK(halt.kind == "lost_process");
  CHECK(halt.rank == Rank{2});
  CHECK(halt.text == "process 2 (rank 2) ended: signal 9");
  CHECK(cluster.aborts() > 3);  // the other three, several communicators each
}

TEST_CASE("cuda_multi: an error that NCCL notices by itself ends all ranks") {
  FakeCluster cluster(4);
  add_mishap(cluster, Mishap::fails, 1);
  const Standstill halt = loss_on(cluster, {.stop_limit = seconds(120)});
  CHECK(halt.kind == "transport");
  CHECK(halt.rank == Rank{1});
  CHECK(halt.text.starts_with("rank 1: NCCL: remote process exited (6); it was at "));
}

TEST_CASE("cuda_multi: a run that does not end is aborted after its limit, and says where it was") {
  FakeCluster cluster(4);
  add_mishap(cluster, Mishap::hangs, 3);
  const Standstill halt = loss_on(cluster, {.run_limit = milliseconds(700)});
  CHECK(halt.kind == "deadlock");
  CHECK(halt.text.find("it did not end within 0.7 s; it was at ") != std::string::npos);
}

// Then nothing returns from NCCL, and each rank ends by its timer.
TEST_CASE("cuda_multi: ranks end also where NCCL hangs while it aborts") {
  FakeCluster cluster(4);
  cluster.abort_hangs = true;
  add_mishap(cluster, Mishap::dies, 1);
  const Standstill halt = loss_on(cluster, {.stop_limit = milliseconds(500)});
  CHECK(halt.text == "process 1 (rank 1) ended: signal 9");
}

TEST_CASE("cuda_multi: two ranks on one GPU are refused as NCCL refuses them") {
  const FakeCluster cluster(4);
  const Job job = catalogue_job("1f1b", 2, 2);
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  CHECK_THROWS_WITH_AS(MultiBackend(job, cluster.calls()),
                       doctest::Contains("making a communicator of all ranks: invalid usage (5)"),
                       std::runtime_error);
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("cuda_multi: where NCCL allows it, ranks share a GPU, which is no measurement") {
  const FakeCluster cluster(1);
  for (const std::uint32_t ranks : {2U, 4U}) {
    const Job job = catalogue_job("1f1b", ranks, ranks);
    MultiBackend backend(job, cluster.calls(), {.gpus = 1});
    const auto outcome = backend.run();
    REQUIRE(std::holds_alternative<Timeline>(outcome));
    CHECK(backend.why_no_score() ==
          fmt::format("{} ranks share a GPU: order, abort and hangs are those of several GPUs, "
                      "times are not",
                      ranks));
  }
  CHECK_FALSE(why_not_shared(4, 1, 23003));
  CHECK(why_not_shared(5, 1, 23003));
  CHECK(why_not_shared(2, 1, 22809)
            .value()
            .ends_with(", and NCCL from 2.30.0 on lets 4 of them share a GPU"));
}

TEST_CASE("cuda_multi: ranks die with the program that started them") {
  const FakeCluster cluster(3);
  const Job job = catalogue_job("1f1b", 3, 3);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto [own, its] = connected_pair();
  const pid_t program = fork();
  if (program == 0) {
    MultiBackend backend(job, cluster.calls());
    ByteWriter out;
    for (const pid_t pid : backend.pids()) out.u32(static_cast<std::uint32_t>(pid));
    send_all(its, out.bytes(), after(seconds(20)));
    std::this_thread::sleep_for(seconds(60));
    _exit(0);
  }
  std::array<std::byte, 12> bytes{};
  REQUIRE(receive_all(own, bytes, after(seconds(20))));
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  ByteReader in(bytes);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(ends_before(static_cast<pid_t>(in.u32()), after(seconds(30))));
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// The ranks of a launcher are on two hosts, whose clocks are 7 s apart.
TEST_CASE("cuda_multi: ranks of a launcher meet, and clocks of two hosts are aligned") {
  FakeCluster cluster(4);
  cluster.gpus_of_host = 2;
  const Job job = catalogue_job("1f1b", 4, 8);
  const std::uint16_t port = port_now();
  Others others(job, cluster, 4, port);
  std::map<std::string, std::string> environment;
  const Measurement measured =
      measured_on(cluster, job, {.launch = launched(0, 4, port)}, &environment);
  CHECK(run_errors(job, measured).structure < 1e-3);
  CHECK(environment.at("started_by") == "test");
  CHECK(others.codes() == std::vector<int>{0, 0, 0});
}

TEST_CASE("cuda_multi: the ranks of a launcher end when one of them is killed") {
  FakeCluster cluster(3);
  add_mishap(cluster, Mishap::dies, 1);
  const Job job = catalogue_job("1f1b", 3, 6);
  const std::uint16_t port = port_now();
  Others others(job, cluster, 3, port);
  MultiBackend backend(job, cluster.calls(), {.launch = launched(0, 3, port)});
  std::optional<Standstill> halt;
  for (int run = 0; run < 3 && !halt; ++run) {
    auto outcome = backend.run();
    if (auto* found = std::get_if<Standstill>(&outcome)) halt = std::move(*found);
  }
  REQUIRE(halt);
  CHECK(halt->rank == Rank{1});
  CHECK(halt->text.starts_with("process 1 (rank 1) "));
  CHECK(others.codes() == std::vector<int>{-SIGKILL, 0});
}

// The calls themselves, without a plan: rank 1 never receives.
TEST_CASE("fake NCCL: a send that nobody receives is a standstill") {
  const FakeCluster cluster(2);
  const MultiCalls calls = cluster.calls();
  NcclId id;
  calls.nccl->get_unique_id(&id);
  const auto life = [&](std::uint32_t rank, Control& control) {
    setenv("CUDA_VISIBLE_DEVICES", rank == 0 ? "0" : "1", 1);
    const GpuDevice device = rank_device(calls, {});
    NcclComm comm = nullptr;
    NcclConfig config;
    calls.nccl->comm_init_rank(&comm, 2, id, static_cast<int>(rank), &config);
    char byte = 7;
    calls.nccl->send(&byte, 1, nccl_uint8, static_cast<int>(1 - rank), comm, device.lane(0));
    const int error = calls.gpu()->synchronize(device.lane(0));
    control.send(MessageType::described, body_of(std::string(calls.gpu()->error_name(error))));
  };
  const auto children = start_children(2, life);
  for (const auto& child : children) CHECK(text_in(*child->control().receive()) == "standstill");
}

}  // namespace penstock::testing
