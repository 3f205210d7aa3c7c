#include "validate/probes/codec_probe.hpp"

#include <memory>
#include <string>
#include <vector>

#include "hardware_models/codecs/codec.hpp"
#include "hardware_models/codecs/distribution.hpp"
#include "validate/calibration/probe_timing.hpp"
#include "validate/ranks/busy_kernel.hpp"

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
        asm volatile("" : : "r"(back.data()) : "memory");  // seen from outside, so that it is done
      },
      thread_cpu_ns);
}

}  // namespace penstock
