#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_lines.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/measure/gpu_probes/device_report.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/gpu/device_probe.hpp"
#include "validate/machine/host.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/row_content.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// What the facts of penstock_gpu_check (facts.jsonl) say about a folder of measurements.
struct ProbeFacts {
  /// By the keys of the store: device, cc, sms, driver, cudart, cublaslt, os, cpu …
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> algorithm_of;  // of cuBLASLt, by the shape of a product
};

constexpr std::uint32_t most_version = 100'000'000;

/// "Linux 6.1.0-18-amd64", of "Linux version 6.1.0-18-amd64 (…) …".
std::string system_name(const std::string& text) {
  constexpr std::string_view name = "Linux version ";
  if (!text.starts_with(name)) return text;
  const std::size_t end = text.find(' ', name.size());
  return "Linux " + text.substr(name.size(), end == std::string::npos ? end : end - name.size());
}

std::map<std::string, std::string> environment_of(const JsonView& fact) {
  std::map<std::string, std::string> all{{"backend", "penstock_gpu_check"},
                                         {"device", fact.at("device").text()}};
  for (const char* key : {"cc", "cpu", "mode", "why_unpartitioned"}) {
    const auto value = fact.find(key);
    if (value && !value->text().empty()) all[key] = value->text();
  }
  all["sms"] = fmt::format("{}", fact.at("sms").whole(most_version));
  all["cuda"] = cuda_version_text(fact.at("cuda").whole(most_version));
  all["cudart"] = cuda_version_text(fact.at("cudart").whole(most_version));
  if (const auto queues = fact.find("hardware_queues")) {
    all["hardware_queues"] = fmt::format("{}", queues->whole(most_version));
  }
  if (const auto driver = fact.find("driver")) {
    if (const auto version = nvidia_driver(driver->text())) all["driver"] = *version;
  }
  if (const auto system = fact.find("system"); system && !system->text().empty()) {
    all["os"] = system_name(system->text());
  }
  return all;
}

/// The check may have run several times into one folder, on one machine.
void add_device(const JsonView& fact, ProbeFacts& facts) {
  auto environment = environment_of(fact);
  if (!facts.environment.empty()) {
    const auto differences = environment_differences(facts.environment, environment);
    if (!differences.empty()) {
      const EnvironmentDifference& one = differences.front();
      fact.fail(
          fmt::format("{} is \"{}\" here and \"{}\" before; a folder is for one machine "
                      "with one driver",
                      one.key, one.now, one.then));
    }
  }
  facts.environment.merge(environment);
}

/// Reads facts.jsonl. Throws InputError, with file and line, for what is no fact, for facts about
/// several machines, and without a fact about the device.
ProbeFacts read_probe_facts(const std::string& path) {
  ProbeFacts facts;
  std::optional<std::string> cublaslt;
  for_each_json_line(path, [&](const nlohmann::json& line) {
    const JsonView fact(line);
    const std::string& about = fact.at("about").text();
    if (about == "device") add_device(fact, facts);
    if (about == "cublaslt version") {
      cublaslt = cublaslt_version_text(fact.at("version").whole(most_version));
    }
    const auto algorithm = fact.find("algorithm");  // none where the library refused the product
    if (about == "product" && algorithm) {
      facts.algorithm_of[fact.at("shape").text()] = algorithm->text();
    }
  });
  if (facts.environment.empty()) {
    throw in_file(path,
                  InputError("no line is about \"device\"; penstock_gpu_check --all FOLDER --step "
                             "device adds it"));
  }
  if (cublaslt) facts.environment["cublaslt"] = *cublaslt;
  return facts;
}

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
