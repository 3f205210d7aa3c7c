#include "validate/backends/cuda/check/check_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

namespace penstock {
namespace {

constexpr std::array steps{
    CheckStep{"device", "the device, its clock and what launches cost", check_device},
    CheckStep{"partitions", "whether ranks keep their SMs, however they are launched",
              check_partitions},
    CheckStep{"pipelines", "1F1B of waiting actions: 2, 4 and 8 ranks, each ordering",
              check_pipelines},
    CheckStep{"programs", "the orders of program files, each ordering", check_programs},
    CheckStep{"bodies", "actions of fixed FLOPs and of fixed bytes", check_bodies},
    CheckStep{"products", "actions of bf16 matrix products, and those alone over shapes and SMs",
              check_products},
    CheckStep{"layers", "layers against the host, and their passes alone over SMs", check_layers},
    CheckStep{"layer_bodies", "1F1B of layers: 2, 4 and 8 ranks", check_layer_bodies},
    CheckStep{"layer_programs", "the orders of program files, of transformer layers",
              check_layer_programs},
    CheckStep{"bounce", "transfers through pinned host memory", check_bounce},
    CheckStep{"codec", "block floating point: bits against the host, and its rate", check_codec},
    CheckStep{"scaling", "actions alone, over the number of SMs", check_scaling},
    CheckStep{"copies", "paced copies, over the number of SMs and sizes", check_copies},
    CheckStep{"interference", "actions beside those of other ranks", check_interference},
    CheckStep{"clocks", "the SM clock, idle and beside busy ranks", check_clocks},
};

std::vector<double> shares_of(const std::vector<double>& values, double whole) {
  std::vector<double> shares;
  for (const double value : values) shares.push_back(value / whole);
  return shares;
}

/// The longest path of a run's own lengths: what waiting rules alone give.
double structure_share(const GpuProgram& program, const GpuRun& run) {
  GpuProgram measured = program;
  for (std::size_t task = 0; task < program.tasks.size(); ++task) {
    GpuTask& own = measured.tasks[task];
    const std::uint64_t arrives = run.end_ns[task] - run.begin_ns[task];
    own.latency_ns = std::min(own.latency_ns, arrives);
    own.duration_ns = arrives - own.latency_ns;
  }
  return static_cast<double>(longest_path_ns(measured)) / static_cast<double>(makespan_ns(run)) - 1;
}

void record_runs(const CheckRun& run, const GpuDevice& device, const NamedProgram& named,
                 const GpuRunSetup& setup) {
  const std::uint32_t turns = run.quick ? 2 : 20;
  const GpuProgram& program = named.program;
  const std::string bodies = name(program.body_of(program.tasks.front()).work);
  RecordedRuns recorded{named.name, name(setup.ordering), name(setup.links), bodies, {}};
  GpuExecutor executor(device, program, setup);
  executor.run();  // warms up
  std::vector<double> makespans;
  std::vector<double> structures;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    recorded.runs.push_back(executor.run());
    makespans.push_back(static_cast<double>(makespan_ns(recorded.runs.back())));
    structures.push_back(structure_share(program, recorded.runs.back()));
  }
  const auto path = static_cast<double>(longest_path_ns(program));
  const GpuOverheads costs = measure_overheads(device, program, setup, run.quick ? 1 : 5);
  const std::vector<std::uint32_t> wrong = wrong_transfers(device, program, setup);
  run.output.recording(recorded);
  run.output.facts(
      "pipeline",
      {{"program", json(named.name)},
       {"ordering", json(recorded.ordering)},
       {"links", json(recorded.links)},
       {"bodies", json(bodies)},
       {"algorithms", json(executor.actions().algorithms())},
       {"mode", json(std::string(device.mode()))},
       {"streams", json(std::uint64_t{device.lanes()} + 1)},
       {"longest_path_us", json(path / 1e3)},
       {"makespan_over_longest_path", json(shares_of(makespans, path))},
       {"median_over_longest_path", json(middle(makespans) / path)},
       {"structure_error", json(structures)},
       {"stamp_overhead", json(costs.stamps)},
       {"host_effect", costs.host_effect ? json(*costs.host_effect) : json(costs.why_no_effect)},
       {"host_issue_us", json(static_cast<double>(recorded.runs.back().issue_ns) / 1e3)},
       {"sms_in_several_ranks",
        json(std::uint64_t{sms_in_several_ranks(executor.actions().sms_seen())})},
       {"wrong_transfers", json(std::uint64_t{wrong.size()})}},
      !wrong.empty());
}

std::string object(const Facts& facts) {
  std::string all;
  for (const auto& [name, value] : facts) {
    all += (all.empty() ? "{" : ", ") + json(name) + ": " + value;
  }
  return all + "}";
}

/// "2026-11-21T18:40:00Z", UTC.
std::string time_now() {
  const std::time_t now = std::time(nullptr);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

}  // namespace

std::span<const CheckStep> check_steps() { return steps; }

std::vector<std::uint32_t> rank_counts(const CheckRun& run) {
  return run.quick ? std::vector<std::uint32_t>{2} : std::vector<std::uint32_t>{4, 2, 8};
}

std::vector<double> timed(const CheckRun& run, const GpuDevice& device,
                          std::optional<std::uint32_t> lane,
                          const std::function<void(GpuStream)>& work) {
  const GpuCalls& calls = run.calls;
  const GpuStream conductor = device.conductor();
  const GpuStream stream = lane ? device.lane(*lane) : conductor;
  const GpuOwner<GpuEventTag> begin = make_timer(calls);
  const GpuOwner<GpuEventTag> end = make_timer(calls);
  const GpuOwner<GpuEventTag> done = lane ? device.make_event_of(*lane) : make_event(calls);
  const auto memory = make_memory(calls, 2 * sizeof(std::uint64_t));
  auto* const numbers = static_cast<std::uint64_t*>(memory.get());
  const std::uint32_t lead = run.quick ? 100 : 100'000;  // rounds of 4 cycles: 0.2 ms
  std::vector<double> times;
  for (std::uint32_t turn = 0; turn <= sample_count(run); ++turn) {
    // An idle stream would begin at once, and wait for the host to issue what is timed.
    check(calls, calls.launch_cycle_counter(conductor, numbers, lead), "letting the host go ahead");
    check(calls, calls.record(begin.get(), conductor), "beginning what is timed");
    if (lane) check(calls, calls.wait(stream, begin.get()), "beginning what is timed");
    work(stream);
    if (lane) {
      check(calls, calls.record(done.get(), stream), "ending what is timed");
      check(calls, calls.wait(conductor, done.get()), "ending what is timed");
    }
    check(calls, calls.record(end.get(), conductor), "ending what is timed");
    device.wait_for(conductor, "running what is timed");
    float ms = 0;
    check(calls, calls.elapsed(&ms, begin.get(), end.get()), "asking how long it took");
    if (turn > 0) times.push_back(1e6 * static_cast<double>(ms));
  }
  return times;
}

std::string name(GpuOrdering ordering) {
  constexpr std::array names{"host_issued", "host_graphs", "graph", "one_by_one"};
  return names[static_cast<std::size_t>(ordering)];
}

std::string name(GpuLinkKind links) { return links == GpuLinkKind::paced ? "paced" : "host"; }

void record_program(const CheckRun& run, const GpuDevice& device, const NamedProgram& named,
                    const GpuRunSetup& setup) {
  try {
    record_runs(run, device, named, setup);
  } catch (const GpuError& error) {
    run.output.facts("fault",
                     {{"program", json(named.name)},
                      {"ordering", json(name(setup.ordering))},
                      {"links", json(name(setup.links))},
                      {"fault", json(std::string(error.what()))}},
                     true);
  }
}

std::string json(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

std::string json(const char* text) { return json(std::string(text)); }

std::string json(double number) {
  if (!std::isfinite(number)) return "null";
  char text[64] = {};
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string json(std::uint64_t number) { return std::to_string(number); }
std::string json(bool yes) { return yes ? "true" : "false"; }

CheckOutput::CheckOutput(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_ + "/runs");
}

void CheckOutput::append(const std::string& file, const std::string& line) const {
  std::ofstream out(folder_ + "/" + file, std::ios::app);
  out << line << "\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write " + folder_ + "/" + file);
}

void CheckOutput::facts(const std::string& about, const Facts& facts, bool wrong) const {
  wrong_ += wrong ? 1 : 0;
  Facts all{{"about", json(about)}};
  all.insert(all.end(), facts.begin(), facts.end());
  append("facts.jsonl", object(all));
}

void CheckOutput::times(const ProbeTimes& times) const {
  append("probes.jsonl", object({{"kernel", json(times.kernel)},
                                 {"pass", json(times.pass)},
                                 {"shape", json(times.shape)},
                                 {"condition", json(times.condition)},
                                 {"measured_at", json(time_now())},
                                 {"samples_ns", json(times.samples_ns)}}));
}

void CheckOutput::recording(const RecordedRuns& recorded) const {
  std::string text = "penstock gpu recording 1\nprogram " + recorded.program + "\nordering " +
                     recorded.ordering + "\nlinks " + recorded.links + "\nbodies " +
                     recorded.bodies + "\n";
  for (const GpuRun& run : recorded.runs) {
    if (run.begin_ns.empty()) continue;
    const std::uint64_t first = *std::min_element(run.begin_ns.begin(), run.begin_ns.end());
    text += "run " + json(run.elapsed_ns) + " " + std::to_string(run.issue_ns) + "\n";
    for (std::size_t task = 0; task < run.begin_ns.size(); ++task) {
      text += std::to_string(run.begin_ns[task] - first) + " " +
              std::to_string(run.end_ns[task] - first) + "\n";
    }
  }
  text.pop_back();
  append("runs/" + recorded.program + "." + recorded.ordering + "." + recorded.links + "." +
             recorded.bodies + ".txt",
         text);
}

}  // namespace penstock
