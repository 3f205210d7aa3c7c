#include "validate/transports/tcp_here.hpp"

#include <utility>

#include "validate/machine/rank_threads.hpp"
#include "validate/transports/tcp_peers.hpp"

namespace penstock {

std::vector<std::unique_ptr<TcpLinks>> tcp_links_here(const std::vector<BoxSpec>& boxes,
                                                      const std::vector<RankGroup>& groups,
                                                      std::chrono::milliseconds patience) {
  std::vector<Listener> listeners;
  std::vector<std::uint16_t> ports;
  for (std::size_t process = 0; process < groups.size(); ++process) {
    listeners.push_back(listen_on_loopback());
    ports.push_back(listeners.back().port);
  }
  const auto count = static_cast<std::uint32_t>(groups.size());
  const auto token = random_token();
  std::vector<std::unique_ptr<TcpLinks>> links(count);
  const auto connect = [&](std::uint32_t process) {
    const Greeting own{.token = token, .process = process, .processes = count};
    auto sockets = connect_peers(listeners[process], ports, own, after(patience));
    links[process] =
        std::make_unique<TcpLinks>(boxes, groups, process, std::move(sockets), patience);
  };
  on_all_ranks(count, connect, [] {});
  return links;
}

}  // namespace penstock
