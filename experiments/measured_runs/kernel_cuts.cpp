#include "experiments/measured_runs/kernel_cuts.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A kernel of the compute stream.
struct DeviceKernel {
  KinetoSpan span;
  std::optional<std::uint32_t> thread;  // launched by this thread
  std::optional<std::uint32_t> step;
};

/// The stream with the most time in kernels.
std::uint32_t busiest_lane(const KinetoTrace& trace) {
  std::map<std::uint32_t, std::int64_t> busy;
  for (const KinetoWork& work : trace.works) {
    if (work.kind == KinetoWorkKind::compute) {
      // halved, so that sums cannot overflow
      busy[work.lane] += work.span.end_ns / 2 - work.span.begin_ns / 2;
    }
  }
  if (busy.empty()) throw InputError("it has no kernels; only the host was traced");
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(busy.begin(), busy.end(), less)->first;
}

std::vector<DeviceKernel> kernels_of(const KinetoTrace& trace) {
  const std::uint32_t lane = busiest_lane(trace);
  const LaunchIndex launches(trace);
  const ProfilerSteps on_host(trace, false);
  const ProfilerSteps on_device(trace, true);
  std::vector<DeviceKernel> kernels;
  for (const KinetoWork& work : trace.works) {
    if (work.lane != lane || work.kind != KinetoWorkKind::compute) continue;
    DeviceKernel kernel{work.span, {}, {}};
    const KinetoLaunch* const launch = launches.of(work);
    if (launch != nullptr) kernel.thread = launch->lane;
    kernel.step = launch != nullptr && !on_host.empty() ? on_host.at(launch->at_ns)
                                                        : on_device.at(work.span.begin_ns);
    if (kernel.step || (on_host.empty() && on_device.empty())) kernels.push_back(kernel);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const DeviceKernel& a, const DeviceKernel& b) {
                     return a.span.begin_ns < b.span.begin_ns;
                   });
  return kernels;
}

/// The kernels before which an op ends or may begin.
class Cuts {
 public:
  Cuts(const KinetoTrace& trace, const std::vector<DeviceKernel>& kernels);

  bool surely(std::size_t kernel) const { return sure_[kernel]; }
  bool maybe(std::size_t kernel) const { return uncertain_[kernel]; }

 private:
  template <class Predicate>
  std::size_t first(Predicate is_behind) const {
    const auto found = std::partition_point(kernels_.begin(), kernels_.end(),
                                            [&](const DeviceKernel& k) { return !is_behind(k); });
    return static_cast<std::size_t>(found - kernels_.begin());
  }
  void cut_where_idle(std::int64_t ns) {
    const std::size_t next = first([ns](const DeviceKernel& k) { return k.span.begin_ns >= ns; });
    if (next == 0 || kernels_[next - 1].span.end_ns <= ns) uncertain_[next] = true;
  }

  const std::vector<DeviceKernel>& kernels_;
  std::vector<bool> sure_;
  std::vector<bool> uncertain_;
};

Cuts::Cuts(const KinetoTrace& trace, const std::vector<DeviceKernel>& kernels)
    : kernels_(kernels), sure_(kernels.size() + 1), uncertain_(kernels.size() + 1) {
  for (const KinetoWork& work : trace.works) {
    if (work.kind == KinetoWorkKind::send) {
      const std::int64_t ended = work.span.begin_ns;  // a kernel still running belongs to a later
                                                      // op
      sure_[first([ended](const DeviceKernel& kernel) { return kernel.span.end_ns > ended; })] =
          true;
    } else if (is_point_to_point(work.kind)) {
      cut_where_idle(work.span.end_ns);
      if (work.kind == KinetoWorkKind::exchange) cut_where_idle(work.span.begin_ns);
    }
  }
}

void forget_threads(std::vector<DeviceKernel>& kernels) {
  for (DeviceKernel& kernel : kernels) kernel.thread.reset();
}

void add(const DeviceKernel& kernel, bool goes_on, bool maybe_cut, std::vector<Burst>& bursts) {
  if (!goes_on) {
    bursts.push_back({{kernel.span}, kernel.thread});
  } else if (maybe_cut) {
    bursts.back().parts.push_back(kernel.span);
  } else {
    std::int64_t& end_ns = bursts.back().parts.back().end_ns;
    end_ns = std::max(end_ns, kernel.span.end_ns);
  }
}

bool has_sends(const KinetoTrace& trace) {
  return std::any_of(trace.works.begin(), trace.works.end(),
                     [](const KinetoWork& work) { return work.kind == KinetoWorkKind::send; });
}

}  // namespace

KernelBursts kernel_bursts(const KinetoTrace& trace) {
  std::vector<DeviceKernel> kernels = kernels_of(trace);
  KernelBursts result;
  result.facts.sends_named = has_sends(trace);
  result.facts.threads_known = std::all_of(
      kernels.begin(), kernels.end(), [](const DeviceKernel& kernel) { return kernel.thread; });
  if (!result.facts.threads_known) forget_threads(kernels);
  const Cuts cuts(trace, kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::vector<Burst>& bursts = result.steps[kernels[i].step];
    const bool goes_on =
        !bursts.empty() && !cuts.surely(i) && bursts.back().thread == kernels[i].thread;
    add(kernels[i], goes_on, cuts.maybe(i), bursts);
  }
  return result;
}

}  // namespace penstock
