#include "validate/machine/rank_threads.hpp"

#ifdef __SSE3__
#include <pmmintrin.h>
#elif defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <exception>
#include <thread>
#include <vector>

namespace penstock {
namespace {

/// Avoids slow arithmetic on denormals.
void flush_denormals() {
#ifdef __SSE3__
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
#elif defined(__SSE__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
#endif
}

}  // namespace

void on_all_ranks(std::uint32_t ranks, const std::function<void(std::uint32_t)>& work,
                  const std::function<void()>& failed) {
  std::vector<std::exception_ptr> thrown(ranks);
  const auto guarded = [&](std::uint32_t rank) {
    flush_denormals();
    try {
      work(rank);
    } catch (...) {
      thrown[rank] = std::current_exception();
      failed();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined on destruction
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
