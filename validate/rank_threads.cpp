#include "validate/rank_threads.hpp"

#include <exception>
#include <thread>
#include <vector>

namespace penstock {

void on_all_ranks(std::uint32_t ranks, const std::function<void(std::uint32_t)>& work,
                  const std::function<void()>& failed) {
  std::vector<std::exception_ptr> thrown(ranks);
  const auto guarded = [&](std::uint32_t rank) {
    try {
      work(rank);
    } catch (...) {
      thrown[rank] = std::current_exception();
      failed();
    }
  };
  {
    std::vector<std::jthread> threads;  // which are waited for when they go
    threads.reserve(ranks);
    try {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(guarded, rank);
    } catch (...) {
      failed();
      throw;
    }
  }
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace penstock
