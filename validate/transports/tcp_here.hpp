#pragma once

#include <memory>
#include <vector>

#include "validate/transports/tcp.hpp"

namespace penstock {

/// The ends of several processes, connected, and all of them in this one: each is used by other
/// threads as if it were in a process of its own. To measure what connections do, and to test them.
std::vector<std::unique_ptr<TcpLinks>> tcp_links_here(
    const std::vector<BoxSpec>& boxes, const std::vector<RankGroup>& groups,
    std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace penstock
