#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::copy_file {
namespace {

constexpr std::array sizes{Parameter{"bytes", "bytes copied", std::nullopt, 1, 1U << 26}};

constexpr std::size_t page = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// Source and destination, offset by half a page at any size: with equal page offsets loads wait
/// for stores that seem to alias.
class Places {
 public:
  explicit Places(std::size_t bytes) : memory_(2 * whole_pages(bytes) + 3 * page, 1) {
    void* start = memory_.data();
    std::size_t space = memory_.size();
    from_ = static_cast<char*>(std::align(page, 2 * whole_pages(bytes) + page, start, space));
    to_ = from_ + whole_pages(bytes) + page / 2;
  }

  void copy(std::size_t bytes) {
    std::memcpy(to_, from_, bytes);
    // The compiler must assume that the result is read.
    asm volatile("" : : "r"(to_) : "memory");
  }

 private:
  std::vector<char> memory_;
  char* from_;
  char* to_;
};

Sampler make(const NamedNumbers& of) {
  const auto bytes = static_cast<std::size_t>(of.at("bytes"));
  const auto places = std::make_shared<Places>(bytes);
  return repeated([places, bytes] { places->copy(bytes); }, thread_cpu_ns);
}

}  // namespace

constinit extern const ProbeEntry copy_entry{"copy", "memory copy", sizes, make};

}  // namespace penstock::copy_file
