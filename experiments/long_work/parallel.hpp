#pragma once

#include <cstddef>
#include <functional>

namespace penstock {

/// Calls `work` for every number below `count`, on all cores, each number once. The calls must not
/// touch what others write. Of several that throw, the exception of the lowest number comes out.
/// `on_done`, if any, is called by this thread with how many are done.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& on_done = {});

}  // namespace penstock
