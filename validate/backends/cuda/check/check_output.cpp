#include "validate/backends/cuda/check/check_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace penstock {
namespace {

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

void CheckOutput::facts(const std::string& about, const Facts& facts) const {
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
