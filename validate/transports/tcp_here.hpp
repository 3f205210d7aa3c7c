#pragma once

#include <memory>
#include <vector>

#include "validate/transports/tcp.hpp"

namespace penstock {

/// Connected ends of several processes, all in this process; each is used by its own threads. For
/// measuring and testing connections.
std::vector<std::unique_ptr<TcpLinks>> tcp_links_here(
    const std::vector<BoxSpec>& boxes, const std::vector<RankGroup>& groups,
    std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace penstock
