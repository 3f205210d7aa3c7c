#include <array>
#include <memory>
#include <vector>

#include "validate/machine/clock.hpp"
#include "validate/machine/host.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"
#include "validate/transports/mailboxes.hpp"

namespace penstock::handover_file {
namespace {

constexpr std::array sizes{
    Parameter{"bytes", "bytes of the tensor, in words of 8", std::nullopt, 8, 1U << 22}};

/// Two threads pass a tensor back and forth. A box is filled once per run, so each direction of
/// each round has its own.
class PingPong {
 public:
  explicit PingPong(std::size_t words) : words_(words), mailboxes_(boxes(words), 2) {}

  /// Half of a round trip: a tensor posted by one thread and taken by the other.
  double one_way_ns() {
    mailboxes_.clear();
    double took = 0;
    on_all_ranks(
        2,
        [&](std::uint32_t rank) {
          const double ns = run(rank);
          if (rank == 0) took = ns;
        },
        [this] { mailboxes_.halt(); });
    return took;
  }

 private:
  // The first round waits for the other thread to start.
  static constexpr std::size_t rounds = 9;

  static std::vector<BoxSpec> boxes(std::size_t words) {
    std::vector<BoxSpec> all;
    for (std::size_t round = 0; round < rounds; ++round) {
      all.push_back({0, 1, words});
      all.push_back({1, 0, words});
    }
    return all;
  }

  double run(std::uint32_t rank) {
    std::vector<std::uint64_t> tensor(words_, 1);
    std::int64_t begin = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      if (round == 1) begin = monotonic_ns();
      if (rank == 0) mailboxes_.post(2 * round, {}, tensor);
      mailboxes_.take(2 * round + 1 - rank, tensor);
      if (rank == 1) mailboxes_.post(2 * round + 1, {}, tensor);
    }
    const std::int64_t took = monotonic_ns() - begin;
    mailboxes_.finish(rank);
    return static_cast<double>(took) / (2 * (rounds - 1));
  }

  std::size_t words_;
  Mailboxes mailboxes_;
};

Sampler make(const NamedNumbers& of) {
  const auto words = static_cast<std::size_t>(of.at("bytes")) / 8;
  const auto ping_pong = std::make_shared<PingPong>(words);
  return [ping_pong] { return ping_pong->one_way_ns(); };
}

}  // namespace

constinit extern const ProbeEntry handover_entry{
    "handover", "a tensor passed to another thread, which sleeps until it arrives", sizes, make};

}  // namespace penstock::handover_file
