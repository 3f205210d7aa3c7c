#include "validate/calibration/kernel_model.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "validate/calibration/term_model.hpp"

namespace penstock {
namespace {

/// The only number of a kernel that has one.
double size_of(const NamedNumbers& sizes) { return sizes.begin()->second; }

using Points = std::vector<const SweptPoint*>;

std::vector<double> terms_of(const SweepPoint& point) {
  return terms_at(point.kernel.kernel, point.kernel.pass, point.sizes);
}

std::vector<TermPoint> term_points(const Points& points) {
  std::vector<TermPoint> all;
  for (const SweptPoint* point : points) {
    const SampleSpread spread = spread_of(point->samples_ns);
    all.push_back({terms_of(point->point), spread.median, weight_of(spread),
                   static_cast<std::uint32_t>(all.size())});
  }
  return all;
}

std::vector<CurvePoint> curve_points(const Points& points) {
  std::vector<CurvePoint> all;
  for (const SweptPoint* point : points) {
    all.push_back({size_of(point->point.sizes), spread_of(point->samples_ns).median});
  }
  return all;
}

/// The mean leave-one-out error of a fitting method over the inner points.
double error_of_left_out(const std::vector<CurvePoint>& points,
                         const std::function<double(const std::vector<CurvePoint>&, double)>& fit) {
  std::vector<double> errors;
  for (std::size_t left_out = 1; left_out + 1 < points.size(); ++left_out) {
    std::vector<CurvePoint> others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    errors.push_back(fit(others, points[left_out].size) / points[left_out].value - 1);
  }
  return summarize_errors(errors).mean;
}

/// Pieces of latency and bandwidth if they are close; else the curve, if it is closer.
void choose_copy_form(const std::vector<CurvePoint>& points, KernelModel& model) {
  constexpr double close = 0.05;
  model.pieces = fit_link_pieces(points);
  const double with_pieces =
      error_of_left_out(points, [](const std::vector<CurvePoint>& others, double size) {
        return penstock::at(fit_link_pieces(others), size);
      });
  if (with_pieces <= close) return;
  const double with_curve =
      error_of_left_out(points, [](const std::vector<CurvePoint>& others, double size) {
        return MonotoneCurve(others)(size);
      });
  if (with_curve < with_pieces) model.curve.emplace(points);
}

KernelModel fitted(const KernelPoint& kernel, const Points& training, const BootstrapPlan& plan) {
  KernelModel model;
  model.kernel = kernel.kernel;
  model.pass = kernel.pass;
  model.terms =
      calibrate_terms(term_names(kernel.kernel, kernel.pass), term_points(training), plan);
  if (kernel.kernel == "copy") choose_copy_form(curve_points(training), model);
  return model;
}

/// Measured over predicted, for the points that a model was fitted to.
std::vector<double> misses_of(const KernelModel& model, const Points& training) {
  std::vector<double> misses;
  for (const SweptPoint* point : training) {
    misses.push_back(spread_of(point->samples_ns).median / model.at(point->point.sizes));
  }
  return misses;
}

/// Each draw has its own constants, and the error of some training point.
Interval interval_of(const KernelModel& model, const SweepPoint& point,
                     const std::vector<double>& misses, std::uint32_t place, std::uint64_t seed) {
  std::vector<double> values;
  const std::vector<double> terms = terms_of(point);
  // Models that are not a sum of terms vary in proportion to one.
  const double moves = model.at(point.sizes) / model.terms.at(terms);
  const auto count = static_cast<std::uint32_t>(misses.size());
  for (std::uint32_t draw = 0; draw < model.terms.draws.size(); ++draw) {
    const double miss = misses[drawn_number(seed, "misses", draw, place, count)];
    values.push_back(miss * moves * model.terms.at(terms, draw));
  }
  return middle_share(values, 0.9);
}

/// Errors of a start and one rate, fitted to the training points, on the others.
ErrorSummary errors_of_simple_form(const Points& training, const Points& others) {
  std::vector<TermPoint> points = term_points(training);
  for (TermPoint& point : points) point.terms.resize(2);
  const std::vector<double> constants = fit_terms(points);
  std::vector<double> errors;
  for (const TermPoint& point : term_points(others)) {
    errors.push_back((constants[0] + constants[1] * point.terms[1]) / point.measured - 1);
  }
  return summarize_errors(errors);
}

KernelCalibration calibrate(const Points& points, const BootstrapPlan& plan) {
  Points training, others;
  for (const SweptPoint* point : points) {
    (point->point.part == DataPart::training ? training : others).push_back(point);
  }
  KernelCalibration result{fitted(points.front()->point.kernel, training, plan), {}, {}};
  const std::vector<double> misses = misses_of(result.model, training);
  for (const SweptPoint* point : points) {
    const NamedNumbers& sizes = point->point.sizes;
    const auto place = static_cast<std::uint32_t>(result.points.size());
    result.points.push_back({point->point, spread_of(point->samples_ns), result.model.at(sizes),
                             interval_of(result.model, point->point, misses, place, plan.seed)});
  }
  result.simple = errors_of_simple_form(training, others);
  return result;
}

}  // namespace

double KernelModel::at(const NamedNumbers& sizes) const {
  if (curve) return (*curve)(size_of(sizes));
  if (!pieces.empty()) return penstock::at(pieces, size_of(sizes));
  return terms.at(terms_at(kernel, pass, sizes));
}

std::vector<KernelCalibration> calibrate_kernels(const Sweep& swept, const BootstrapPlan& plan) {
  using Name = std::pair<std::string, std::string>;
  std::vector<Name> names;
  std::map<Name, Points> points;
  for (const SweptPoint& point : swept.points) {
    const Name name{point.point.kernel.kernel, point.point.kernel.pass};
    if (!points.contains(name)) names.push_back(name);
    points[name].push_back(&point);
  }
  std::vector<KernelCalibration> all;
  for (const Name& name : names) all.push_back(calibrate(points[name], plan));
  return all;
}

ErrorSummary errors_of(const std::vector<KernelPrediction>& points, DataPart part) {
  std::vector<double> errors;
  for (const KernelPrediction& point : points) {
    if (point.point.part == part) errors.push_back(point.error());
  }
  return summarize_errors(errors);
}

const KernelModel* model_of(const std::vector<KernelCalibration>& all, std::string_view kernel,
                            std::string_view pass) {
  for (const KernelCalibration& one : all) {
    if (one.model.kernel == kernel && one.model.pass == pass) return &one.model;
  }
  return nullptr;
}

}  // namespace penstock
