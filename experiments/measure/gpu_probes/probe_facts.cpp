#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_lines.hpp"
#include "experiments/measure/gpu_probes/probe_file.hpp"
#include "sim/base/error.hpp"
#include "validate/machine/host.hpp"
#include "validate/store/environment_keys.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_version = 100'000'000;

/// "Linux 6.1.0-18-amd64", of "Linux version 6.1.0-18-amd64 (…) …".
std::string system_name(const std::string& text) {
  constexpr std::string_view name = "Linux version ";
  if (!text.starts_with(name)) return text;
  const std::size_t end = text.find(' ', name.size());
  return "Linux " + text.substr(name.size(), end == std::string::npos ? end : end - name.size());
}

void add_text(const JsonView& fact, const char* key, std::map<std::string, std::string>& all) {
  const auto value = fact.find(key);
  if (value && !value->text().empty()) all[key] = value->text();
}

std::map<std::string, std::string> environment_of(const JsonView& fact) {
  std::map<std::string, std::string> all{{"backend", "penstock_gpu_check"},
                                         {"device", fact.at("device").text()}};
  for (const char* key : {"cc", "cpu", "mode", "why_unpartitioned"}) add_text(fact, key, all);
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

}  // namespace

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

}  // namespace penstock
