#include "experiments/measure/kernel_runs/stack_fit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "validate/statistics/summary.hpp"

// Times made with known shares are fitted, and give these shares.

namespace penstock::testing {
namespace {

using nlohmann::json;

constexpr const char* device_name = "h100-sxm5-80gb";

StackConstants true_shares() {
  return {.matrix_share = 0.7, .fp8_share = 0.6, .attention_share = 0.9, .attention = "flash-3"};
}

json timed_row(const Device& device, KernelQuestion question, const std::string& part) {
  question.shares = true_shares();
  if (question.kind == "attention") question.attention = "flash-3";
  return {{"part", part},
          {"kind", question.kind},
          {"dtype", question.dtype},
          {"sizes", question.sizes},
          {"us", time_kernel(device, question).us},
          {"runs", 10},
          {"watts", question.kind == "attention" ? 600 : 690}};
}

/// The lines of a machine with these shares.
std::vector<json> made_lines() {
  const Catalogue catalogue = read_catalogue();
  const Device device = machine_of(catalogue, catalogue.at(device_name)).device;
  std::vector<json> lines{{{"penstock", 1}, {"device", "NVIDIA H100"}, {"torch", "2.15.0"}}};
  for (const double rows : {2048, 8192}) {
    for (const char* dtype : {"bf16", "fp8"}) {
      lines.push_back(timed_row(
          device, {"product", {{"rows", rows}, {"columns", 4096}, {"inner", 4096}}, dtype, {}},
          "products"));
    }
    for (const double backward : {0, 1}) {
      lines.push_back(timed_row(
          device,
          {"attention",
           {{"sequence", rows}, {"heads", 16}, {"head_size", 128}, {"backward", backward}}},
          "attention"));
    }
  }
  lines.push_back({{"part", "moe"}, {"failed", "out of memory"}});
  return lines;
}

std::string text_of(const std::vector<json>& lines) {
  std::string text;
  for (const json& line : lines) text += line.dump() + "\n";
  return text;
}

/// What is fitted to a file with these lines.
StackFit fitted(const std::vector<json>& lines) {
  const Scratch scratch;
  return fit_stack(read_kernel_run(scratch.file("k.jsonl", text_of(lines))), read_catalogue(),
                   device_name);
}

double share(const StackFit& fit, const std::string& name) {
  for (const FittedShare& one : fit.shares) {
    if (one.name == name) return one.value;
  }
  return -1;
}

}  // namespace

TEST_CASE("kernel runs: shares that made the times are found, with the kernel of attention") {
  const Scratch scratch;
  write_file(scratch.path("k.jsonl"), text_of(made_lines()) + "{\"part\": \"cut o");
  const StackFit fit =
      fit_stack(read_kernel_run(scratch.path("k.jsonl")), read_catalogue(), "dgx-h100");
  CHECK(fit.hardware == device_name);
  CHECK(share(fit, "matrix_share") == doctest::Approx(0.7).epsilon(1e-3));
  CHECK(share(fit, "fp8_share") == doctest::Approx(0.6).epsilon(1e-3));
  CHECK(share(fit, "attention_share") == doctest::Approx(0.9).epsilon(1e-3));
  CHECK(fit.attention == "flash-3");
  CHECK(fit.least_watts == 600);
  CHECK(fit.most_watts == 690);
  CHECK(fit.failed == std::vector<std::string>{"moe: out of memory"});
  for (const JudgedKernel& row : fit.rows) CHECK(row.error() == doctest::Approx(0).epsilon(1e-3));
}

TEST_CASE("kernel runs: layers are judged by both passes, with the fitted shares") {
  std::vector<json> lines = made_lines();
  const json layers = json::parse(R"([{"parts": [
      {"kind": "mlp", "hidden": 4096, "intermediate": 16384}]}])");
  lines.push_back({{"part", "model"},
                   {"layers", layers},
                   {"sequence", 4096},
                   {"examples", 2},
                   {"dtype", "bf16"},
                   {"held_back", true},
                   {"forward", {{"us", 1000}}},
                   {"backward", {{"us", 2000}}}});
  const StackFit fit = fitted(lines);
  REQUIRE(fit.rows.size() == 10);
  // Two products of 2 * 8192 * 4096 * 16384 FLOPs at 0.7 of the rate, and twice that backward.
  const double products_us = 2 * 2.0 * 8192 * 4096 * 16384 / (989.4e12 * 0.803 * 0.7) * 1e6;
  CHECK(fit.rows[8].predicted_us == doctest::Approx(products_us).epsilon(0.15));
  CHECK(fit.rows[9].predicted_us == doctest::Approx(2 * products_us).epsilon(0.15));
  CHECK(fit.rows[8].predicted_us > products_us);
  CHECK_FALSE(fit.rows[8].fitted);
}

// Kernels that are shorter than their launch take as long as that.
TEST_CASE("kernel runs: what waited for the host is named, neither fitted nor judged") {
  std::vector<json> lines = made_lines();
  json slow = lines[1], stream = {{"part", "streams"}, {"kind", "stream"}, {"dtype", "bf16"}};
  slow["us"] = 10 * slow["us"].get<double>();
  slow["host_us"] = 0.9 * slow["us"].get<double>();
  stream.update({{"sizes", {{"bytes", 1e6}}}, {"us", 6}, {"host_us", 4.7}});
  json model = {{"part", "model"}, {"dtype", "bf16"}, {"sequence", 256}, {"examples", 1}};
  model["layers"] = json::parse(R"([{"parts": [{"kind": "norm", "hidden": 64}]}])");
  model["forward"] = {{"us", 40}, {"host_us", 39}};
  model["backward"] = {{"us", 80}, {"host_us", 20}};
  lines.insert(lines.end(), {slow, stream, model});
  const StackFit fit = fitted(lines);
  CHECK(share(fit, "matrix_share") == doctest::Approx(0.7).epsilon(1e-3));
  REQUIRE(fit.rows.size() == 9);
  CHECK(fit.rows.back().part == "streams");
  CHECK(fit.left_out == std::vector<std::string>{"products: bf16 columns 4096 inner 4096 rows 2048",
                                                 "model: bf16 x 256"});
  CHECK(says(stack_fit_text(fit), "waits for the host, left out: model: bf16 x 256\n"));
}

TEST_CASE("kernel runs: a model without CUDA graphs is judged by its eager times, and says why") {
  std::vector<json> lines = made_lines();
  json model = {{"part", "model"}, {"dtype", "bf16"}, {"sequence", 256}, {"examples", 1}};
  model["layers"] = json::parse(R"([{"parts": [{"kind": "norm", "hidden": 64}]}])");
  model["forward"] = {{"us", 40}};
  model["backward"] = {{"us", 80}};
  model["why_no_graphs"] = "RuntimeError: no capture";
  lines.push_back(model);
  const StackFit fit = fitted(lines);
  CHECK(fit.rows.back().measured_us == 80);
  CHECK(fit.failed.back() == "model as CUDA graphs: RuntimeError: no capture");
}

TEST_CASE("kernel runs: the file is a stack of the catalogue") {
  const Scratch scratch;
  const StackFit fit = fitted(made_lines());
  const std::string text = stack_file(fit, "mine", "k.jsonl").dump();
  CHECK(is_own_file(scratch.file("mine.json", text)));
  const CatalogueItem item = parse_catalogue_file(text, "mine.json");
  const Stack stack = stack_of(item, device_name);
  CHECK(stack.known_device);
  CHECK(stack.constants.matrix_share == doctest::Approx(0.7).epsilon(1e-3));
  CHECK(stack.constants.attention == "flash-3");
}

TEST_CASE("kernel runs: a wrong line is named") {
  const Scratch scratch;
  const std::string first = R"({"penstock": 1, "device": "a"})";
  write_file(scratch.path("k.jsonl"),
             first + "\n" + R"({"part": "p", "kind": "product", "dtype": "bf16", "us": 1})" + "\n");
  CHECK(says(refused_with<InputError>([&] { read_kernel_run(scratch.path("k.jsonl")); }),
             "k.jsonl: line 2: /sizes: \"sizes\" is missing"));
  write_file(scratch.path("one.jsonl"), first + "\n");
  CHECK_THROWS_AS(read_kernel_run(scratch.path("one.jsonl")), InputError);
}

// Single kernels give the shares; the models are held back. Gradients of queries, keys and values
// are copied together in PyTorch, which is 3 % of a backward that no price has.
TEST_CASE("kernel runs: kernels of an H200 fit one share each, and predict the forward of models") {
  const StackFit fit =
      fit_stack(read_kernel_run(PENSTOCK_ROOT "/experiments/gpu_runs/h200/kernels.jsonl"),
                read_catalogue(), "h200-sxm-141gb");
  std::map<std::string, std::vector<double>> errors;
  for (const JudgedKernel& row : fit.rows) {
    const bool hosts = row.part == "model" && row.what.ends_with(" x 256");  // bound by the host
    if (!hosts) errors[row.part + " " + row.what.substr(0, 8)].push_back(row.error());
  }
  const auto mean = [&](const char* part) { return summarize_errors(errors.at(part)).mean; };
  CHECK(errors.at("products bf16 bf16 col").size() == 28);
  CHECK(mean("products bf16 bf16 col") < 0.02);
  CHECK(mean("products fp8 fp8 colu") < 0.025);
  CHECK(mean("model forward,") < 0.01);
  CHECK(mean("model backward") < 0.045);
  CHECK(fit.attention == "flash-3");
}

TEST_CASE("kernel runs: the page of GPU runs has the errors of an H200's models") {
  const StackFit fit =
      fit_stack(read_kernel_run(PENSTOCK_ROOT "/experiments/gpu_runs/h200/kernels.jsonl"),
                read_catalogue(), "h200-sxm-141gb");
  std::map<std::string, double> percent;
  for (const JudgedKernel& row : fit.rows) {
    if (row.part == "model") percent[row.what] = 100 * row.error();
  }
  const auto both = [&](const char* format, const char* first, const char* second) {
    return fmt::format(fmt::runtime(format), percent.at(first), percent.at(second));
  };
  const std::string page = read_file(PENSTOCK_ROOT "/experiments/gpu_runs/README.md");
  for (const std::string& text :
       {both("forward {:.1f} and {:.1f} %", "forward, bf16 x 4096", "forward, bf16 x 2048"),
        both("backward {:.1f} and {:.1f} %", "backward, bf16 x 4096", "backward, bf16 x 2048"),
        both("forward {:.1f} %, backward {:.1f} %", "forward, bf16 x 256",
             "backward, bf16 x 256")}) {
    CAPTURE(text);
    CHECK(says(page, text));
  }
}

}  // namespace penstock::testing
