// Processes of mpirun meet where MPI says, and exchange a number: `mpirun -n 3 penstock_mpi_tests`.
// The environment says another place, where nobody waits.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "validate/launch/mpi/meeting_place.hpp"
#include "validate/launch/rendezvous.hpp"

namespace penstock {
namespace {

std::array<std::byte, 1> number(std::size_t value) { return {static_cast<std::byte>(value)}; }

/// Every rank sends its number to rank 0, which answers with twice that.
bool numbers_arrive(const Launch& launch, const std::vector<Descriptor>& sockets, Moment end) {
  std::array<std::byte, 1> came{};
  if (launch.rank > 0) {
    send_all(sockets.front(), number(launch.rank), end);
    return receive_all(sockets.front(), came, end) && came == number(2 * launch.rank);
  }
  for (std::size_t rank = 1; rank < sockets.size(); ++rank) {
    if (!receive_all(sockets[rank], came, end) || came != number(rank)) return false;
    send_all(sockets[rank], number(2 * rank), end);
  }
  return true;
}

int run_meeting() {
  setenv("PENSTOCK_PORT", "1", 1);
  const auto launch = launch_of();
  if (!launch || !has_mpi()) {
    fmt::print(stderr, "start several with mpirun, in a build with MPI\n");
    return 2;
  }
  const Moment end = after(std::chrono::seconds(30));
  return numbers_arrive(*launch, meet(*launch, 7, end), end) ? 0 : 1;
}

}  // namespace
}  // namespace penstock

int main() {
  try {
    return penstock::run_meeting();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
