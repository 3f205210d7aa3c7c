#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/backends/cuda/programs/gpu_pipeline.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"

namespace penstock {

/// What a check found, as JSON: "0.5", "\"text\"", "[1, 2]".
std::string json(const std::string& text);
std::string json(const char* text);
std::string json(double number);
std::string json(std::uint64_t number);
std::string json(bool yes);
template <class Value>
std::string json(const std::vector<Value>& values) {
  std::string all;
  for (const Value& value : values) all += (all.empty() ? "" : ", ") + json(value);
  return "[" + all + "]";
}

/// By name, as JSON.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// A kernel's times, as the profile store has them.
struct ProbeTimes {
  std::string kernel;
  std::string pass;
  std::string shape;      // sizes by name in order: "bytes=65536 sms=32"
  std::string condition;  // "solo", "pair:bytes x3"
  std::vector<double> samples_ns;
};

/// How a recorded program ran.
struct RecordedRuns {
  std::string program;
  std::string ordering;
  std::string links;
  std::string bodies;
  std::vector<GpuRun> runs;
};

/// A folder of raw output. Lines are appended and files closed at once, so that a program that ends
/// early leaves all that it measured. Throws std::runtime_error when it cannot write.
class CheckOutput {
 public:
  explicit CheckOutput(std::string folder);

  /// A line of facts.jsonl; one that says that something came out wrong, or failed and should not
  /// have, fails the step.
  void facts(const std::string& about, const Facts& facts, bool wrong = false) const;
  std::uint64_t wrong_facts() const { return wrong_; }
  /// A line of probes.jsonl.
  void times(const ProbeTimes& times) const;
  /// A file runs/PROGRAM.ORDERING.LINKS.BODIES.txt: for each run its tasks' begin and end, in
  /// nanoseconds since the first begin.
  void recording(const RecordedRuns& recorded) const;

 private:
  void append(const std::string& file, const std::string& line) const;
  std::string folder_;
  mutable std::uint64_t wrong_ = 0;
};

/// What a step of the check works with.
struct CheckRun {
  const GpuCalls& calls;
  const CheckOutput& output;
  std::vector<NamedProgram> programs;  // of files
  bool quick = false;                  // little data and few repeats, to try the check itself
};

/// The numbers of ranks that steps run: 4, 2 and 8, or 2.
std::vector<std::uint32_t> rank_counts(const CheckRun& run);

/// How often a thing is measured. The profile store takes no less than 5 samples.
constexpr std::uint32_t sample_count(const CheckRun& run) { return run.quick ? 5 : 10; }

/// How long work on a stream takes, in nanoseconds, by events on the conductor around it; the first
/// turn warms up. The host issues up to 0.2 ms ahead, some 40 launches. `lane`: of the stream;
/// none: the conductor.
std::vector<double> timed(const CheckRun& run, const GpuDevice& device,
                          std::optional<std::uint32_t> lane,
                          const std::function<void(GpuStream)>& work);

/// Writes how long copies within the memory of the GPU take, and returns the middle.
double probe_copy(const CheckRun& run, const GpuDevice& device, std::size_t bytes);

/// A step of the check: what it measures stands for itself, so that the others go on without it.
/// It throws std::exception where the GPU fails.
struct CheckStep {
  const char* name;
  const char* summary;
  void (*run)(const CheckRun& run);
};

/// All steps, in the order of their worth when time is short.
std::span<const CheckStep> check_steps();

// The steps, by file.
void check_device(const CheckRun& run);
void check_partitions(const CheckRun& run);
void check_pipelines(const CheckRun& run);
void check_programs(const CheckRun& run);
void check_bodies(const CheckRun& run);
void check_products(const CheckRun& run);
void check_layers(const CheckRun& run);
void check_layer_bodies(const CheckRun& run);
void check_layer_programs(const CheckRun& run);
void check_bounce(const CheckRun& run);
void check_scaling(const CheckRun& run);
void check_copies(const CheckRun& run);
void check_interference(const CheckRun& run);
void check_clocks(const CheckRun& run);
void check_codec(const CheckRun& run);

/// The names of orderings and kinds of links in files.
std::string name(GpuOrdering ordering);
std::string name(GpuLinkKind links);

/// The sizes of layers that actions run; those that the host can follow.
GpuLayerSizes layer_sizes(const CheckRun& run);
GpuLayerSizes small_layer_sizes(const CheckRun& run);

/// A 1F1B of actions of this work, as graphs of actions and as one graph.
void check_body(const CheckRun& run, GpuWork work, std::uint32_t ranks);

/// Runs a program with an ordering, after a warm-up, writes its runs and what they took against its
/// longest path, what stamps and the host cost, and whether all tensors arrived. A GPU that fails
/// is a fact, so that the other orderings go on.
void record_program(const CheckRun& run, const GpuDevice& device, const NamedProgram& named,
                    const GpuRunSetup& setup);

/// How far a pass on the GPU is from the same pass on the host: the worst of all 64 neighbouring
/// numbers, differences over numbers, both as roots of mean squares.
struct LayerError {
  const char* pass;  // "forward", "backward_input", "backward_weight"
  double error;
};

/// Kernels after one another differ by a rounding to bf16 here and there, by the order of sums. A
/// wrong number among 64 would show with a tenth or so.
constexpr double most_layer_error = 0.03;

/// Runs each pass of a layer on both, from the same numbers. Throws GpuError.
std::vector<LayerError> layer_errors(const GpuDevice& device, const GpuLayerKind& kind,
                                     const GpuLayerSizes& sizes);

}  // namespace penstock
