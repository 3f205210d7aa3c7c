#pragma once

#include <map>
#include <string>
#include <vector>

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

  /// A line of facts.jsonl.
  void facts(const std::string& about, const Facts& facts) const;
  /// A line of probes.jsonl.
  void times(const ProbeTimes& times) const;
  /// A file runs/PROGRAM.ORDERING.LINKS.BODIES.txt: for each run its tasks' begin and end, in
  /// nanoseconds since the first begin.
  void recording(const RecordedRuns& recorded) const;

 private:
  void append(const std::string& file, const std::string& line) const;
  std::string folder_;
};

}  // namespace penstock
