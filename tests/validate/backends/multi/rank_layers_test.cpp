#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tests/support/fake_cluster.hpp"
#include "tests/support/jobs.hpp"
#include "validate/backends/multi/multi_backend.hpp"
#include "validate/backends/multi/rank_communicators.hpp"
#include "validate/backends/multi/rank_run.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/processes/child_process.hpp"

namespace penstock::testing {
namespace {

Job layered_job(const char* schedule, std::uint32_t ranks, std::uint32_t microbatches,
                GpuWork work) {
  System system = system_of(schedule, ranks, microbatches);
  system.overlap = Overlap::fused;
  Job job = penstock::job_of(priced(system), {.mean_action_ns = 20'000});
  use_real_links(job);
  job.device.work = work;
  return job;
}

/// Layers of some hundred nanoseconds on a fake GPU.
constexpr GpuLayerSizes brief{.examples = 1,
                              .tokens = 256,
                              .heads = 4,
                              .inner = 1024,
                              .gated_inner = 704,
                              .images = 2,
                              .channels = 64,
                              .side = 14};

/// A chain of equal layers, divided among ranks.
Job chain(const char* schedule, std::uint32_t ranks, std::uint32_t microbatches,
          bool recomputes = false) {
  constexpr double whole_us = 0.4;
  System system = system_of(schedule, ranks, microbatches);
  const double share = whole_us / static_cast<double>(system.stages.size());
  for (Layer& stage : system.stages) {
    stage = stage_of(share, share, share);
    stage.activation_bytes = 4096;
    stage.stash_bytes = 4096;
    stage.recompute_us = recomputes ? share : 0;
  }
  if (recomputes) system.extras.recomputing.stages.assign(system.stages.size(), true);
  Job job = scaled_job(priced(system));
  use_real_links(job);
  job.device.work = GpuWork::transformer;
  return job;
}

constexpr GpuLayerSizes tiny{.examples = 1, .tokens = 8, .heads = 1, .inner = 64};

std::string hash_of(const void* memory, std::uint64_t bytes) {
  std::string_view all(static_cast<const char*>(memory), bytes);
  return fmt::format("{:x}", std::hash<std::string_view>()(all));
}

/// What the chain makes of the last microbatch, after some runs, and, where each microbatch has
/// buffers of its own, of all others.
struct ChainEnds {
  std::uint64_t layers = 0;
  std::string output;    // of the last stage
  std::string gradient;  // that the first stage hands back
};

void serve(const Job& job, ChannelRule rule, const MultiCalls& calls, const NcclId& id,
           std::uint32_t rank, Control& control) {
  setenv("CUDA_VISIBLE_DEVICES", fmt::format("{}", rank).c_str(), 1);
  const MultiJob multi = multi_job(job, rule);
  const GpuDevice device = rank_device(calls, multi.comms);
  const RankBodies bodies = rank_bodies(device, job, rank, tiny);
  const RankCommunicators communicators(device, *calls.nccl, multi.comms.channels, rank,
                                        job.priced.plan.ranks, id);
  GpuExecutor executor(device, rank_program(job, multi.comms, rank, bodies).program,
                       {.ordering = GpuOrdering::host_issued, .comms = &communicators.comms()});
  for (int run = 0; run < 2; ++run) executor.run();
  std::uint32_t last = 0;
  for (const WorkClass& work : job.priced.plan.classes) last = std::max(last, index(work.stage));
  std::string output = "-", gradient = "-";
  std::map<std::uint32_t, std::uint64_t> layers;  // by stage
  std::map<std::uint32_t, std::string> outputs;   // of the last stage, by slot
  const GpuProgram& own = executor.program();
  for (const GpuTask& task : own.tasks) {
    for (const GpuPart& part : task.parts) {
      const auto ends = executor.actions().ends(0, part.pass);
      if (!ends) continue;
      const GpuBody body = own.body(part.pass.body);
      layers[body.stage] = body.amount;
      const bool forward = body.pass == GpuPass::forward;
      if (forward && body.stage == last) {
        outputs[part.pass.slot] = output = hash_of(ends->out, ends->bytes);
      }
      if (!forward && body.stage == 0) gradient = hash_of(ends->out, ends->bytes);
    }
  }
  if (outputs.size() == job.priced.plan.microbatches) {
    for (const auto& [slot, hash] : outputs) output += hash;
  }
  std::uint64_t all = 0;
  for (const auto& [stage, count] : layers) all += count;
  control.send(MessageType::described, body_of(fmt::format("{} {} {}", all, output, gradient)));
}

ChainEnds ends_of(const Job& job, ChannelRule rule = ChannelRule::per_direction) {
  FakeCluster cluster(job.priced.plan.ranks);
  cluster.most_work = 1 << 20;
  const MultiCalls calls = cluster.calls();
  NcclId id;
  calls.nccl->get_unique_id(&id);
  const auto children = start_children(
      job.priced.plan.ranks,
      [&](std::uint32_t rank, Control& control) { serve(job, rule, calls, id, rank, control); });
  ChainEnds ends;
  for (const auto& child : children) {
    const auto message = child->control().receive();
    REQUIRE(message);
    std::uint64_t layers = 0;
    std::string output, gradient;
    std::istringstream(text_in(*message)) >> layers >> output >> gradient;
    ends.layers += layers;
    if (output != "-") ends.output = output;
    if (gradient != "-") ends.gradient = gradient;
  }
  return ends;
}

Job cells_job(System system, Overlap overlap, bool recomputes) {
  system.overlap = overlap;
  if (recomputes) system.extras.recomputing.stages.assign(system.stages.size(), true);
  Job job = scaled_job(priced(system));
  use_real_links(job);
  job.device.work = GpuWork::transformer;
  return job;
}

/// The transfer that brings what F, B or I reads from another rank.
std::optional<TaskId> transfer_to(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  const bool back = gives_gradient(work.pass);
  if (!back && work.pass != Pass::forward) return std::nullopt;
  for (TaskId other = 0; other < plan.tasks(); ++other) {
    const WorkClass& sent = plan.class_of(other);
    if (sent.pass != (back ? Pass::send_gradient : Pass::send_activation)) continue;
    const std::uint32_t stage = index(sent.stage) + (back ? -1 : 1);
    if (stage == index(work.stage) && plan.microbatch[other] == plan.microbatch[task]) return other;
  }
  return std::nullopt;
}

/// By task: all that ends before it begins, by waits alone.
std::vector<std::vector<bool>> all_before(const Plan& plan) {
  std::vector<TaskId> last(plan.resources(), no_task);
  std::vector<std::vector<bool>> before(plan.tasks(), std::vector<bool>(plan.tasks()));
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const auto add = [&](TaskId earlier) {
      before[task][earlier] = true;
      for (TaskId one = 0; one < task; ++one) {
        if (before[earlier][one]) before[task][one] = true;
      }
    };
    TaskId& previous = last[plan.class_of(task).resource];
    if (previous != no_task) add(previous);
    plan.for_each_input(task, add);
    previous = task;
  }
  return before;
}

/// Runs `visit(task, part, own)` for the actions of all ranks.
template <class Visitor>
void for_each_action(const Job& job, const Visitor& visit) {
  const MultiJob multi = multi_job(job, ChannelRule::per_direction);
  for (std::uint32_t rank = 0; rank < job.priced.plan.ranks; ++rank) {
    const GpuRankProgram own = rank_program(job, multi.comms, rank);
    for (std::size_t item = 0; item < own.items.size(); ++item) {
      const std::array tasks{own.items[item].action, own.items[item].beside};
      const std::vector<GpuPart>& parts = own.program.tasks[item].parts;
      for (std::size_t part = 0; part < parts.size(); ++part) visit(tasks[part], parts[part], own);
    }
  }
}

/// The received transfers of a rank, in order.
struct Arrival {
  TaskId transfer;
  std::uint32_t channel;
  std::uint32_t slot;
};
std::vector<Arrival> arrivals_of(const GpuRankProgram& own) {
  std::vector<Arrival> all;
  for (const GpuTask& task : own.program.tasks) {
    for (const GpuCall& call : task.calls) {
      if (call.kind == CommKind::receive) all.push_back({call.name, task.lane - 1, call.slot});
    }
  }
  return all;
}

/// Cells of both kinds, and recomputations in front of backwards. The tensor of 1B1 may come while
/// 0B0, behind 0F1 in its cell, still reads that of 1B0.
std::vector<Job> jobs_with_several_readers() {
  const auto named = [](const char* schedule) { return system_of(schedule, 4, 12); };
  std::vector<Job> jobs;
  for (const Overlap overlap : {Overlap::serial, Overlap::fused}) {
    jobs.push_back(cells_job(named("dualpipev"), overlap, false));
    jobs.push_back(cells_job(named("dualpipe"), overlap, false));
  }
  for (const char* schedule : {"1f1b", "zb-v"}) {
    jobs.push_back(cells_job(named(schedule), Overlap::serial, true));
  }
  jobs.push_back(cells_job(two_stages("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1"),
                           Overlap::serial, false));
  return jobs;
}

}  // namespace

// A plan lists what both parts of a cell read at the first one, and what B reads at the R before.
TEST_CASE("cuda_multi: each pass reads the tensor that is its own") {
  for (const Job& job : jobs_with_several_readers()) {
    CAPTURE(job.priced.plan.schedule);
    std::uint32_t checked = 0;
    for_each_action(job, [&](TaskId task, const GpuPart& part, const GpuRankProgram& own) {
      const auto transfer = transfer_to(job.priced.plan, task);
      REQUIRE(part.reads.has_value() == transfer.has_value());
      if (!transfer) return;
      for (const Arrival& arrival : arrivals_of(own)) {
        if (arrival.transfer != *transfer) continue;
        CHECK(part.reads->link == arrival.channel);
        CHECK(part.reads->slot == arrival.slot);
        ++checked;
      }
    });
    CHECK(checked >= 4);
  }
}

TEST_CASE("cuda_multi: no tensor arrives in a buffer before the last one there was read") {
  for (const Job& job : jobs_with_several_readers()) {
    const Plan& plan = job.priced.plan;
    CAPTURE(plan.schedule);
    const auto before = all_before(plan);
    std::map<TaskId, TaskId> readers;
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      if (const auto transfer = transfer_to(plan, task)) readers[*transfer] = task;
    }
    const MultiJob multi = multi_job(job, ChannelRule::per_direction);
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, TaskId> held;
      for (const Arrival& next : arrivals_of(rank_program(job, multi.comms, rank))) {
        const auto last = held.find({next.channel, next.slot});
        if (last != held.end()) CHECK(before[next.transfer][readers.at(last->second)]);
        held[{next.channel, next.slot}] = next.transfer;
      }
    }
  }
}

TEST_CASE("cuda_multi: what a stage makes is kept until the next stage of its rank has read it") {
  // Forwards alone: the first stage runs twice before the second reads what it made first.
  const System system{Placement::given(1, {{Rank{0}}, {Rank{0}}}, {{Stage{0}, Stage{1}}}),
                      order_of("0F0,0F1,1F0,0F2,1F1,1F2"),
                      {stage_of(1, 0), stage_of(1, 0)}};
  const Job job = cells_job(system, Overlap::serial, false);
  const Plan& plan = job.priced.plan;
  std::map<std::uint32_t, TaskId> holds;  // by slot: the action that wrote there last
  std::uint32_t read = 0;
  for_each_action(job, [&](TaskId task, const GpuPart& part, const GpuRankProgram&) {
    if (part.reads_from) {
      const TaskId made = holds.at(part.reads_from->slot);
      CHECK(plan.class_of(made).stage == Stage{0});
      CHECK(plan.microbatch[made] == plan.microbatch[task]);
      CHECK(plan.work[made] == part.reads_from->body);
      ++read;
    }
    holds[part.pass.slot] = task;
  });
  CHECK(read == 3);
}

TEST_CASE("cuda_multi: with recomputation, ranks hand back the same gradients") {
  const ChainEnds kept = ends_of(chain("1f1b", 2, 4));
  const ChainEnds again = ends_of(chain("1f1b", 2, 4, true));
  REQUIRE(again.layers == kept.layers);
  CHECK(again.output == kept.output);
  CHECK(again.gradient == kept.gradient);
}

TEST_CASE("cuda_multi: layers run on ranks for about their time, in fused cells too") {
  constexpr std::array kinds{GpuWork::transformer, GpuWork::gated_transformer, GpuWork::convolution,
                             GpuWork::conditional_convolution};
  for (const std::string schedule : {"1f1b", "zb-h1", "dualpipev"}) {
    for (const GpuWork work : kinds) {
      if (work != GpuWork::transformer && schedule != "1f1b") continue;
      CAPTURE(schedule);
      CAPTURE(name(work));
      const FakeCluster cluster(2);
      const Job job = layered_job(schedule.c_str(), 2, 8, work);
      MultiBackend backend(job, cluster.calls(), {.sizes = brief});
      const Measurement measured = measured_by(backend, job, {.iterations = 3});
      const RunErrors errors = run_errors(job, measured);
      CHECK(errors.structure < 2e-4);
      CHECK(errors.profile < 5e-3);
      const auto environment = backend.environment();
      CHECK(environment.at("bodies") == name(work));
      CHECK(environment.at("layers").find("=") != std::string::npos);
      CHECK(environment.at("tensors") == "what layers make, behind 16 bytes");
      CHECK(environment.contains("algorithms"));
      const TaskId first = task_of(job.priced.plan, "0F0");
      const Timeline& run = measured.iterations.front();
      const double took = to_us(run.end[first]) - to_us(run.begin[first]);
      CHECK(took > 0.2 * to_us(job.priced.costs.duration[job.priced.plan.work[first]]));
    }
  }
}

// The last microbatch of 1F1B with 5 of them has the buffers of the first, as all of one rank have.
TEST_CASE("cuda_multi: ranks that hand on what layers make compute what one rank computes") {
  for (const auto& [schedule, ranks, microbatches] :
       {std::tuple{"gpipe", 2U, 4U}, {"1f1b", 4U, 5U}, {"zb-h1", 4U, 5U}, {"zb-v", 2U, 1U}}) {
    CAPTURE(schedule);
    const ChainEnds one = ends_of(chain(schedule, 1, microbatches));
    CHECK(one.output.size() > 8);
    CHECK(one.gradient.size() > 8);
    for (const ChannelRule rule : {ChannelRule::per_direction, ChannelRule::per_pair}) {
      const ChainEnds several = ends_of(chain(schedule, ranks, microbatches), rule);
      REQUIRE(several.layers == one.layers);
      CHECK(several.output == one.output);
      CHECK(several.gradient == one.gradient);
    }
  }
}

// The middle of zb-v is between two stages of one rank; looped-bfs never has that.
TEST_CASE("cuda_multi: stages of one rank hand on what they make, forwards and back") {
  const ChainEnds by_transfers = ends_of(chain("looped-bfs", 2, 1));
  const ChainEnds within_a_rank = ends_of(chain("zb-v", 2, 1));
  REQUIRE(within_a_rank.layers == by_transfers.layers);
  CHECK(within_a_rank.output == by_transfers.output);
  CHECK(within_a_rank.gradient == by_transfers.gradient);
}

TEST_CASE("cuda_multi: a fused cell runs the layers of both its parts") {
  const FakeCluster cluster(2);
  const Job job = layered_job("dualpipev", 2, 8, GpuWork::transformer);
  MultiBackend backend(job, cluster.calls(), {.sizes = brief});
  const Timeline run = completed(backend.run());
  const Plan& plan = job.priced.plan;
  const auto took = [&](TaskId task) { return to_us(run.end[task]) - to_us(run.begin[task]); };
  std::map<std::pair<Stage, Pass>, double> alone;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!plan.is_link(work.resource) && work.partner == UINT32_MAX) {
      alone[{work.stage, work.pass}] = took(task);
    }
  }
  const auto time_of = [&](const WorkClass& work) {
    const auto whole = alone.find({work.stage, work.pass});
    if (whole != alone.end()) return whole->second;
    return alone.at({work.stage, Pass::backward_input}) +
           alone.at({work.stage, Pass::backward_weight});
  };
  std::uint32_t cells = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.partner == UINT32_MAX) continue;
    const double parts = time_of(work) + time_of(plan.classes[work.partner]);
    CHECK(took(task) == doctest::Approx(parts).epsilon(0.01));
    ++cells;
  }
  CHECK(cells > 4);
}

// 16 GiB are for all buffers of a rank.
TEST_CASE("cuda_multi: tensors too large to keep are not those of layers") {
  System system = system_of("gpipe", 2, 16);
  for (Layer& stage : system.stages) stage.activation_bytes = 1'200'000'000;
  Job job = scaled_job(priced(system));
  job.device.work = GpuWork::transformer;
  const MultiJob multi = multi_job(job, ChannelRule::per_direction);
  const GpuRankProgram own = rank_program(job, multi.comms, 0);
  CHECK_FALSE(own.carries_layers);
  for (const GpuTask& task : own.program.tasks) {
    for (const GpuCall& call : task.calls) CHECK(call.slot == 0);
    for (const GpuPart& part : task.parts) CHECK(part.makes.empty());
  }
  job.device.work = GpuWork::products;
  CHECK(rank_program(job, multi.comms, 0).program.tasks.front().parts.size() == 1);
}

}  // namespace penstock::testing
