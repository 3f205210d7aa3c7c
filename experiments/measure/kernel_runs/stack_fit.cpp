#include "experiments/measure/kernel_runs/stack_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/table.hpp"
#include "experiments/run/run.hpp"
#include "experiments/run/timing/questions.hpp"
#include "validate/calibration/fit.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr FitRange share_range{.start = 0.8, .least = 0.01, .most = 3};
constexpr FitRange passes_range{.start = 1, .least = 0.1, .most = 30};

constexpr const char* tried_name = "tried";

/// A stack with these shares on a device, as a file. `reason` says what a value rests on.
template <class Reason>
ordered_json stack_document(const std::string& name, const std::string& summary,
                            const std::string& device, const ordered_json& shares, double spread,
                            Reason reason) {
  ordered_json constants = ordered_json::object();
  for (const auto& [key, value] : shares.items()) {
    constants[key] = {{"value", value}, {"fitted", reason(key)}};
  }
  constants["spread"] = {{"value", spread}, {"fitted", reason("spread")}};
  return {{"penstock", 1},
          {"is", "stack"},
          {"name", name},
          {"summary", summary},
          {"devices", {{device, constants}}},
          {"others", constants}};
}

ordered_json shares_json(const StackConstants& shares) {
  ordered_json all = {{"matrix_share", shares.matrix_share},
                      {"fp8_share", shares.fp8_share},
                      {"vector_passes", shares.vector_passes}};
  if (shares.attention.empty()) return all;
  all["attention"] = shares.attention;
  all["attention_share"] = shares.attention_share;
  return all;
}

/// Predicts what was timed, with the shares fitted so far.
class Predictor {
 public:
  Predictor(Catalogue catalogue, const std::string& hardware)
      : catalogue_(std::move(catalogue)), device_(machine_or_device(catalogue_, hardware).device) {}

  const Device& device() const { return device_; }

  double us(const KernelQuestion& question, const StackConstants& shares) const {
    KernelQuestion asked = question;
    asked.shares = shares;
    if (question.kind == "attention") asked.attention = shares.attention;
    return time_kernel(device_, asked).us;
  }

  /// Forward and backward of layers, in a run of one microbatch on one rank.
  std::pair<double, double> us(const LayersRow& row, const StackConstants& shares);

 private:
  Catalogue catalogue_;
  Device device_;
};

std::pair<double, double> Predictor::us(const LayersRow& row, const StackConstants& shares) {
  const auto untold = [](const std::string&) { return "tried"; };
  catalogue_[tried_name] = parse_catalogue_file(
      stack_document(tried_name, tried_name, device_.name, shares_json(shares), 1, untold).dump(),
      tried_name);
  const json document = {
      {"penstock", 1},
      {"model",
       {{"layers", json::parse(row.layers)}, {"sequence", row.sequence}, {"dtype", row.dtype}}},
      {"hardware",
       {{"name", device_.name},
        {"devices", 1},
        {"bandwidth_bytes_per_s", 1e12},  // of a link that one rank does not use
        {"latency_us", 0},
        {"stack", tried_name}}},
      {"schedule",
       {{"name", "1f1b"}, {"microbatches", 1}, {"samples_per_microbatch", row.examples}}},
      {"memory", {{"capacity_bytes", 1e15}}}};
  const RunResult result =
      run(settle(scenario_from(document, "layers"), {.catalogue = &catalogue_}));
  double forward = 0, backward = 0;
  for (TaskId task = 0; result.plan && task < result.plan->tasks(); ++task) {
    const double us = to_us(result.timeline.end[task] - result.timeline.begin[task]);
    const Pass pass = result.plan->class_of(task).pass;
    if (pass == Pass::forward) forward += us;
    if (pass == Pass::backward || pass == Pass::backward_input || pass == Pass::backward_weight) {
      backward += us;
    }
  }
  return {forward, backward};
}

/// One constant of the stack, and the kernels that show it.
struct Sought {
  std::string name;
  double StackConstants::*member;
  FitRange range;
  std::vector<const KernelRow*> kernels;
  std::vector<const LayersRow*> layers;

  std::size_t rows() const { return kernels.size() + 2 * layers.size(); }
};

std::vector<double> misfits_of(const Sought& sought, const StackConstants& shares,
                               Predictor& predictor) {
  std::vector<double> misfits;
  for (const KernelRow* row : sought.kernels) {
    misfits.push_back(std::log(predictor.us(row->question, shares) / row->time.us));
  }
  for (const LayersRow* row : sought.layers) {
    const auto [forward, backward] = predictor.us(*row, shares);
    misfits.push_back(std::log(forward / row->forward.us));
    misfits.push_back(std::log(backward / row->backward.us));
  }
  return misfits;
}

/// The best value, and how far it leaves the rows off.
Fit fit_one(const Sought& sought, const StackConstants& shares, Predictor& predictor) {
  return fit({sought.range}, [&](const std::vector<Constants>& choices) {
    std::vector<std::vector<double>> all;
    for (const Constants& choice : choices) {
      StackConstants tried = shares;
      tried.*sought.member = choice.front();
      all.push_back(misfits_of(sought, tried, predictor));
    }
    return all;
  });
}

std::vector<const KernelRow*> kernels_of(const KernelRun& run, std::string_view kind,
                                         bool narrow = false) {
  std::vector<const KernelRow*> found;
  for (const KernelRow& row : run.kernels) {
    const bool is_narrow = recipe_of(row.question.dtype) != nullptr;
    if (row.question.kind == kind && is_narrow == narrow) found.push_back(&row);
  }
  return found;
}

std::vector<const LayersRow*> layers_of(const KernelRun& run, std::string_view part) {
  std::vector<const LayersRow*> found;
  for (const LayersRow& row : run.layers) {
    if (row.part == part && !row.held_back) found.push_back(&row);
  }
  return found;
}

/// In the order in which they depend on each other.
std::vector<Sought> sought_in(const KernelRun& run) {
  using S = StackConstants;
  return {{"matrix_share", &S::matrix_share, share_range, kernels_of(run, "product"), {}},
          {"fp8_share", &S::fp8_share, share_range, kernels_of(run, "product", true), {}},
          {"attention_share", &S::attention_share, share_range, kernels_of(run, "attention"), {}},
          {"vector_passes", &S::vector_passes, passes_range, {}, layers_of(run, "norm")}};
}

/// Takes the attention kernel of the device that leaves the rows least far off.
Fit fit_attention(const Sought& sought, Predictor& predictor, StackConstants& shares) {
  std::set<std::string> names;
  for (const AttentionSpeed& speed : predictor.device().attention) names.insert(speed.kernel);
  if (names.empty()) names.insert("");  // priced as products
  Fit best;
  best.misfit = std::numeric_limits<double>::infinity();
  std::string nearest;
  for (const std::string& name : names) {
    shares.attention = name;
    Fit tried = fit_one(sought, shares, predictor);
    if (tried.misfit >= best.misfit) continue;
    best = std::move(tried);
    nearest = name;
  }
  shares.attention = nearest;
  return best;
}

StackConstants fit_all(const KernelRun& run, Predictor& predictor, StackFit& result) {
  StackConstants shares;
  for (const Sought& sought : sought_in(run)) {
    if (sought.rows() == 0) continue;
    const bool of_attention = sought.name == "attention_share";
    if (of_attention && predictor.device().attention.empty()) continue;  // as products
    const Fit found = of_attention ? fit_attention(sought, predictor, shares)
                                   : fit_one(sought, shares, predictor);
    shares.*sought.member = found.constants.front();
    result.shares.push_back({sought.name, found.constants.front(), sought.rows()});
  }
  result.attention = shares.attention;
  return shares;
}

std::string sizes_text(const KernelQuestion& question) {
  std::string text = question.dtype;
  for (const auto& [name, value] : question.sizes) text += fmt::format(" {} {:g}", name, value);
  return text;
}

std::string sizes_text(const LayersRow& row) {
  return fmt::format("{} x {}", row.dtype, row.sequence);
}

/// The run without what waited for the host.
KernelRun of_kernels(KernelRun run, StackFit& fit) {
  const auto left_out = [&](const auto& row, const auto& timed, const std::string& what) {
    if (timed.waits_for_host()) fit.left_out.push_back(row.part + ": " + what);
    return timed.waits_for_host();
  };
  std::erase_if(run.kernels, [&](const KernelRow& row) {
    return left_out(row, row.time, sizes_text(row.question));
  });
  std::erase_if(run.layers,
                [&](const LayersRow& row) { return left_out(row, row, sizes_text(row)); });
  return run;
}

void judge(const KernelRun& run, Predictor& predictor, const StackConstants& shares,
           StackFit& fit) {
  for (const KernelRow& row : run.kernels) {
    fit.rows.push_back({row.part, sizes_text(row.question), row.time.us,
                        predictor.us(row.question, shares), row.question.kind != "stream"});
  }
  for (const LayersRow& row : run.layers) {
    const auto [forward, backward] = predictor.us(row, shares);
    const bool fitted = row.part == "norm" && !row.held_back;
    const std::string what = sizes_text(row);
    fit.rows.push_back({row.part, "forward, " + what, row.forward.us, forward, fitted});
    fit.rows.push_back({row.part, "backward, " + what, row.backward.us, backward, fitted});
  }
}

void take_power(const KernelRun& run, StackFit& fit) {
  for (const KernelRow& row : run.kernels) {
    if (row.time.watts == 0) continue;
    fit.least_watts =
        fit.least_watts == 0 ? row.time.watts : std::min(fit.least_watts, row.time.watts);
    fit.most_watts = std::max(fit.most_watts, row.time.watts);
  }
}

/// Errors of the parts, in the order in which they were timed.
std::vector<std::pair<std::string, std::vector<double>>> by_part(const StackFit& fit) {
  std::vector<std::pair<std::string, std::vector<double>>> parts;
  for (const JudgedKernel& row : fit.rows) {
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const auto& part) { return part.first == row.part; });
    auto& errors = found == parts.end() ? parts.emplace_back(row.part, std::vector<double>{}).second
                                        : found->second;
    errors.push_back(row.error());
  }
  return parts;
}

/// Of whole models that nothing was fitted to; without them, of all rows. No fewer than a percent:
/// times on a machine are not known better.
double held_back_error(const StackFit& fit) {
  std::vector<double> models, all;
  for (const JudgedKernel& row : fit.rows) {
    all.push_back(row.error());
    if (row.part == "model" && !row.fitted) models.push_back(row.error());
  }
  constexpr double least = 0.01;
  return std::max(least, summarize_errors(models.empty() ? all : models).mean);
}

bool is_fitted(const StackFit& fit, const std::string& part) {
  return std::any_of(fit.rows.begin(), fit.rows.end(),
                     [&](const JudgedKernel& row) { return row.part == part && row.fitted; });
}

}  // namespace

StackFit fit_stack(const KernelRun& all, const Catalogue& catalogue, const std::string& hardware) {
  Predictor predictor(catalogue, hardware);
  StackFit fit{.hardware = predictor.device().name, .seen = all.device, .failed = all.failed};
  const KernelRun run = of_kernels(all, fit);
  const StackConstants shares = fit_all(run, predictor, fit);
  judge(run, predictor, shares, fit);
  take_power(run, fit);
  return fit;
}

ordered_json stack_file(const StackFit& fit, const std::string& name, const std::string& file) {
  ordered_json shares = ordered_json::object();
  std::map<std::string, std::string> reasons;
  for (const FittedShare& share : fit.shares) {
    shares[share.name] = share.value;
    reasons[share.name] =
        fmt::format("{} of {} on {}", counted(share.rows, "time"), file, fit.seen);
  }
  if (!fit.attention.empty()) {
    shares["attention"] = fit.attention;
    reasons["attention"] = "the nearest of the device's kernels";
  }
  reasons["spread"] = fmt::format("mean error of what was held back of {}", file);
  return stack_document(
      name, fmt::format("PyTorch on {}, from single kernels, written by penstock", fit.seen),
      fit.hardware, shares, held_back_error(fit),
      [&](const std::string& key) { return reasons.at(key); });
}

std::string stack_fit_text(const StackFit& fit) {
  std::vector<std::vector<std::string>> shares{{"constant", "value", "from"}};
  for (const FittedShare& share : fit.shares) {
    shares.push_back({share.name, number_text(share.value), counted(share.rows, "time")});
  }
  std::vector<std::vector<std::string>> errors{
      {"part", "times", "mean error", "bias", "worst", ""}};
  for (const auto& [part, all] : by_part(fit)) {
    const ErrorSummary summary = summarize_errors(all);
    errors.push_back({part, std::to_string(all.size()), percent_text(summary.mean),
                      signed_percent_text(summary.bias), percent_text(summary.most),
                      is_fitted(fit, part) ? "fitted" : "held back"});
  }
  std::string text = fmt::format("{} as {}\n\n{}", fit.seen, fit.hardware, aligned(shares, {0, 2}));
  if (!fit.attention.empty()) text += fmt::format("attention is nearest to {}\n", fit.attention);
  if (fit.most_watts > 0) {
    text += fmt::format("power {} to {} W\n", number_text(fit.least_watts),
                        number_text(fit.most_watts));
  }
  text += "\n" + aligned(errors, {0, 5});
  for (const std::string& what : fit.left_out)
    text += fmt::format("waits for the host, left out: {}\n", what);
  for (const std::string& failed : fit.failed) text += fmt::format("not timed: {}\n", failed);
  return text;
}

ordered_json stack_fit_json(const StackFit& fit) {
  ordered_json shares = ordered_json::object(), rows = ordered_json::array();
  for (const FittedShare& share : fit.shares) shares[share.name] = share.value;
  for (const JudgedKernel& row : fit.rows) {
    rows.push_back({{"part", row.part},
                    {"what", row.what},
                    {"measured_us", row.measured_us},
                    {"predicted_us", row.predicted_us},
                    {"fitted", row.fitted}});
  }
  return {{"penstock", 1},
          {"hardware", fit.hardware},
          {"device", fit.seen},
          {"attention", fit.attention},
          {"shares", std::move(shares)},
          {"watts", {fit.least_watts, fit.most_watts}},
          {"rows", std::move(rows)},
          {"left_out", fit.left_out},
          {"failed", fit.failed}};
}

}  // namespace penstock
