#include "validate/probes/timing/codec_probe.hpp"

#include <memory>
#include <string>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock {

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
