#include "validate/probes/timing/probe_timing.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
#include "validate/machine/busy_kernel.hpp"

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

Sampler repeated(std::function<void()> work, Clock clock) {
  std::uint32_t times = 1;
  while (times < most_times && took_ns(work, times, clock) < least_ns) times *= 2;
  return [work = std::move(work), times, clock] {
    return static_cast<double>(took_ns(work, times, clock)) / times;
  };
}

Sampler codec_sampler(std::string_view codec, const NamedNumbers& sizes) {
  struct Work {
    Codec codec;
    std::vector<float> values;
  };
  const auto count = static_cast<std::size_t>(sizes.at("values"));
  const auto work = std::make_shared<const Work>(
      Work{make_codec({std::string(codec), {}}), draw_activations({}, count)});
  return repeated(
      [work, count] {
        const std::vector<float> back =
            decode(work->codec, encode(work->codec, work->values), count);
        asm volatile("" : : "r"(back.data()) : "memory");  // the result counts as read
      },
      thread_cpu_ns);
}

}  // namespace penstock
