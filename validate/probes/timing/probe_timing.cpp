#include "validate/probes/timing/probe_timing.hpp"

#include <chrono>
#include <utility>

namespace penstock {
namespace {

constexpr std::int64_t least_ns = 20'000;  // per sample
constexpr std::uint32_t most_times = 1U << 20;

std::int64_t took_ns(const std::function<void()>& work, std::uint32_t times, Clock clock) {
  const std::int64_t begin = clock();
  for (std::uint32_t i = 0; i < times; ++i) work();
  return clock() - begin;
}

}  // namespace

std::int64_t steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Sampler repeated(std::function<void()> work, Clock clock) {
  std::uint32_t times = 1;
  while (times < most_times && took_ns(work, times, clock) < least_ns) times *= 2;
  return [work = std::move(work), times, clock] {
    return static_cast<double>(took_ns(work, times, clock)) / times;
  };
}

}  // namespace penstock
