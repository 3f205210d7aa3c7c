#include "experiments/measure/measured_runs/kernel_cuts.hpp"

#include <algorithm>
#include <utility>

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

/// As many as the trace is long: most lie on disk.
struct DeviceKernels {
  SpilledList<DeviceKernel> all;  // in no order
  bool threads_known = true;      // of all
};

DeviceKernels kernels_of(const KinetoTrace& trace) {
  const std::uint32_t lane = busiest_lane(trace);
  const ProfilerSteps on_host(trace, false);
  const ProfilerSteps on_device(trace, true);
  DeviceKernels kernels;
  for_each_work(trace, [&](const KinetoWork& work, const KinetoLaunch* launch) {
    if (work.lane != lane || work.kind != KinetoWorkKind::compute) return;
    DeviceKernel kernel{work.span, {}, {}};
    if (launch != nullptr) kernel.thread = launch->lane;
    kernel.step = launch != nullptr && !on_host.empty() ? on_host.at(launch->at_ns)
                                                        : on_device.at(work.span.begin_ns);
    if (!kernel.step && !(on_host.empty() && on_device.empty())) return;
    kernels.threads_known = kernels.threads_known && kernel.thread;
    kernels.all.push_back(kernel);
  });
  return kernels;
}

bool begins_before(const DeviceKernel& a, const DeviceKernel& b) {
  return std::pair(a.span.begin_ns, a.span.end_ns) < std::pair(b.span.begin_ns, b.span.end_ns);
}

/// Whether an op ends or may begin before a kernel.
struct Cut {
  bool surely = false;
  bool maybe = false;
};

/// The cuts of messages: a time or two each.
class Cuts {
 public:
  explicit Cuts(const KinetoTrace& trace);

  /// Before this kernel; to be asked for all in turn, by their begins.
  Cut before(const KinetoSpan& kernel);

 private:
  std::vector<std::int64_t> op_ends_;  // a kernel that is still running belongs to a later op
  std::vector<std::int64_t> op_begins_;
  std::size_t next_end_ = 0;
  std::size_t next_begin_ = 0;
  std::optional<std::int64_t> idle_from_;
};

Cuts::Cuts(const KinetoTrace& trace) {
  for (const KinetoWork& work : trace.works) {
    if (work.kind == KinetoWorkKind::send) {
      op_ends_.push_back(work.span.begin_ns);
    } else if (is_point_to_point(work.kind)) {
      op_begins_.push_back(work.span.end_ns);
      if (work.kind == KinetoWorkKind::exchange) op_begins_.push_back(work.span.begin_ns);
    }
  }
  std::sort(op_ends_.begin(), op_ends_.end());
  std::sort(op_begins_.begin(), op_begins_.end());
}

Cut Cuts::before(const KinetoSpan& kernel) {
  Cut cut;
  for (; next_end_ < op_ends_.size() && op_ends_[next_end_] < kernel.end_ns; ++next_end_) {
    cut.surely = true;
  }
  while (next_begin_ < op_begins_.size() && op_begins_[next_begin_] <= kernel.begin_ns) {
    const std::int64_t begin_ns = op_begins_[next_begin_++];
    if (!idle_from_ || *idle_from_ <= begin_ns) cut.maybe = true;
  }
  idle_from_ = kernel.end_ns;
  return cut;
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
  const DeviceKernels kernels = kernels_of(trace);
  KernelBursts result;
  result.facts = {.threads_known = kernels.threads_known, .sends_named = has_sends(trace)};
  Cuts cuts(trace);
  SortedRecords in_turn(kernels.all, begins_before);
  while (const DeviceKernel* const next = in_turn.next()) {
    DeviceKernel kernel = *next;
    if (!kernels.threads_known) kernel.thread.reset();
    const Cut cut = cuts.before(kernel.span);
    std::vector<Burst>& bursts = result.steps[kernel.step];
    const bool goes_on = !bursts.empty() && !cut.surely && bursts.back().thread == kernel.thread;
    add(kernel, goes_on, cut.maybe, bursts);
  }
  return result;
}

}  // namespace penstock
