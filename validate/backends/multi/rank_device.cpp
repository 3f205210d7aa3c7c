#include "validate/backends/multi/rank_device.hpp"

#include <algorithm>
#include <utility>

#include "validate/backends/cuda/gpu_error.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_readings = 256;

}  // namespace

RankDevice::RankDevice(const MultiCalls& calls, std::uint32_t channels)
    : calls_(calls),
      whole_(*calls.gpu(), 1, channels, {}, "one rank has the whole GPU"),
      readings_(make_memory(gpu(), most_readings * sizeof(std::uint64_t))),
      clock_step_ns_(measured_step_ns()) {}

std::uint64_t RankDevice::measured_step_ns() const {
  auto* const readings = static_cast<std::uint64_t*>(readings_.get());
  check(gpu(), gpu().launch_clock_reader(compute(), readings, most_readings), "reading a clock");
  check(gpu(), gpu().synchronize(compute()), "reading a clock");
  std::vector<std::uint64_t> all(most_readings);
  check(gpu(), gpu().read(all.data(), readings, most_readings * sizeof(std::uint64_t)),
        "reading a clock");
  std::vector<std::uint64_t> steps;
  for (std::uint32_t at = 1; at < most_readings; ++at) steps.push_back(all[at] - all[at - 1]);
  std::sort(steps.begin(), steps.end());
  return steps[steps.size() / 2];
}

ClockAnchor RankDevice::anchor() const {
  constexpr std::uint32_t samples = 100;
  auto* const reading = static_cast<std::uint64_t*>(readings_.get());
  std::vector<ClockSample> all(samples);
  for (ClockSample& sample : all) {
    sample.asked_ns = calls_.host_ns();
    check(gpu(), gpu().launch_clock_reader(compute(), reading, 1), "asking for the time");
    check(gpu(), gpu().synchronize(compute()), "asking for the time");
    sample.answered_ns = calls_.host_ns();
    std::uint64_t read = 0;
    check(gpu(), gpu().read(&read, reading, sizeof read), "asking for the time");
    sample.read_ns = static_cast<std::int64_t>(read);
  }
  ClockAnchor anchor = anchor_of(std::move(all));
  anchor.uncertainty_ns += static_cast<double>(clock_step_ns_);
  return anchor;
}

}  // namespace penstock
