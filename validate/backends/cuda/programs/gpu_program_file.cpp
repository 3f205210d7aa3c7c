#include "validate/backends/cuda/programs/gpu_program_file.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace penstock {
namespace {

constexpr const char* first_line = "penstock gpu program 1";
constexpr std::uint32_t most_lanes = 4096;

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}

constexpr std::array passes{"none", "forward", "backward", "backward_input",
                            "backward_weight"};  // by GpuPass

GpuBody read_body(std::istringstream& words, std::size_t line) {
  GpuBody body;
  std::string pass;
  words >> body.stage >> pass;
  const auto found = std::find(passes.begin(), passes.end(), pass);
  std::string recomputes;
  words >> recomputes;
  if (found == passes.end() || !(recomputes.empty() || recomputes == "recomputes")) {
    fail(line, "expected: body STAGE PASS [recomputes]");
  }
  body.pass = static_cast<GpuPass>(found - passes.begin());
  body.recomputes = !recomputes.empty();
  return body;
}

GpuTask read_task(std::istringstream& words, const GpuProgram& program, std::size_t line) {
  GpuTask task;
  words >> task.lane >> task.duration_ns >> task.latency_ns >> task.bytes >> task.body >> task.slot;
  if (!words) fail(line, "expected: task LANE DURATION_NS LATENCY_NS BYTES BODY SLOT INPUT…");
  if (task.lane >= program.lanes()) fail(line, "there is no lane " + std::to_string(task.lane));
  for (std::uint32_t input = 0; words >> input;) {
    if (input >= program.tasks.size()) {
      fail(line, "input " + std::to_string(input) + " does not come before its task");
    }
    task.inputs.push_back(input);
  }
  if (!words.eof()) fail(line, "an input is not a number");
  return task;
}

void read_count(std::istringstream& words, std::uint32_t& count, std::size_t line) {
  if (!(words >> count) || count > most_lanes) fail(line, "expected a number up to 4096");
}

}  // namespace

std::string program_text(const NamedProgram& named) {
  const GpuProgram& program = named.program;
  std::ostringstream text;
  text << first_line << "\nname " << named.name << "\nranks " << program.ranks << "\nlinks "
       << program.links << "\n";
  for (const GpuBody& body : program.bodies) {
    text << "body " << body.stage << ' ' << passes[static_cast<std::size_t>(body.pass)]
         << (body.recomputes ? " recomputes" : "") << "\n";
  }
  for (const GpuTask& task : program.tasks) {
    text << "task " << task.lane << ' ' << task.duration_ns << ' ' << task.latency_ns << ' '
         << task.bytes << ' ' << task.body << ' ' << task.slot;
    for (const std::uint32_t input : task.inputs) text << ' ' << input;
    text << "\n";
  }
  return text.str();
}

NamedProgram read_program(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != first_line) {
    fail(1, std::string("expected \"") + first_line + "\"");
  }
  NamedProgram named;
  GpuProgram& program = named.program;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "name") {
      words >> named.name;
    } else if (what == "ranks") {
      read_count(words, program.ranks, number);
    } else if (what == "links") {
      read_count(words, program.links, number);
    } else if (what == "body") {
      program.bodies.push_back(read_body(words, number));
    } else if (what == "task") {
      program.tasks.push_back(read_task(words, program, number));
    } else if (!what.empty()) {
      fail(number, "unknown \"" + what + "\"; known: name, ranks, links, body, task");
    }
  }
  if (named.name.empty() || program.tasks.empty()) fail(1, "there is no name, or no task");
  return named;
}

}  // namespace penstock
