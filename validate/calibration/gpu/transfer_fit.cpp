#include <fmt/format.h>

#include <map>

#include "validate/calibration/curves.hpp"
#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/calibration/gpu/fitting.hpp"

namespace penstock {
namespace {

constexpr std::size_t least_transfer_sizes = 3;
constexpr double far_from_pieces = 0.05;

using TransferGroups = std::map<std::string, std::vector<DeviceProbe>>;

/// "transfer_paced on 12 SMs, for 6 links": kernels that copy on the SMs of links, of which each
/// link has its share; copy engines do not use them.
std::string transfer_title(const DeviceProbe& probe) {
  if (probe.kernel != "transfer_paced") return probe.kernel;
  std::string title = fmt::format("{} on {} SMs", probe.kernel, probe.size("sms"));
  const double links = probe.size("links");
  return links > 1 ? fmt::format("{}, for {} links", title, links) : title;
}

TransferGroups transfer_groups(std::span<const DeviceProbe> probes) {
  TransferGroups groups{{"copy", {}}};
  for (const DeviceProbe& probe : probes) {
    const bool moves = probe.kernel == "copy" || probe.kernel.starts_with("transfer_");
    if (!moves || probe.beside.count > 0 || probe.size("bytes") <= 0) continue;
    groups[transfer_title(probe)].push_back(probe);
  }
  return groups;
}

std::vector<CurvePoint> transfer_points(std::span<const DeviceProbe> probes) {
  std::vector<CurvePoint> points;
  for (const DeviceProbe& probe : probes) {
    points.push_back({probe.size("bytes"), probe.time_ns.median});
  }
  return points;
}

double rate_of(const LinkPiece& piece) { return piece.ns_per_byte > 0 ? 1 / piece.ns_per_byte : 0; }

/// The latency of the first piece and the rate of the last one, from each draw of the points.
void add_draws(const std::vector<CurvePoint>& points, const BootstrapPlan& plan,
               std::vector<double>& latencies, std::vector<double>& rates) {
  const auto count = static_cast<std::uint32_t>(points.size());
  for (std::uint32_t draw = 0; draw < plan.draws; ++draw) {
    const std::vector<std::uint32_t> times = drawn_blocks(plan.seed, draw, count);
    std::vector<CurvePoint> drawn;
    bool differ = false;
    for (std::size_t i = 0; i < points.size(); ++i) {
      drawn.insert(drawn.end(), times[i], points[i]);
      differ = differ || (times[i] > 0 && points[i].size != drawn.front().size);
    }
    if (!differ) continue;  // one size gives no rate
    const LinkPieces pieces = fit_link_pieces(drawn);
    latencies.push_back(1e-3 * pieces.front().latency_ns);
    rates.push_back(rate_of(pieces.back()));
  }
}

DeviceFit fit_transfer(const std::string& title, std::span<const DeviceProbe> probes,
                       const BootstrapPlan& plan) {
  DeviceFit result{.name = title, .form = "t = latency + bytes / rate", .rate_unit = "GB/s"};
  if (const std::size_t sizes = different_sizes(probes, "bytes"); sizes < least_transfer_sizes) {
    result.refusal = fmt::format(
        "needs {} sizes, got {}; penstock_gpu_check --all FOLDER --step copies measures them",
        least_transfer_sizes, sizes);
    return result;
  }
  const std::vector<CurvePoint> points = transfer_points(probes);
  const LinkPieces pieces = fit_link_pieces(points);
  std::vector<double> latencies, rates;
  add_draws(points, plan, latencies, rates);
  constexpr std::size_t constants = 2;  // of a piece
  result.numbers = {
      {"latency", "us", 1e-3 * pieces.front().latency_ns,
       fitted_interval(latencies, points.size(), constants)},
      {"rate", "GB/s", rate_of(pieces.back()), fitted_interval(rates, points.size(), constants)}};
  for (std::size_t i = 0; pieces.size() > 1 && i < pieces.size(); ++i) {
    result.notes.push_back(fmt::format("from {:.0f} bytes on: {:.3g} µs and {:.4g} GB/s",
                                       pieces[i].from_bytes, 1e-3 * pieces[i].latency_ns,
                                       rate_of(pieces[i])));
  }
  for (const DeviceProbe& probe : probes) {
    const double bytes = probe.size("bytes");
    result.points.push_back(fitted_point(probe, at(pieces, bytes), bytes));
  }
  if (errors_of(result, false).mean > far_from_pieces) {
    result.notes.push_back(
        fmt::format("no pieces are within {:.0f} %: more sizes are needed, or a curve through them",
                    100 * far_from_pieces));
  }
  return result;
}

}  // namespace

std::vector<DeviceFit> fit_transfers(std::span<const DeviceProbe> probes,
                                     const BootstrapPlan& plan) {
  std::vector<DeviceFit> all;
  for (const auto& [title, group] : transfer_groups(probes)) {
    all.push_back(fit_transfer(title, group, plan));
  }
  return all;
}

}  // namespace penstock
