#include "experiments/input/scenario/codec_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/input/fields/fields.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

const std::string training_place = "/codec/training";

std::vector<CodecPhase> read_phases(const json& phases, const Looks& looks) {
  std::vector<CodecPhase> all;
  for (const json& phase : phases) {
    const std::string here = fmt::format("{}/phases/{}", training_place, all.size());
    all.push_back({phase["iterations"], read_encoding(phase["stash"], here + "/stash", looks)});
  }
  return all;
}

Takes iterations() { return whole(1, 1'000'000'000'000); }

void check_length(const Plateau& plateau, std::uint64_t iterations) {
  const std::uint64_t most = iterations / plateau.every;
  if (plateau.values.size() <= most) return;
  throw InputError(training_place + "/metric/values",
                   fmt::format("there are {} values; {} iterations have room for {}, one every {}",
                               plateau.values.size(), iterations, most, plateau.every));
}

std::vector<CodecPhase> phases_by_metric(const json& training, const Looks& looks) {
  std::vector<CodecPhase> all;
  for (std::size_t i = 0; i < training["formats"].size(); ++i) {
    all.push_back({0, read_encoding(training["formats"][i],
                                    fmt::format("{}/formats/{}", training_place, i), looks)});
  }
  Plateau plateau;
  read_value(training["metric"], plateau);
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
        training_place + (phases ? std::string("/") + key : ""),
        phases
            ? fmt::format("\"{}\" conflicts with \"phases\", which already list the formats", key)
            : fmt::format("\"{}\" is missing; give \"phases\", or \"iterations\", \"formats\" and "
                          "the \"metric\" that leads from one to the next",
                          key));
  }
}

}  // namespace

std::string encoding_text(const CodecSpec& codec) {
  std::string text = codec.name;
  for (const auto& number : codec.numbers) {
    text += fmt::format(" {} {}", number.first, number.second);
  }
  return text;
}

std::string encoding_text(const Encoding& encoding) {
  if (const auto* codec = std::get_if<CodecSpec>(&encoding)) return encoding_text(*codec);
  return std::holds_alternative<AutoCodec>(encoding) ? "auto" : "none";
}

nlohmann::ordered_json encoding_json(const CodecSpec& codec) {
  nlohmann::ordered_json document{{"name", codec.name}};
  for (const auto& number : codec.numbers) {
    const auto whole = static_cast<std::int64_t>(number.second);  // the largest option is 1e9
    if (static_cast<double>(whole) == number.second) {
      document[number.first] = whole;
    } else {
      document[number.first] = number.second;
    }
  }
  return document;
}

nlohmann::ordered_json encoding_json(const Encoding& encoding) {
  if (const auto* codec = std::get_if<CodecSpec>(&encoding)) return encoding_json(*codec);
  const auto* choice = std::get_if<AutoCodec>(&encoding);
  if (choice == nullptr) return {{"name", "none"}};
  return {{"name", "auto"},
          {"least_sqnr_db", choice->budget.least_sqnr_db},
          {"most_flushed", choice->budget.most_flushed}};
}

const Fields& fields_of(const Plateau& /*plateau*/) {
  using P = Plateau;
  static const Fields fields{
      "a recorded metric of the training, and when it counts as a plateau",
      {field<&P::values>("values", list_of(number(), 0, 1'000'000), "evaluations in order"),
       field<&P::every>("every", iterations(),
                        "iterations between evaluations, and before the first"),
       field<&P::patience>("patience", whole(1, 1'000'000),
                           "evaluations without improvement before the next format is used, "
                           "default 1"),
       field<&P::least_improvement>("least_improvement", number(0, 1e300),
                                    "least improvement over the best evaluation so far, default 0"),
       field<&P::better>("better", words({"lower", "higher"}),
                         "which values are better, default lower")},
      {"values", "every"}};
  return fields;
}

Takes codec_training() {
  const Takes phase = object_of({"",
                                 {{"iterations", iterations(), "how many the phase has"},
                                  {"stash", encoding(), "how it encodes what is kept"}},
                                 {"iterations", "stash"}});
  return object_of(
      {"formats of the stash over a training, each phase simulated: phases, or iterations, formats "
       "and a metric",
       {{"phases", list_of(phase, 1, 64)},
        {"iterations", iterations(), "of the training"},
        {"formats", list_of(encoding(), 1, 64),
         "formats of the stash, coarse to fine: the next one is used when the metric plateaus"},
        {"metric", object_of(fields_of(Plateau{}))}}});
}

std::vector<std::uint64_t> iterations_by_format(const Plateau& plateau, std::uint64_t iterations,
                                                std::size_t formats) {
  std::vector<std::uint64_t> served;
  const double sign = plateau.better == Better::higher ? -1 : 1;
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
