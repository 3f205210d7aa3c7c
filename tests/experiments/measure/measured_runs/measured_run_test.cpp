#include "experiments/measure/measured_runs/measured_run.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/run.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/says.hpp"
#include "tests/support/traced_runs.hpp"

// Each test simulates a scenario, writes what PyTorch's profiler would have traced of it, and reads
// that back: so what must come out is known to the nanosecond.

namespace penstock::testing {
namespace {

/// Every action began and ended when it did in the run, to the nanosecond; how many were compared.
std::size_t check_spans(const MeasuredRun& measured, const RunResult& made) {
  const Plan& plan = measured.job.priced.plan;
  REQUIRE(plan_hash(plan) == plan_hash(*made.plan));
  std::size_t count = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) continue;
    CAPTURE(task_text(plan, task));
    CHECK(measured.timeline.begin[task].picoseconds == whole_ns(made.timeline.begin[task]) * 1000);
    CHECK(measured.timeline.end[task].picoseconds == whole_ns(made.timeline.end[task]) * 1000);
    ++count;
  }
  return count;
}

double median_us(const MeasuredRun& run, std::uint32_t stage, Pass pass) {
  for (const OpTimes& op : run.times) {
    if (op.model_stage == stage && op.pass == pass) return op.median_ns / 1e3;
  }
  return -1;
}

}  // namespace

// 1F1B with 6 microbatches on 3 ranks: 36 actions.
TEST_CASE("traces: annotations and launches give every op back to the nanosecond") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {});
  const MeasuredRun run = traces.read();
  CHECK(check_spans(run, made) == 36);
  CHECK(run.title == "1f1b, 3 ranks, 6 microbatches");
  CHECK(run.timeline.iteration == 3);
  CHECK(run.timeline.environment.at("times_of") == "kernels launched in annotations");
  CHECK(run.timeline.environment.at("device") == "Made GPU");
  CHECK(median_us(run, 1, Pass::forward) == 4);
  CHECK(median_us(run, 2, Pass::backward) == 10);
  CHECK(run.transfer_us == 0.25);
  CHECK(run.clock_error_ns == 0);
  REQUIRE(run.errors);
  CHECK(run.errors->structure == 0);
  CHECK(run.errors->profile == 0);
  CHECK(run.errors->simulated == makespan(*made.plan, made.timeline));
}

TEST_CASE("traces: clocks with bases of their own and headers behind the events change nothing") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {.info_last = true, .base_step_ns = 123'456'789});
  CHECK(check_spans(traces.read(), made) == 36);
}

TEST_CASE("traces: annotations of the device are enough, and those on its other streams no ops") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {.annotations = false, .device_annotations = true, .launches = false});
  const MeasuredRun run = traces.read();
  CHECK(check_spans(run, made) == 36);
  CHECK(run.timeline.environment.at("times_of") == "annotations of the device");
}

// Without a device, an op is as long as its annotation on the host.
TEST_CASE("traces: of a training without devices, annotations of the host are the ops") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {.launches = false, .kernels = false});
  const MeasuredRun run = traces.read();
  CHECK(check_spans(run, made) == 36);
  CHECK(run.timeline.environment.at("times_of") == "annotations of the host");
}

TEST_CASE("traces: kernels that nothing ties to annotations are refused, not guessed") {
  Traces traces({run_of(three_stages(steady_order))}, {.launches = false});
  CHECK(says(traces.refusal(), "nothing ties the device's kernels to them"));
}

TEST_CASE("traces: without annotations, messages and threads part the ops of a known order") {
  const RunResult made = run_of(three_stages(steady_order));
  for (const bool named : {true, false}) {
    CAPTURE(named);
    Traces traces({made}, {.annotations = false, .named_messages = named, .optimizer = true});
    traces.name("1f1b", 6);
    const MeasuredRun run = traces.read();
    CHECK(check_spans(run, made) == 36);
    CHECK(run.schedule == "1f1b");
    CHECK(run.timeline.environment.at("times_of") == "kernels between messages");
  }
}

TEST_CASE("traces: messages part ops also where times vary and steps are not marked") {
  const std::vector<RunResult> made = varied_runs(three_stages(steady_order), 3);
  Traces traces(made, {.annotations = false, .steps = false});
  traces.name("1f1b", 6);
  const MeasuredRun run = traces.read();
  CHECK(run.numbers == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(check_spans(run, made.back()) == 36);
}

// 6 microbatches were run, and 8 are said. On rank 0, 2 F, then 4 times F B, then 2 B: the last 3 B
// are parted by gradients that come, all else by what leaves or by threads: 10 bursts for 12
// actions, and by the same count 14 for 16.
TEST_CASE("traces: bursts that are not those of the order are refused with both numbers") {
  Traces traces({run_of(three_stages(steady_order))}, {.annotations = false});
  traces.name("1f1b", 8);
  CHECK(says(traces.refusal(), "10 bursts of kernels, where the order has 14 (16 actions)"));
  traces.name("gpipe", 6);
  CHECK(says(traces.refusal(), "the thread that launched burst "));
}

// Between a B and an F of rank 0 in 1F1B, nothing is sent or received; I and W share a thread.
TEST_CASE("traces: actions that nothing tells apart are refused by name") {
  Traces no_threads({run_of(three_stages(steady_order))},
                    {.annotations = false, .launches = false});
  no_threads.name("1f1b", 6);
  CHECK(says(no_threads.refusal(),
             "0B0 and 0F3 of rank 0 cannot be told apart: no message lies "
             "between them, and the launches"));
  Traces zero_bubble({run_of(three_stages(steady_order))}, {.annotations = false});
  zero_bubble.name("zb-h1", 6);
  CHECK(says(zero_bubble.refusal(),
             "cannot be told apart: no message lies between them; a trace "
             "with annotations"));
}

// The median of five steps whose ops differ by chance is between the least and the most.
TEST_CASE("traces: a trace of several ranks without messages is not cut by threads alone") {
  Traces traces({run_of(three_stages(steady_order))}, {.annotations = false, .messages = false});
  traces.name("1f1b", 6);
  CHECK(says(traces.refusal(), "it has no messages between ranks"));
}

TEST_CASE("traces: all whole steps are samples, and the step that is asked for is the timeline") {
  const std::vector<RunResult> made = varied_runs(three_stages(steady_order), 5);
  Traces traces(made, {});
  CHECK(check_spans(traces.read(), made[4]) == 36);
  const MeasuredRun run = traces.read(5);
  CHECK(check_spans(run, made[2]) == 36);
  CHECK(run.numbers == std::vector<std::uint32_t>{3, 4, 5, 6, 7});
  CHECK(run.measured.iterations.size() == 5);
  CHECK(run.times.size() == 6);
  for (const OpTimes& op : run.times) {
    CHECK(op.count == 30);
    CHECK(op.lower_ns < op.median_ns);
    CHECK(op.median_ns < op.upper_ns);
  }
  REQUIRE(run.errors);
  CHECK(run.errors->structure < 0.02);  // transfers are told from gaps, to a nanosecond or two
  CHECK(run.errors->retest > 0);
  CHECK_THROWS_WITH_AS(traces.read(9), "--step 9: not all ranks have ops of that step", InputError);
}

TEST_CASE("traces: where the host runs the ops, medians lie between their quartiles") {
  const std::string folder = std::string(PENSTOCK_ROOT) + "/tests/torch/traces/2.14.1-1f1b/";
  TraceReading reading{.files = {folder + "rank0.json.gz", folder + "rank1.json.gz"},
                       .pipeline_ranks = {},
                       .patterns = {},
                       .order = {},
                       .on_progress = {}};
  for (const KnownPattern& known : known_patterns()) reading.patterns.emplace_back(known.text);
  std::vector<std::string> notes;
  const MeasuredRun run =
      measured_run(read_rank_traces(reading, true, notes), std::nullopt, std::nullopt);
  REQUIRE(run.host_us > 0);
  CHECK(run.times.size() == 4);
  for (const OpTimes& op : run.times) {
    CHECK(op.count == 24);
    CHECK(op.lower_ns <= op.median_ns);
    CHECK(op.median_ns <= op.upper_ns);
  }
  // Of the means of its steps; the median of single ops is 10.86 ms.
  CHECK(run.times.front().median_ns == doctest::Approx(11.01e6).epsilon(0.001));
}

TEST_CASE("traces: a step that lost an op is left out, and said to be") {
  const std::vector<RunResult> made = varied_runs(three_stages(steady_order), 3);
  Traces traces(made, {});
  // The last B of the first step on rank 1, which no other op needs there, is renamed.
  traces.change(1, "PP:1B5", "PP:two");
  const MeasuredRun run = traces.read();
  CHECK(run.numbers == std::vector<std::uint32_t>{4, 5});
  REQUIRE(run.left_out.size() == 1);
  CHECK(run.left_out.front().starts_with("step 3: "));
  CHECK_THROWS_AS(traces.read(3), InputError);
}

TEST_CASE("traces: a pattern of one's own reads other names, and missing numbers are counted") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces spelled({made}, {.format = "my {pass} of mb {microbatch} (s{stage})"});
  spelled.reading.patterns = {OpPattern("my {pass} of mb {microbatch} (s{stage})")};
  CHECK(check_spans(spelled.read(), made) == 36);
  Traces counted({made}, {.format = "step_{pass}"});
  counted.reading.patterns = {OpPattern("step_{pass}")};
  CHECK(check_spans(counted.read(), made) == 36);
}

TEST_CASE("traces: names that match nothing are listed with what to do") {
  Traces traces({run_of(three_stages(steady_order))}, {.format = "op {stage}"});
  CHECK(says(traces.refusal(), "no annotation of it matches; its most frequent ones are \"op 0\""));
  std::vector<std::string> notes;
  const auto ranks = read_rank_traces(traces.reading, false, notes);
  CHECK(ranks[0].names.unmatched == std::vector<NameCount>{{"op 0", 12}});
  CHECK(says(preview_text(ranks, traces.reading.patterns), "no op: 12 x \"op 0\""));
}

TEST_CASE("traces: the order of files counts where they do not say their rank") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces known({made}, {});
  std::swap(known.reading.files[0], known.reading.files[2]);
  CHECK(check_spans(known.read(), made) == 36);
  CHECK(known.notes.empty());
  Traces unknown({made}, {.rank_known = false});
  CHECK(check_spans(unknown.read(), made) == 36);
  CHECK(unknown.notes.size() == 1);
}

TEST_CASE("traces: a rank that is missing, twice or of another job is refused") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces missing({made}, {});
  missing.reading.files.pop_back();
  CHECK(says(missing.refusal(), "the job has 3 ranks, and rank 2 is missing"));
  Traces twice({made}, {});
  twice.reading.files[2] = twice.reading.files[1];
  CHECK(says(twice.refusal(), "it is of rank 1, as is "));
  Traces other({made}, {});
  other.change(1, "\"world_size\": 3", "\"world_size\": 8");
  CHECK(says(other.refusal(), "its job has 8 ranks, that of "));
}

// A job of 6 ranks of which 4, 2 and 0 hold the stages in that order.
TEST_CASE("traces: some ranks of a larger job can be the pipeline") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {});
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    traces.change(rank, fmt::format("\"rank\": {}, \"world_size\": 3", rank),
                  fmt::format("\"rank\": {}, \"world_size\": 6", 4 - 2 * rank));
  }
  CHECK_FALSE(traces.refusal().empty());
  traces.reading.pipeline_ranks = {4, 2, 0};
  CHECK(check_spans(traces.read(), made) == 36);
}

// Two chunks a rank and a split backward; V-shaped placement, seen from the trace alone.
TEST_CASE("traces: orders of several stages a rank are found out and named") {
  for (const std::string name : {"interleaved-1f1b", "zb-v", "gpipe", "looped-bfs", "zb-h1"}) {
    CAPTURE(name);
    const bool twice = name == "interleaved-1f1b" || name == "zb-v" || name == "looped-bfs";
    std::string stages;
    for (int s = 0; s < (twice ? 4 : 2); ++s) {
      stages +=
          fmt::format(R"({}{{"forward_us": {}, "backward_input_us": 3, "backward_weight_us": 2}})",
                      s == 0 ? "" : ",", 2 + s);
    }
    const RunResult made = run_of(fmt::format(
        R"({{"penstock": 1, "model": {{"stages": [{}]}}, "parallel": {{"chunks": {}}},
           "hardware": {{"name": "ideal", "devices": 2, "transfer_us": 0.5}},
           "schedule": {{"name": "{}", "microbatches": 4}}}})",
        stages, twice ? 2 : 1, name));
    Traces traces({made}, {});
    const MeasuredRun run = traces.read();
    check_spans(run, made);
    CHECK(run.schedule == name);
    CHECK(run.chunks == (twice ? 2 : 1));
  }
}

// DualPipe's two copies of the model are known by its name alone.
TEST_CASE("traces: an order of two directions is read when it is named") {
  const RunResult made = run_of(R"({"penstock": 1, "model": {"stages": [
    {"forward_us": 3, "backward_input_us": 3, "backward_weight_us": 2},
    {"forward_us": 3, "backward_input_us": 3, "backward_weight_us": 2}]},
    "hardware": {"name": "ideal", "devices": 2},
    "schedule": {"name": "chimera", "microbatches": 4}})");
  Traces traces({made}, {});
  traces.name("chimera", 4, 2);
  const MeasuredRun run = traces.read();
  check_spans(run, made);
  CHECK(run.schedule == "chimera");
  CHECK(run.times.size() == 4);  // F and B of two model stages, both copies together
}

TEST_CASE("traces: an order that is not the one named is said to be another") {
  const RunResult made = run_of(three_stages(R"({"name": "gpipe", "microbatches": 6})"));
  Traces traces({made}, {});
  traces.name("1f1b", 6);
  const MeasuredRun run = traces.read();
  CHECK(run.schedule == "gpipe");
  REQUIRE(run.notes.size() == 1);
  CHECK(run.notes[0] ==
        "the order is not that of 1f1b: rank 0 ran 0F3 as action 3, where it has 0B0");
}

// The clocks of ranks 1 and 2 are 5 and 10 us behind what their traces say: an op begins 4.75 us
// before the one it needs has ended, since the transfer takes 0.25.
TEST_CASE("traces: clocks that contradict each other are measured and told") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {});
  traces.set_ahead(1, -5000);
  traces.set_ahead(2, -10000);
  const MeasuredRun run = traces.read();
  CHECK(run.clock_error_ns == 4750);
  CHECK(says(measured_run_text(run), "an op began 4.75 µs before what it needs had ended"));
  CHECK(read_timeline(write_timeline(run.job.priced.plan, run.timeline, run.title)).title ==
        run.title);
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, -5000, -10000});
  CHECK(check_spans(run, made) == 36);
  CHECK(run.transfer_us == 0.25);
  CHECK(run.slow_links.empty());
}

// Too little for an op to begin before what it needs had ended: over 0>1 and 2>1 a tensor seems to
// take 0.45 us, and 0.05 us back.
TEST_CASE("traces: links that are slow one way, but not there and back, are clocks") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {});
  traces.set_ahead(1, 200);
  const MeasuredRun run = traces.read();
  CHECK(run.clock_error_ns == 0);
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 200, 0});
  CHECK(run.slow_links.empty());
  CHECK(run.transfer_us == 0.25);
  CHECK(check_spans(run, made) == 36);
  REQUIRE(run.notes.size() == 1);
  CHECK(run.notes[0] ==
        "clocks that are ahead of the first rank's are set back: rank 1 by 0.2 µs; from what "
        "tensors take in both directions");
}

// The same begin 4.75 us too early, of a rank whose ops run on beside the next by 5 us.
TEST_CASE("traces: ops that overlap on one rank are no evidence against clocks") {
  Traces traces({run_of(three_stages(steady_order))}, {});
  traces.set_ahead(1, -5000);
  std::vector<TracedRank> ranks = read_rank_traces(traces.reading, true, traces.notes);
  ranks[2].ops.overlap_ns = 5000;
  const MeasuredRun run = measured_run(std::move(ranks), {}, {});
  CHECK(run.clock_error_ns == 0);
  REQUIRE_FALSE(run.notes.empty());
  CHECK(run.notes[0].starts_with("kernels of rank 2 ran on beside its next op for up to 5 µs"));
}

TEST_CASE(
    "traces: data replicas without a list of their ranks are refused with the option for it") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made}, {});
  for (int i = 0; i < 12; ++i) traces.change(1, "\"PP:1", "\"PP:0");
  CHECK(says(traces.refusal(), "--pipeline-ranks \"0,2;1,3\" lists their ranks"));
}

TEST_CASE("traces: a rank that has messages and no trace is named where no job size is") {
  Traces traces({run_of(three_stages(steady_order))}, {});
  for (std::uint32_t rank = 0; rank < 2; ++rank) traces.change(rank, ", \"world_size\": 3", "");
  traces.reading.files.pop_back();
  CHECK(says(traces.refusal(), "messages name rank 2, of which there is no trace"));
}

TEST_CASE("traces: clocks that are not one are refused") {
  Traces traces({run_of(three_stages(steady_order))}, {});
  traces.change(2, "\"baseTimeNanoseconds\": 1743521598000000000", "\"baseTimeNanoseconds\": 0");
  CHECK(says(traces.refusal(), "the clocks of all traces must be one"));
}

}  // namespace penstock::testing
