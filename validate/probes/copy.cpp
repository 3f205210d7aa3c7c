#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "validate/busy_kernel.hpp"
#include "validate/probe_timing.hpp"
#include "validate/probes/registry.hpp"

namespace penstock {
namespace {

constexpr std::array sizes{Parameter{"bytes", "that are copied", std::nullopt, 1, 1U << 26}};

struct Buffers {
  std::vector<char> from;
  std::vector<char> to;
};

Sampler make(const NamedNumbers& of) {
  const auto bytes = static_cast<std::size_t>(of.at("bytes"));
  const auto buffers =
      std::make_shared<Buffers>(Buffers{std::vector<char>(bytes, 1), std::vector<char>(bytes, 2)});
  const auto copy = [buffers] {
    std::memcpy(buffers->to.data(), buffers->from.data(), buffers->to.size());
    // Something that the compiler cannot see must have been able to read it.
    asm volatile("" : : "r"(buffers->to.data()) : "memory");
  };
  return repeated(copy, thread_cpu_ns);
}

}  // namespace

constinit extern const ProbeEntry copy_entry{"copy", "bytes from one place in memory to another",
                                             sizes, make};

}  // namespace penstock
