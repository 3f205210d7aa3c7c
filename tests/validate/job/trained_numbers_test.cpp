#include "validate/job/trained_numbers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/small_models.hpp"
#include "validate/backends/registry.hpp"
#include "validate/job/replica_ranks.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/processes/process_backend.hpp"
#include "validate/training/reference_numbers.hpp"

// The proof that an order trains the same model: run in threads that hand tensors to each other, it
// comes to the loss and the gradients of the model in one piece, which knows no order.

namespace penstock::testing {
namespace {

constexpr double tolerance = 1e-10;

std::uint32_t slices_of(const ScheduleEntry& entry) {
  return entry.slices_for == nullptr ? 1 : entry.slices_for({});
}

/// What a rule states of its weights, in the words of its paper: PipeDream's stage s of p lets
/// p-1-s updates by between a microbatch and its own; PipeDream-2BW's groups of p see the version
/// before the newest.
std::vector<StatedVersions> stated(const ScheduleEntry& entry, std::uint32_t ranks) {
  std::vector<StatedVersions> versions;
  for (std::uint32_t stage = 0; stage < ranks; ++stage) {
    if (entry.weights == WeightUse::newest) versions.push_back({1, 1, ranks - 1 - stage});
    if (entry.weights == WeightUse::delayed) versions.push_back({1, ranks, 1});
  }
  return versions;
}

std::vector<std::uint32_t> first_numbers(std::uint32_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

TrainedNumbers trained(const Job& job) {
  const auto backend = cpu_logical().make(job);
  timeline_of(backend->run());
  return backend->numbers().value();
}

/// The ways in which activations may be kept.
struct Keeping {
  const char* name;
  bool again = false;
  bool selective = false;
  bool early = false;
  bool except_last = false;
};
constexpr Keeping keepings[] = {{"kept"},
                                {"full", true},
                                {"selective", true, true},
                                {"early", true, false, true},
                                {"except_last", true, false, false, true}};

using Layers = std::vector<LayerSpec>;

/// Runs every schedule on 2 and 4 ranks, however activations are kept.
void check_all_schedules(const Layers& layers, const CellShape& shape, bool in_slices) {
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (slices_of(*entry) > 1 && !in_slices) continue;
    for (const std::uint32_t ranks : {2U, 4U}) {
      const std::uint32_t microbatches = 2 * ranks;
      System system = system_of(*entry, ranks, microbatches);
      CellShape cell = shape;
      cell.slices = slices_of(*entry);
      JobLayers whole = *layered_job(system, layers, cell).layers;
      const TrainedNumbers right =
          reference_numbers(whole, first_numbers(microbatches), system.schedule.has_backward(),
                            stated(*entry, ranks));
      for (const Keeping& keeping : keepings) {
        CAPTURE(entry->name);
        CAPTURE(ranks);
        const std::string kept = keeping.name;
        CAPTURE(kept);
        Recomputing& again = system.extras.recomputing;
        again.stages.assign(keeping.again ? whole.stages.size() : 0, true);
        again.early = keeping.early;
        again.except_last = keeping.except_last;
        Job job = layered_job(system, layers, cell);
        job.layers->selective = keeping.selective;
        CHECK(largest_error(trained(job), right) < tolerance);
      }
    }
  }
}

System hand_made(std::uint32_t ranks, std::string_view csv) {
  return {Placement::loop(ranks, 1), order_of(csv), {}};
}

Job transformer_job(const System& system) {
  return layered_job(system, small_transformer(), small_transformer_shape());
}

TrainedNumbers right_for(const Job& job, std::uint32_t microbatches) {
  return reference_numbers(*job.layers, first_numbers(microbatches), true);
}

/// A transformer on data replicas that reduce its gradients and update it.
Job on_replicas(std::string_view schedule, std::uint32_t replicas, const Tail& tail,
                StepRule step) {
  System system = system_of(schedule, 2, 4);
  system.extras.tail = tail;
  const std::size_t stages = system.placement.chains().front().size();
  system.extras.tail.reduces.assign(stages, true);
  if (!tail.early.empty()) system.extras.tail.early.assign(stages, true);
  system.extras.tail.updates = true;
  Job job = transformer_job(system);
  job.layers->step = step;
  job.priced = with_replica_ranks(job.priced, std::vector<Costs>(replicas, job.priced.costs));
  return job;
}

/// What one copy of the model comes to on all microbatches, and its weights after the step.
TrainedNumbers right_after_step(const Job& job, std::uint32_t microbatches) {
  TrainedNumbers right = right_for(job, microbatches);
  add_step(*job.layers, right);
  return right;
}

constexpr std::array reducing_schedules{"1f1b", "gpipe", "zb-h1", "interleaved-1f1b", "dualpipe"};

}  // namespace

// Each replica has 4 microbatches of its own, and dualpipe both stages on both ranks. All copies
// add up the same sums in the same order: their weights are equal to the last bit.
TEST_CASE("training: replicas give the gradients and the step of one model on the whole batch") {
  const Tail behind_row{.summing = Summing::behind_row};
  for (const char* name : reducing_schedules) {
    for (const Tail& tail : {Tail{}, Tail{.early = {true}}, Tail{.summing = Summing::behind_each},
                             Tail{.gathers = true, .summing = Summing::behind_each}, behind_row}) {
      for (const std::uint32_t replicas : {1U, 2U, 3U}) {
        for (const StepRule step : {StepRule::sgd, StepRule::adam}) {
          CAPTURE(name);
          CAPTURE(replicas);
          const Job job = on_replicas(name, replicas, tail, step);
          const TrainedNumbers numbers = trained(job);
          CHECK(largest_error(numbers, right_after_step(job, 4 * replicas)) < tolerance);
          CHECK(numbers.copies_apart == 0);
        }
      }
    }
  }
}

TEST_CASE("training: an update without the sums of one replica is found out") {
  Job job = on_replicas("1f1b", 2, {}, StepRule::sgd);
  CHECK(largest_error(trained(job), right_after_step(job, 8)) < tolerance);
  Plan& plan = job.priced.plan;
  // Replica 0 leaves out what replica 1 has summed of stage 1.
  plan.input[task_of(plan, "1U3")] = task_of(plan, "1REDUCE3");
  CHECK(largest_error(trained(job), right_after_step(job, 8)) > 1e-6);
}

TEST_CASE("training: replicas may be spread over processes, and train the same model") {
  const Job job = on_replicas("1f1b", 2, {}, StepRule::adam);
  ProcessBackend backend(job, cpu_logical().make_part, 2);
  CHECK(std::holds_alternative<Timeline>(backend.run()));
  const TrainedNumbers numbers = backend.numbers().value();
  CHECK(largest_error(numbers, right_after_step(job, 8)) < tolerance);
}

TEST_CASE("training: every schedule gives a transformer the gradients of the model in one piece") {
  check_all_schedules(small_transformer(), small_transformer_shape(), true);
}

TEST_CASE("training: every schedule gives a convolution net the gradients of one piece") {
  check_all_schedules(small_convolution_net(), small_convolution_shape(), false);
}

TEST_CASE("training: every schedule gives layers with a state the gradients of one piece") {
  check_all_schedules(small_hybrid(), small_transformer_shape(), false);
}

TEST_CASE("training: every schedule gives a reader of pictures the gradients of one piece") {
  check_all_schedules(small_reader_of_pictures(), small_transformer_shape(), false);
}

TEST_CASE("training: every schedule gives cells that read two outputs the gradients of one piece") {
  check_all_schedules(small_amoebanet(), small_convolution_shape(), false);
}

// Loss and gradients of one piece by themselves: half the squared distance of the residual network
// is left to go down. A step of 1e-6 down the gradient g lowers the loss by 1e-6 |g|^2.
TEST_CASE("training: the gradients of the whole model lead down its loss") {
  JobLayers layers;
  layers.shape = small_transformer_shape();
  layers.rate = 1e-6;
  layers.stages = {small_transformer()};
  const TrainedNumbers first = reference_numbers(layers, {0}, true);
  // After microbatch 0 comes microbatch 0 again, by the numbers of an example: the same inputs.
  double square = 0;
  for (const auto& layer : first.gradients) {
    for (const double slope : layer) square += slope * slope;
  }
  const TrainedNumbers both = reference_numbers(layers, {0, 0}, true, {{1, 1, 0}});
  const double change = both.loss - 2 * first.loss;
  CHECK(first.loss > 0);
  CHECK(change == doctest::Approx(-layers.rate * square).epsilon(1e-3));
}

// Stage 0 on ranks 0 and 1 in turn, stage 1 on rank 2. Replicas keep weights of their own: a
// microbatch of stage 0 has (3-1)/2 = 1 of its replica under way before it, and none on stage 1.
TEST_CASE("training: replicas of a stage have weights of their own, and gradients add up") {
  const ScheduleEntry& entry = *find_named(schedule_entries(), "pipedream");
  System system{
      .placement = Placement::given(3, {{Rank{0}, Rank{1}}, {Rank{2}}}, {{Stage{0}, Stage{1}}}),
      .schedule = {},
      .stages = {}};
  system.schedule = make_schedule(entry, system.placement, {8, {}});
  const Job job = transformer_job(system);
  const TrainedNumbers numbers = trained(job);
  const auto right = [&](std::uint32_t replicas, std::uint32_t delay) {
    return reference_numbers(*job.layers, first_numbers(8), true,
                             {{replicas, 1, delay}, {1, 1, 0}});
  };
  CHECK(largest_error(numbers, right(2, 1)) < tolerance);
  CHECK(largest_error(numbers, right(1, 1)) > 1e-6);
  CHECK(largest_error(numbers, right(2, 0)) > 1e-6);
}

TEST_CASE("training: each iteration comes to the same numbers, updates or not") {
  const System system = system_of("pipedream", 2, 4);
  const Job job = transformer_job(system);
  const auto backend = cpu_logical().make(job);
  REQUIRE(std::holds_alternative<Timeline>(backend->run()));
  const TrainedNumbers first = backend->numbers().value();
  backend->profile();
  REQUIRE(std::holds_alternative<Timeline>(backend->run()));
  CHECK(largest_error(backend->numbers().value(), first) == 0);
}

// What comes to the same numbers is run in threads with logical clocks, so its structure is right
// to the nanosecond too. Rank 0 of BPipe puts activations out to rank 3.
TEST_CASE("training: real layers are timed as busy kernels are, with a structure error of zero") {
  for (const char* name : {"1f1b", "bpipe", "zb-h1", "seq-1f1b"}) {
    const ScheduleEntry& entry = *find_named(schedule_entries(), name);
    const System system = system_of(entry, 4, 8);
    CellShape shape = small_transformer_shape();
    shape.slices = slices_of(entry);
    const Job job = layered_job(system, small_transformer(), shape);
    const auto backend = cpu_logical().make(job);
    const RunErrors errors =
        run_errors(job, measured_by(*backend, job, {.iterations = 3, .steady = 100}));
    CHECK(errors.structure == 0);
    CHECK(errors.measured > Time{});
  }
}

// Tensors of several sizes, through rings. Each rank needs a core.
TEST_CASE("training: in real time the same model is trained") {
  const BackendEntry& realtime = *find_named(backend_entries(), "cpu_realtime");
  for (const char* name : {"1f1b", "interleaved-1f1b", "zb-v", "dualpipe"}) {
    CAPTURE(name);
    const System system = system_of(name, 2, 4);
    const Job job = transformer_job(system);
    if (const auto obstacle = realtime.obstacle(job.priced)) {
      MESSAGE("left out: " << obstacle->text);
      return;
    }
    const auto backend = realtime.make(job);
    timeline_of(backend->run());
    CHECK(largest_error(backend->numbers().value(), right_for(job, 4)) < tolerance);
  }
}

TEST_CASE("training: a W in front of its I is a fault") {
  const std::string_view order = "0F0,0I0,0W0\n1F0,1I0,1W0\n";
  Job job = transformer_job(hand_made(2, order));
  CHECK(largest_error(trained(job), right_for(job, 1)) < tolerance);
  std::swap(job.priced.plan.work[task_of(job.priced.plan, "1I0")],
            job.priced.plan.work[task_of(job.priced.plan, "1W0")]);
  const Standstill halt = halt_of(job);
  CHECK(halt.kind == "wrong_tensor");
  CHECK(halt.rank == Rank{1});
  CHECK(halt.text == "1W0 on rank 1: the state kept by I is missing");
}

TEST_CASE("training: a microbatch that is done twice is a fault") {
  Job job = transformer_job(hand_made(1, "0F0,0B0,0F1,0B1\n"));
  CHECK(largest_error(trained(job), right_for(job, 2)) < tolerance);
  job.priced.plan.microbatch[task_of(job.priced.plan, "0F1")] = Microbatch{0};
  CHECK(halt_of(job).text == "0F0 on rank 0: it runs a second time");
  job.priced.plan.microbatch[2] = Microbatch{1};
  job.priced.plan.microbatch[task_of(job.priced.plan, "0B1")] = Microbatch{0};
  CHECK(halt_of(job).text == "0B0 on rank 0: the activation kept by F is missing");
}

TEST_CASE("training: a microbatch in another's place shows in the gradients") {
  Job job = transformer_job(hand_made(1, "0F0,0B0,0F1,0B1\n"));
  for (const char* task : {"0F1", "0B1"}) {
    job.priced.plan.microbatch[task_of(job.priced.plan, task)] = Microbatch{2};
  }
  CHECK(largest_error(trained(job), right_for(job, 2)) > 1e-3);
}

// Model stages 1 and 2 in each other's place take tensors of the same size.
TEST_CASE("training: a tensor of the wrong stage is a fault, and stages in the wrong order show") {
  Job job = transformer_job(system_of("gpipe", 4, 2));
  const TrainedNumbers right = right_for(job, 2);
  CHECK(largest_error(trained(job), right) < tolerance);
  Job tied_wrongly = job;
  std::swap(tied_wrongly.priced.plan.model_stage[1], tied_wrongly.priced.plan.model_stage[2]);
  const Standstill halt = halt_of(tied_wrongly);
  CHECK(halt.kind == "wrong_tensor");
  CHECK(halt.text.find("came where") != std::string::npos);
  std::swap(job.layers->stages[1], job.layers->stages[2]);
  CHECK(largest_error(trained(job), right) > 1e-3);
}

// Groups of 4 see the version before the newest. Of the last group, the first forwards run before
// the update of the group in front.
TEST_CASE("training: weights of the wrong version show in the gradients, or are not there") {
  const System groups = system_of("pipedream-2bw", 4, 12);
  Job job = transformer_job(groups);
  const std::vector<StatedVersions> versions(4, {1, 4, 1});
  const TrainedNumbers right = reference_numbers(*job.layers, first_numbers(12), true, versions);
  CHECK(largest_error(trained(job), right) < tolerance);
  job.layers->weights = {WeightUse::newest};
  CHECK(largest_error(trained(job), right) > 1e-6);
  job.layers->weights = {WeightUse::delayed, 0};
  CHECK(halt_of(job).text.find("of its weights is missing") != std::string::npos);
}

// Slice 1 of a sequence goes forward behind slice 0 and back in front of it.
TEST_CASE("training: slices that go back in the wrong order are a fault") {
  CellShape shape = small_transformer_shape();
  shape.slices = 2;
  const Job right = layered_job(hand_made(1, "0F0,0F1,0B1,0B0\n"), small_transformer(), shape);
  CHECK(largest_error(trained(right), right_for(right, 1)) < tolerance);
  for (const char* order : {"0F0,0F1,0B0,0B1\n", "0F0,0B0,0F1,0B1\n"}) {
    const Job job = layered_job(hand_made(1, order), small_transformer(), shape);
    CHECK(halt_of(job).text == "0B0 on rank 0: the previous slice has not run");
  }
}

TEST_CASE("training: numbers that are not finite or of another model are infinitely far off") {
  const TrainedNumbers right{2, {{1, -4}, {}}};
  CHECK(largest_error(right, right) == 0);
  CHECK(largest_error({2, {{1, -3}, {}}}, right) == doctest::Approx(0.25));
  CHECK(largest_error({3, {{1, -4}, {}}}, right) == doctest::Approx(0.5));
  CHECK(std::isinf(largest_error({2, {{1}, {}}}, right)));
  CHECK(std::isinf(largest_error({2, {{1, -4}}}, right)));
  CHECK(std::isinf(largest_error({2, {{1, std::nan("")}, {}}}, right)));
}

}  // namespace penstock::testing
