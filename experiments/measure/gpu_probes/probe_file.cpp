#include "experiments/measure/gpu_probes/probe_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_lines.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/gpu/device_probe.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/row_content.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr double longest_ns = 1e15;
constexpr std::array<std::string_view, 6> probe_keys{"kernel",    "pass",       "shape",
                                                     "condition", "samples_ns", "measured_at"};

void check_keys(const JsonView& line) {
  for (const auto& [key, value] : line.entries()) {
    if (std::find(probe_keys.begin(), probe_keys.end(), key) != probe_keys.end()) continue;
    value.fail(fmt::format("unknown key; known: {}", fmt::join(probe_keys, ", ")));
  }
}

/// Sizes by name, so that fits and validity rules can use them.
std::string shape_in(const JsonView& line) {
  const JsonView shape = line.at("shape");
  if (shape_numbers(shape.text())) return shape.text();
  shape.fail(fmt::format("\"{}\" is no shape; expected sizes by name: \"bytes=65536 sms=32\"",
                         shortened(shape.text())));
}

std::string condition_in(const JsonView& line) {
  const JsonView condition = line.at("condition");
  if (neighbours_of(condition.text())) return condition.text();
  condition.fail(fmt::format("\"{}\" is no condition; expected \"solo\" or \"pair:bytes x3\"",
                             shortened(condition.text())));
}

std::vector<double> samples_in(const JsonView& line) {
  const JsonView list = line.at("samples_ns");
  std::vector<double> samples;
  for (const JsonView& sample : list.items()) samples.push_back(sample.number(0, longest_ns));
  if (samples.empty()) list.fail("the list is empty; expected times in nanoseconds");
  return samples;
}

/// cuBLASLt chooses an algorithm for each shape; another one is another kernel.
std::string build_of(const KernelPoint& point, const ProbeFacts& facts) {
  const auto found = facts.algorithm_of.find(point.shape);
  const bool known = point.kernel == "product" && found != facts.algorithm_of.end();
  return known ? "algorithm " + found->second : "";
}

ProfileRow row_in(const JsonView& line, const ProbeFacts& facts) {
  check_keys(line);
  ProfileRow row{.point = {.kernel = line.at("kernel").text(),
                           .pass = line.at("pass").text(),
                           .shape = shape_in(line),
                           .condition = condition_in(line)},
                 .environment = facts.environment,
                 .samples_ns = samples_in(line),
                 .measured_at = line.at("measured_at").text()};
  row.build = build_of(row.point, facts);
  if (const auto fault = row_fault(row)) line.fail(*fault);
  return row;
}

/// The names of probes and facts of a folder, or of the probes themselves.
std::pair<std::string, std::string> files_of(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path probes = is_folder ? fs::path(path) / "probes.jsonl" : fs::path(path);
  return {probes.string(), (probes.parent_path() / "facts.jsonl").string()};
}

}  // namespace

std::vector<ProfileRow> read_probes(const std::string& path) {
  const auto [probes, beside] = files_of(path);
  if (!fs::exists(probes) && probes != path) {
    throw in_file(path, InputError("it has no probes.jsonl; give the folder of penstock_gpu_check "
                                   "--all"));
  }
  if (!fs::exists(probes)) read_file(probes);  // says why not
  if (!fs::exists(beside)) {
    throw in_file(probes, InputError("facts.jsonl is missing beside it, which says what was "
                                     "measured; give the folder of penstock_gpu_check --all"));
  }
  const ProbeFacts facts = read_probe_facts(beside);
  std::vector<ProfileRow> rows;
  for_each_json_line(
      probes, [&](const nlohmann::json& line) { rows.push_back(row_in(JsonView(line), facts)); });
  if (rows.empty()) {
    throw in_file(probes, InputError("it has no measurements; penstock_gpu_check --all FOLDER "
                                     "writes them"));
  }
  return rows;
}

}  // namespace penstock
