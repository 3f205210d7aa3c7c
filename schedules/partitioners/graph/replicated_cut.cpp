#include "schedules/partitioners/graph/replicated_cut.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

/// Values of ideals that some devices can run, each with the fewest devices that do.
class DeviceTable {
 public:
  DeviceTable(const IdealSpace& space, const ReplicaPrices& prices, std::uint32_t devices,
              bool replicas, double bound)
      : space_(space),
        prices_(prices),
        devices_(devices),
        most_replicas_(replicas ? devices : 1),
        bound_(std::min(bound, single_stage(replicas))),
        least_(std::size_t{space.size()} * (devices + 1), no_cut),
        from_(least_.size()) {
    least_[0] = 0;
    alive_.push_back({0, 0, 0, 1});
  }

  ReplicatedCut fill() {
    for (std::uint32_t upto = 1; upto < space_.size(); ++upto) {
      fill(upto);
      keep(upto);
    }
    return traced();
  }

 private:
  struct From {
    std::uint32_t before = 0;
    std::uint32_t replicas = 0;
  };
  /// An ideal that can begin a stage.
  struct Alive {
    std::uint32_t ideal;
    double compute_s;
    std::uint32_t least_devices;   // before it
    std::uint32_t least_replicas;  // of a stage behind it, for its input
  };

  /// A single stage is always possible, and any better cut is below its value.
  double single_stage(bool replicas) const {
    if (!replicas && devices_ > 1) return no_cut;
    const ReplicatedStage all{0, space_.size() - 1, devices_};
    return std::nextafter(stage_time(space_, prices_, space_.compute_s.back(), all), no_cut);
  }

  double* row(std::uint32_t ideal) { return &least_[std::size_t{ideal} * (devices_ + 1)]; }

  /// Devices that can run this compute within the bound.
  std::uint32_t devices_for(double seconds) const {
    if (seconds <= 0 || bound_ == no_cut) return 1;
    return std::max(1U, std::uint32_t(std::min(1e9, std::ceil(seconds / bound_ * (1 - 1e-12)))));
  }

  std::uint32_t replicas_for_boundary(std::uint32_t ideal) const {
    if (prices_.transfers == CutTransfers::none || bound_ == no_cut) return 1;
    const double trips = prices_.transfers == CutTransfers::overlap ? 2 : 1;
    return devices_for(trips * space_.boundary_bytes[ideal] * prices_.seconds_per_byte);
  }

  void fill(std::uint32_t upto) {
    const bool last = upto + 1 == space_.size();
    const double compute = space_.compute_s[upto];
    const std::uint32_t after = last ? 0 : devices_for(space_.compute_s.back() - compute);
    if (after >= devices_) return;
    const std::uint32_t left = devices_ - after;
    const std::uint32_t output = last ? 1 : replicas_for_boundary(upto);
    if (output >= devices_ && !last) return;  // no stage could take it in
    for (const Alive& begin : alive_) {
      if (begin.least_devices >= left) continue;
      const std::uint32_t most = std::min(left - begin.least_devices, most_replicas_);
      if (compute - begin.compute_s > bound_ * most) continue;
      std::uint32_t least = std::max(begin.least_replicas, devices_for(compute - begin.compute_s));
      if (begin.ideal > 0 || prices_.counts_first_output) least = std::max(least, output);
      if (least > most || !space_.contains(upto, begin.ideal)) continue;
      for (std::uint32_t r = least; r <= most; ++r) add({begin.ideal, upto, r}, begin, left);
    }
  }

  void add(const ReplicatedStage& stage, const Alive& begin, std::uint32_t left) {
    const double own =
        stage_time(space_, prices_, space_.compute_s[stage.upto] - begin.compute_s, stage);
    if (own >= bound_) return;
    const double* before = row(stage.before);
    double* values = row(stage.upto);
    for (std::uint32_t n = begin.least_devices + stage.replicas; n <= left; ++n) {
      const double value = std::max(before[n - stage.replicas], own);
      if (value >= values[n]) continue;
      values[n] = value;
      from_[std::size_t{stage.upto} * (devices_ + 1) + n] = {stage.before, stage.replicas};
    }
  }

  void keep(std::uint32_t ideal) {
    const double* values = row(ideal);
    std::uint32_t least = 1;
    while (least <= devices_ && values[least] == no_cut) ++least;
    if (least > devices_) return;
    alive_.push_back({ideal, space_.compute_s[ideal], least, replicas_for_boundary(ideal)});
  }

  ReplicatedCut traced() {
    ReplicatedCut cut;
    std::uint32_t ideal = space_.size() - 1;
    std::uint32_t devices = devices_;
    cut.value = row(ideal)[devices];
    if (cut.value == no_cut) return cut;
    while (ideal > 0) {
      const From from = from_[std::size_t{ideal} * (devices_ + 1) + devices];
      cut.stages.push_back({from.before, ideal, from.replicas});
      ideal = from.before;
      devices -= from.replicas;
    }
    std::reverse(cut.stages.begin(), cut.stages.end());
    return cut;
  }

  const IdealSpace& space_;
  const ReplicaPrices& prices_;
  std::uint32_t devices_;
  std::uint32_t most_replicas_;
  double bound_;
  std::vector<double> least_;  // by ideal and number of devices
  std::vector<From> from_;
  std::vector<Alive> alive_;
};

}  // namespace

double stage_time(const IdealSpace& space, const ReplicaPrices& prices, double compute_s,
                  const ReplicatedStage& stage, StageEnds ends) {
  const double replicas = stage.replicas;
  const double parameters = space.parameter_bytes[stage.upto] - space.parameter_bytes[stage.before];
  const double share = prices.seconds_per_byte / replicas;
  const bool single = stage.before == 0 && stage.upto + 1 == space.size();
  const double reduced = 4 * (replicas - 1) * parameters * share;
  const double own =
      (compute_s + (single ? reduced / prices.single_stage_share : reduced)) / replicas;
  const double in = ends.receives ? space.boundary_bytes[stage.before] * share : 0;
  const double out = ends.sends ? space.boundary_bytes[stage.upto] * share : 0;
  switch (prices.transfers) {
    case CutTransfers::none:
      return own;
    case CutTransfers::overlap:
      return std::max({own, 2 * in, 2 * out});
    case CutTransfers::serial:
      return own + in + out;
  }
  return own;
}

double stage_time(const IdealSpace& space, const ReplicaPrices& prices, double compute_s,
                  const ReplicatedStage& stage) {
  const bool first = stage.before == 0;
  const bool last = stage.upto + 1 == space.size();
  return stage_time(space, prices, compute_s, stage,
                    {.receives = !first, .sends = !last && (!first || prices.counts_first_output)});
}

ReplicatedCut replicated_cut(const IdealSpace& space, const ReplicaPrices& prices,
                             std::uint32_t devices, bool replicas, double bound) {
  return DeviceTable(space, prices, devices, replicas, bound).fill();
}

}  // namespace penstock
