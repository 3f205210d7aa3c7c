#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/support/amoebanet.hpp"
#include "tests/support/layers.hpp"

// GPipe (Huang et al., arXiv 1811.06965), table 1, and the same models in torchgpipe.

namespace penstock::testing {
namespace {

using nlohmann::json;

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double bytes_of_a_parameter = 12;

/// The rows of a table of a paper; none where the oracle is missing.
json rows_of(const char* paper, std::string_view table) {
  const auto read = oracle(paper);
  if (!read) return json::array();
  for (const json& one : (*read)["tables"]) {
    if (one["table"] == table) return one["rows"];
  }
  throw std::out_of_range(std::string(table));
}

/// Transformer-L: hidden 2048, MLP 8192, 32 heads, a vocabulary of 32000. `trained`: with biases,
/// norms and a bias of the logits, which the paper does not speak of.
double transformer_parameters(double layers, bool trained) {
  const Layers ends = {spec("embedding", {{"vocab", 32000}, {"hidden", 2048}}),
                       spec("norm", {{"hidden", 2048}, {"bias", 1}}),
                       spec("head", {{"vocab", 32000}, {"hidden", 2048}, {"bias", 1}})};
  const double norm = 2 * 2048;
  const double around = trained ? 0 : norm + 32000;
  const double block =
      work_of(classic_block(2048, 32, trained)).parameters - (trained ? 0 : 2 * norm);
  return layers * block + work_of(ends).parameters - around;
}

/// As the table prints it: "282.2", in millions below a billion and in billions above.
std::string printed(double parameters) {
  return parameters < 1e9 ? fmt::format("{:.1f}M", parameters / 1e6)
                          : fmt::format("{:.1f}B", parameters / 1e9);
}

}  // namespace

TEST_CASE("GPipe: Transformer-L has L(4d^2 + 2d ff) + 2 * 32000 d weights, all but 0.1 % of it") {
  for (const json& row : rows_of("papers/gpipe.json", "1 (Transformer)")) {
    const double layers = row[1];
    CAPTURE(layers);
    const double weights = transformer_parameters(layers, false);
    CHECK(weights == layers * (4 * 2048.0 * 2048 + 2 * 2048.0 * 8192) + 2 * 32000.0 * 2048);
    // Printed with two digits from a billion on.
    CHECK(weights == doctest::Approx(row[2].get<double>()).epsilon(layers > 100 ? 3e-3 : 1e-3));
  }
}

TEST_CASE("GPipe: with biases and norms the parameters are those printed, to every digit") {
  for (const json& row : rows_of("papers/gpipe.json", "1 (Transformer)")) {
    CAPTURE(row[0].get<std::string>());
    CHECK(printed(transformer_parameters(row[1], true)) == printed(row[2]));
  }
}

TEST_CASE("GPipe: models take 12 bytes a parameter; the naive-1 row has its two cells swapped") {
  for (const json& row : rows_of("papers/gpipe.json", "1 (Transformer)")) {
    CAPTURE(row[0].get<std::string>());
    const bool swapped = row[0] == "naive-1";
    const double memory = row[swapped ? 4 : 3];
    const double ours = transformer_parameters(row[1], true) * bytes_of_a_parameter / gib;
    CHECK(ours == doctest::Approx(memory).epsilon(0.01));
    if (swapped) CHECK(ours != doctest::Approx(row[3].get<double>()).epsilon(0.5));
  }
}

TEST_CASE(
    "AmoebaNet-D has the parameters of GPipe's table within 5 %, of torchgpipe's within 1 %") {
  for (const json& row : rows_of("papers/gpipe.json", "1 (AmoebaNet-D)")) {
    CAPTURE(row[0].get<std::string>());
    const LayerWork work = work_of(amoebanet(row[1], row[2]));
    CHECK(work.parameters == doctest::Approx(row[3].get<double>()).epsilon(0.05));
  }
  for (const json& row : rows_of("papers/torchgpipe.json", "AmoebaNet-D memory")) {
    CAPTURE(row[0].get<std::string>());
    const double parameters = work_of(amoebanet(row[1], row[2])).parameters;
    CHECK(parameters == doctest::Approx(row[3].get<double>()).epsilon(0.01));
    CHECK(parameters * bytes_of_a_parameter / gib ==
          doctest::Approx(row[4].get<double>()).epsilon(0.01));
  }
}

}  // namespace penstock::testing
