#include "validate/backends/gpu/gpu_backend.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/system.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/machine/host.hpp"
#include "validate/store/environment_keys.hpp"

namespace penstock::testing {
namespace {

constexpr GpuOrdering orderings[] = {GpuOrdering::host_issued, GpuOrdering::host_graphs,
                                     GpuOrdering::graph, GpuOrdering::one_by_one};

Job job_for_gpu(const System& system) {
  return job_of(system, gpu_job_length(system.placement.ranks()));
}

Job one_f_one_b_job() { return job_for_gpu(system_of("1f1b", 4, 8)); }

/// Runs a job twice on a fake GPU, and tells why that says nothing.
std::string why_no_score(const FakeGpu& gpu, const Job& job) {
  const auto backend = make_gpu_backend(job, GpuOrdering::host_issued, gpu.calls());
  backend->run();
  backend->run();
  return backend->why_no_score().value_or("");
}

std::string refusal(const Job& job) {
  const FakeGpu gpu;
  return refused_with<UsageError>(
      [&] { make_gpu_backend(job, GpuOrdering::host_issued, gpu.calls()); });
}

}  // namespace

// The fake GPU knows streams and events, and nothing of plans: where an event is not waited for, a
// task begins too early, and the simulation of the plan no longer takes what the run took.
TEST_CASE("gpu backend: every schedule of the catalogue runs, with errors of zero") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const std::uint32_t ranks : {2U, 4U, 8U}) {
      for (const GpuOrdering ordering : orderings) {
        CAPTURE(entry->name);
        CAPTURE(ranks);
        FakeGpu gpu;
        // Half a second for each schedule and ordering.
        if (ranks == 2 && std::string_view(entry->name) == "1f1b") {
          gpu.kernels = ptx::compiled_kernels();
        }
        const GpuCalls calls = gpu.calls();
        const Job job = job_for_gpu(system_of(*entry, ranks, 2 * ranks));
        REQUIRE_FALSE(gpu_obstacle(job.priced, &calls));
        const auto backend = make_gpu_backend(job, ordering, calls);
        const Measurement measured = measured_by(*backend, job, {.iterations = 2});
        CHECK(measured.complete);
        const RunErrors errors = run_errors(job, measured);
        CHECK(errors.structure == 0);
        CHECK(errors.profile == 0);
        CHECK(errors.start == 0);
        CHECK_FALSE(backend->why_no_score());
      }
    }
  }
}

TEST_CASE("gpu backend: communication as written runs, with errors of zero") {
  for (const char* name : {"1f1b", "interleaved-1f1b", "zb-h1"}) {
    for (const GpuOrdering ordering : orderings) {
      CAPTURE(name);
      System system = system_of(name, 4, 8);
      Communication& comms = system.extras.communication;
      comms.rows = read_torch_csv(write_torch_comms(system.schedule, system.placement, {})).comms;
      const FakeGpu gpu;
      const GpuCalls calls = gpu.calls();
      const Job job = job_for_gpu(system);
      const Plan& plan = job.priced.plan;
      REQUIRE(plan.written);
      // A transfer also waits for its receiver, which writes nothing into the buffer that is sent.
      const GpuProgram program = gpu_program(job);
      for (TaskId task = 0; task < plan.tasks(); ++task) {
        const std::uint32_t lane = program.tasks[task].lane;
        if (!plan.is_link(lane)) continue;
        CHECK(program.tasks[producer_of(program, task)].lane == index(plan.link(lane).from));
      }
      REQUIRE_FALSE(gpu_obstacle(job.priced, &calls));
      const auto backend = make_gpu_backend(job, ordering, calls);
      const Measurement measured = measured_by(*backend, job, {.iterations = 2});
      CHECK(run_errors(job, measured).structure == 0);
    }
  }
}

TEST_CASE("gpu backend: where lanes cannot be captured as one graph, the host launches tasks") {
  FakeGpu gpu;
  gpu.capture_error = 801;
  const GpuCalls calls = gpu.calls();
  const Job job = one_f_one_b_job();
  const std::string why = "trying to wait on lane 0: cudaErrorNotSupported (801), at ";
  {
    const auto backend = make_gpu_backend(job, GpuOrdering::host_graphs, calls);
    REQUIRE(std::holds_alternative<Timeline>(backend->run()));
    CHECK_FALSE(backend->why_no_score());
    const auto environment = backend->environment();
    CHECK(environment.at("mode") == "green_contexts");
    CHECK(environment.at("host_effect").starts_with("unknown, no graph of all lanes: " + why));
  }
  const auto backend = make_gpu_backend(job, GpuOrdering::graph, calls);
  REQUIRE(std::holds_alternative<Timeline>(backend->run()));
  CHECK(backend->why_no_score().value().starts_with(
      "ranks share all SMs (streams_unpartitioned): " + why));
}

TEST_CASE("gpu backend: a program has the tasks of its plan, with their lanes, times and bytes") {
  const Job job = one_f_one_b_job();
  const GpuProgram program = gpu_program(job);
  REQUIRE(program.tasks.size() == job.priced.plan.tasks());
  const TaskId sent = task_of(job.priced.plan, "1SEND_F3");
  const GpuTask& transfer = program.tasks[sent];
  CHECK(program.is_transfer(transfer));
  CHECK(text(job.priced.plan.links[transfer.lane - program.ranks]) == "1>2");
  CHECK(transfer.bytes == 4096);
  CHECK(transfer.duration_ns ==
        static_cast<std::uint64_t>(job.work_ns(job.priced.plan.work[sent])));
  CHECK(transfer.latency_ns > 0);
  CHECK(transfer.inputs == std::vector<std::uint32_t>{task_of(job.priced.plan, "1F3")});
  CHECK(program.tasks[task_of(job.priced.plan, "2F3")].inputs == std::vector<std::uint32_t>{sent});
  CHECK(program.tasks[task_of(job.priced.plan, "2F3")].lane == 2);
}

TEST_CASE("gpu backend: a run says where it was, and what it does not validate") {
  const FakeGpu gpu;
  const Job job = one_f_one_b_job();
  const auto backend = make_gpu_backend(job, GpuOrdering::graph, gpu.calls());
  backend->run();
  const auto environment = backend->environment();
  CHECK(environment.at("backend") == "cuda_single_graph");
  CHECK(environment.at("device") == "fake GPU");
  CHECK(environment.at("cc") == "9.0");
  CHECK(environment.at("sms") == "132");
  CHECK(environment.at("partition_sms") == "32");
  CHECK(environment.at("sms_for_links") == "4");
  CHECK(environment.at("sms_in_several_ranks") == "0");
  CHECK(environment.at("cuda") == "13.0");
  CHECK(environment.at("cudart") == "12.6");
  CHECK(environment.at("mode") == "green_contexts");
  CHECK(environment.at("clock") == "globaltimer, in steps of 32 ns");
  CHECK(environment.at("streams") == "11");
  CHECK(environment.at("hardware_queues") == "32");
  CHECK(environment.at("validates").find("does not validate NVLink") != std::string::npos);
}

TEST_CASE("gpu backend: one at a time, actions have the whole GPU and links their stated time") {
  const FakeGpu gpu;
  static decltype(GpuCalls::launch_action) launch = nullptr;
  static std::uint32_t fewest = UINT32_MAX;  // blocks of an action that waits, one for each SM
  GpuCalls calls = gpu.calls();
  launch = calls.launch_action;
  calls.launch_action = [](GpuStream stream, const GpuActionKernel& kernel) {
    fewest = std::min(fewest, kernel.blocks);
    return launch(stream, kernel);
  };
  const Job job = one_f_one_b_job();
  const auto backend = make_gpu_backend(job, GpuOrdering::one_by_one, calls);
  const auto outcome = backend->run();
  CHECK_FALSE(backend->why_no_score());
  const Plan& plan = job.priced.plan;
  const Timeline& timeline = std::get<Timeline>(outcome);
  // Ranks 1 and 3 overlap, as on GPUs of their own.
  const TaskId last = task_of(plan, "3F0"), other = task_of(plan, "1F2");
  CHECK(timeline.begin[other] < timeline.end[last]);
  const TaskId sent = task_of(plan, "0SEND_F0");
  CHECK(timeline.end[sent] - timeline.begin[sent] ==
        from_ns(job.work_ns(plan.work[sent]) + job.latency_ns(plan.work[sent])));
  const auto environment = backend->environment();
  CHECK(fewest == 132);
  CHECK(environment.at("backend") == "cuda_logical");
  CHECK(environment.at("partition_sms") == "132");
  CHECK(environment.at("validates").find("on the whole GPU") != std::string::npos);
}

// Runs of the fake GPU take simulated time, and its host real time: a run of seconds is issued in
// far less, one of milliseconds in more if a launch takes one.
TEST_CASE("gpu backend: one action at a time, the share that the host issued is measured") {
  static decltype(GpuCalls::launch_action) launch;
  const FakeGpu gpu;
  GpuCalls calls = gpu.calls();
  const System system = system_of("1f1b", 2, 4);
  const auto host_effect = [&](std::int64_t action_ns) {
    const Job job = job_of(system, {.mean_action_ns = action_ns, .least_work_ns = 0});
    const auto backend = make_gpu_backend(job, GpuOrdering::one_by_one, calls);
    backend->run();
    return backend->environment().at("host_effect");
  };
  CHECK(host_effect(1'000'000'000).starts_with("none: the host issued for "));
  launch = calls.launch_action;
  calls.launch_action = [](GpuStream stream, const GpuActionKernel& kernel) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return launch(stream, kernel);
  };
  CHECK(host_effect(10'000) == "the host issued for 100 % of a run: kernels wait for it");
}

// A split backward, whose I and W are actions of their own, and stages of two sizes.
TEST_CASE("gpu backend: actions of layers have errors of zero, and the run says of which") {
  const std::pair<GpuWork, const char*> works[] = {
      {GpuWork::transformer, "examples=1 heads=1 hidden=64 inner=64 tokens=8"},
      {GpuWork::gated_transformer, "examples=1 heads=1 hidden=64 inner=32 tokens=8"},
      {GpuWork::convolution, "channels=8 examples=1 kernel=3 side=4"},
      {GpuWork::conditional_convolution, "channels=8 examples=1 kernel=3 kernels=4 side=4"}};
  for (const auto& [work, layers] : works) {
    for (const GpuOrdering ordering : orderings) {
      CAPTURE(layers);
      FakeGpu gpu;
      gpu.most_work = 0;
      Job job = job_of(system_of("zb-h1", 2, 4), {.mean_action_ns = 4000, .least_work_ns = 0});
      job.device.work = work;
      const auto backend = make_gpu_backend(job, ordering, gpu.calls(), tiny_layers);
      const RunErrors errors = run_errors(job, measured_by(*backend, job, {.iterations = 2}));
      CHECK(errors.structure == 0);
      CHECK(errors.profile == 0);
      CHECK_FALSE(backend->why_no_score());
      const auto environment = backend->environment();
      CHECK(environment.at("layers") == layers);
      CHECK(environment.contains("algorithms"));
      CHECK(environment.at("validates").find("only wait") == std::string::npos);
    }
  }
}

// The driver's own version is there where Linux tells it.
TEST_CASE("gpu backend: the store knows by which keys GPUs and their shares differ") {
  FakeGpu gpu;
  const Job job = one_f_one_b_job();
  const auto environment = [&] {
    return make_gpu_backend(job, GpuOrdering::graph, gpu.calls())->environment();
  };
  const auto partitioned = environment();
  CHECK(role_of_key("device") == KeyRole::machine);
  for (const char* key : {"cc", "sms", "partition_sms"}) {
    CHECK(partitioned.contains(key));
    CHECK(role_of_key(key) == KeyRole::part);
  }
  CHECK(role_of_key("cudart") == KeyRole::version);
  CHECK(role_of_key("cuda") == KeyRole::recorded);
  CHECK(partitioned.contains("driver") ==
        nvidia_driver(file_text("/proc/driver/nvidia/version")).has_value());
  gpu.has_green_contexts = false;
  const auto whole = environment();
  CHECK(whole.at("partition_sms") == "132");
  const auto differences = environment_differences(partitioned, whole);
  REQUIRE(differences.size() == 1);
  CHECK(differences.front().key == "partition_sms");
}

// 16 ranks and 30 links between neighbours, and the conductor: 47 streams for 32 queues.
// 4 ranks have 6 links, and thus 11 streams, for which a user may have left too few queues; with
// default streams, of 5 contexts and the device, they are 17. Where these have no queues, they are
// in nobody's way.
TEST_CASE("gpu backend: with more streams than hardware queues, nothing is said of errors") {
  FakeGpu gpu;
  CHECK(why_no_score(gpu, job_for_gpu(system_of("1f1b", 16, 16))) ==
        "47 streams share 32 hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, at most 32), so tasks "
        "wait for unrelated ones");
  CHECK(why_no_score(gpu, job_for_gpu(system_of("1f1b", 8, 8))) == "");
  gpu.queues = 11;
  CHECK(why_no_score(gpu, one_f_one_b_job()) == "");
  gpu.default_streams_have_queues = true;
  gpu.queues = 17;
  CHECK(why_no_score(gpu, one_f_one_b_job()) == "");
  gpu.queues = 12;
  CHECK(why_no_score(gpu, one_f_one_b_job()) ==
        "11 streams, and 6 of contexts share 12 hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, at "
        "most 32), so tasks wait for unrelated ones");
  gpu.queues = 10;
  CHECK(why_no_score(gpu, one_f_one_b_job()) ==
        "11 streams share 10 hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, at most 32), so tasks "
        "wait for unrelated ones");
}

TEST_CASE("gpu backend: where ranks share SMs, nothing is said of errors") {
  const Job job = one_f_one_b_job();
  FakeGpu gpu;
  CHECK(why_no_score(gpu, job) == "");
  gpu.keeps_partition = false;
  CHECK(why_no_score(gpu, job) == "32 SMs ran actions of several ranks");
  gpu.has_green_contexts = false;
  CHECK(why_no_score(gpu, job) ==
        "ranks share all SMs (streams_unpartitioned): the driver has no green contexts");
}

TEST_CASE("gpu backend: SM ids that begin anew in each context are no shared SMs") {
  FakeGpu gpu;
  gpu.numbers_by_context = true;
  const Job job = one_f_one_b_job();
  const auto backend = make_gpu_backend(job, GpuOrdering::host_issued, gpu.calls());
  CHECK_FALSE(backend->why_no_score());
  CHECK(backend->environment().at("sm_ids") == "numbered by context");
  CHECK(backend->environment().at("sms_in_several_ranks") == "0");
}

// A copy may be 2 us late for starting; here each takes twice its time and 2 us.
TEST_CASE("gpu backend: a link that is slower than asked for is another link") {
  const Job job = one_f_one_b_job();
  const std::int64_t asked =
      job.work_ns(job.priced.plan.work[task_of(job.priced.plan, "0SEND_F0")]);
  FakeGpu gpu;
  gpu.copy_ns_least = static_cast<std::uint64_t>(asked) + 2000;
  CHECK(why_no_score(gpu, job) == "");
  gpu.copy_ns_least = 2 * static_cast<std::uint64_t>(asked) + 2000;
  CHECK(why_no_score(gpu, job) ==
        "link 0>1 reached 50.0 % of its rate; below 97 % the run does not count");
}

TEST_CASE("gpu backend: a plan that would wait for ever is a deadlock, and nothing is launched") {
  Job job = one_f_one_b_job();
  job.priced.plan.input[task_of(job.priced.plan, "0SEND_F0")] = task_of(job.priced.plan, "0B0");
  const FakeGpu gpu;
  const auto backend = make_gpu_backend(job, GpuOrdering::graph, gpu.calls());
  const Standstill halt = halt_of(*backend);
  CHECK(halt.kind == "deadlock");
  CHECK(halt.text == "deadlock: 0SEND_F0 waits for 0B0, which follows it");
  CHECK(gpu.graph_launches == 0);
}

TEST_CASE("gpu backend: tensors and links that are too much for one GPU are refused") {
  Job job = one_f_one_b_job();
  const std::uint32_t link = job.priced.plan.work[task_of(job.priced.plan, "0SEND_F0")];
  CHECK(refusal(job) == "accepted");
  std::uint64_t& bytes = job.priced.costs.bytes[job.priced.plan.classes[link].buffer];
  bytes = UINT64_MAX;
  CHECK(refusal(job) == "a run would copy more than 64 GiB, the limit of one GPU");
  bytes = 4096;
  job.priced.costs.duration[link] = from_us(1e9);
  CHECK(refusal(job) == "the transfers of a run would take more than 10 s in total");
}

TEST_CASE("gpu backend: what is in the way of a plan, of the machine and of the build") {
  const Job job = one_f_one_b_job();
  FakeGpu gpu;
  gpu.devices_error = 100;
  const GpuCalls calls = gpu.calls();
  const auto machine = gpu_obstacle(job.priced, &calls);
  REQUIRE(machine);
  CHECK(machine->of_machine);
  CHECK(machine->text == "no GPU: the driver sees none, cudaErrorNoDevice (100)");
  const auto build = gpu_obstacle(job.priced, nullptr);
  REQUIRE(build);
  CHECK(build->of_machine);
  CHECK(build->text.find("no GPU: this build is without CUDA, ") == 0);
  PricedPlan fused = job.priced;
  fused.plan.classes.front().partner = 1;
  const auto plan = gpu_obstacle(fused, &calls);
  REQUIRE(plan);
  CHECK_FALSE(plan->of_machine);
  CHECK(plan->text == "overlap cells that run fused");
  const auto ranks = gpu_obstacle(priced(system_of("gpipe", 65, 1)), &calls);
  REQUIRE(ranks);
  CHECK(ranks->text == "65 ranks on one GPU; at most 64");
}

}  // namespace penstock::testing
