#include "validate/calibration/gpu/device_probe.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "sim/base/plain_numbers.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

constexpr std::string_view in_part_suffix = " in part";

std::optional<DeviceProbe> device_probe(const ProfileRow& row) {
  auto sizes = shape_numbers(row.point.shape);
  auto beside = neighbours_of(row.point.condition);
  if (!sizes || !beside) return std::nullopt;
  return DeviceProbe{.kernel = row.point.kernel,
                     .pass = row.point.pass,
                     .sizes = *std::move(sizes),
                     .beside = *std::move(beside),
                     .shape = row.point.shape,
                     .condition = row.point.condition,
                     .samples_ns = row.samples_ns,
                     .time_ns = spread_of(row.samples_ns)};
}

}  // namespace

std::optional<Neighbours> neighbours_of(std::string_view condition) {
  constexpr std::string_view pair = "pair:";
  if (condition == solo_condition) return Neighbours{};
  if (!condition.starts_with(pair)) return std::nullopt;
  condition.remove_prefix(pair.size());
  Neighbours found;
  found.in_part = condition.ends_with(in_part_suffix);
  if (found.in_part) condition.remove_suffix(in_part_suffix.size());
  const std::size_t space = condition.rfind(" x");
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  const auto count = whole_number<std::uint32_t>(condition.substr(space + 2));
  if (!count || *count == 0) return std::nullopt;
  found.kernel = condition.substr(0, space);
  found.count = *count;
  return found;
}

double DeviceProbe::size(std::string_view name) const {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 0 : found->second;
}

std::vector<DeviceProbe> device_probes(std::span<const ProfileRow> rows) {
  std::vector<DeviceProbe> probes;
  for (const ProfileRow& row : rows) {
    auto probe = device_probe(row);
    if (probe && probe->time_ns.median > 0) probes.push_back(*std::move(probe));
  }
  return probes;
}

std::vector<DeviceProbe> probes_of(std::span<const DeviceProbe> probes, std::string_view kernel,
                                   bool alone) {
  std::vector<DeviceProbe> chosen;
  std::copy_if(probes.begin(), probes.end(), std::back_inserter(chosen),
               [&](const DeviceProbe& probe) {
                 return probe.kernel == kernel && !(alone && probe.beside.count > 0);
               });
  return chosen;
}

std::size_t different_sizes(std::span<const DeviceProbe> probes, std::string_view name) {
  std::set<double> sizes;
  for (const DeviceProbe& probe : probes) sizes.insert(probe.size(name));
  return sizes.size();
}

}  // namespace penstock
