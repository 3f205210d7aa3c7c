#include "experiments/input/scenario/codec_phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

const std::string place = "/codec/training";

std::vector<CodecPhase> read_phases(const json& phases, const Looks& looks) {
  std::vector<CodecPhase> all;
  for (const json& phase : phases) {
    const std::string here = fmt::format("{}/phases/{}", place, all.size());
    all.push_back({phase["iterations"], read_encoding(phase["stash"], here + "/stash", looks)});
  }
  return all;
}

Plateau read_plateau(const json& metric) {
  Plateau plateau{.values = metric["values"]};
  take(metric, "every", plateau.every);
  take(metric, "patience", plateau.patience);
  take(metric, "least_improvement", plateau.least_improvement);
  plateau.higher_is_better = metric.value("better", "lower") == "higher";
  return plateau;
}

void check_length(const Plateau& plateau, std::uint64_t iterations) {
  const std::uint64_t most = iterations / plateau.every;
  if (plateau.values.size() <= most) return;
  throw InputError(place + "/metric/values",
                   fmt::format("there are {} values; {} iterations have room for {}, one every {}",
                               plateau.values.size(), iterations, most, plateau.every));
}

std::vector<CodecPhase> phases_by_metric(const json& training, const Looks& looks) {
  std::vector<CodecPhase> all;
  for (std::size_t i = 0; i < training["formats"].size(); ++i) {
    all.push_back(
        {0, read_encoding(training["formats"][i], fmt::format("{}/formats/{}", place, i), looks)});
  }
  const Plateau plateau = read_plateau(training["metric"]);
  const std::uint64_t iterations = training["iterations"];
  check_length(plateau, iterations);
  const auto served = iterations_by_format(plateau, iterations, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].iterations = served[i];
  return all;
}

/// Checks which keys go together: "phases" alone, or the other three.
void check_keys(const json& training) {
  const bool phases = training.contains("phases");
  for (const char* key : {"iterations", "formats", "metric"}) {
    if (training.contains(key) != phases) continue;
    throw InputError(
        place + (phases ? std::string("/") + key : ""),
        phases
            ? fmt::format("\"{}\" conflicts with \"phases\", which already list the formats", key)
            : fmt::format("\"{}\" is missing; give \"phases\", or \"iterations\", "
                          "\"formats\" and the \"metric\" that leads from one to "
                          "the next",
                          key));
  }
}

}  // namespace

std::vector<std::uint64_t> iterations_by_format(const Plateau& plateau, std::uint64_t iterations,
                                                std::size_t formats) {
  std::vector<std::uint64_t> served;
  const double sign = plateau.higher_is_better ? -1 : 1;
  double best = std::numeric_limits<double>::infinity();
  std::uint64_t waited = 0, begin = 0, now = 0;
  for (const double value : plateau.values) {
    now = std::min(now + plateau.every, iterations);
    if (served.size() + 1 == formats) break;
    if (sign * value < best - plateau.least_improvement) {
      best = sign * value;
      waited = 0;
    } else if (++waited == plateau.patience) {
      served.push_back(now - begin);
      begin = now;
      waited = 0;
    }
  }
  served.push_back(iterations - begin);
  served.resize(formats, 0);
  return served;
}

std::vector<CodecPhase> read_codec_phases(const json& training, const Looks& looks) {
  check_keys(training);
  return training.contains("phases") ? read_phases(training["phases"], looks)
                                     : phases_by_metric(training, looks);
}

}  // namespace penstock
