#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace penstock::python {

/// Set when the caller was interrupted: whoever can end early should.
using Stop = std::shared_ptr<const std::atomic<bool>>;

/// Runs `work` on a thread of its own, without the interpreter's lock, and runs Python's signal
/// handlers meanwhile. Rethrows what `work` throws. If a handler raises, such as that of Ctrl-C,
/// sets `stop`, throws nb::python_error and leaves `work` to itself, so it must own all that it
/// uses. Call with the lock held.
void run_in_background(std::function<void()> work, std::shared_ptr<std::atomic<bool>> stop);

/// The same for work with a result.
template <class Work>
auto in_background(Work work) {
  using Result = std::invoke_result_t<Work, Stop>;
  auto result = std::make_shared<std::optional<Result>>();
  auto stop = std::make_shared<std::atomic<bool>>(false);
  auto shared = std::make_shared<Work>(std::move(work));
  run_in_background([result, shared, stop] { result->emplace((*shared)(stop)); }, stop);
  return std::move(**result);
}

/// What work throws to end early; nobody waits for it any more.
struct Abandoned {};

/// For progress of work that is called now and then: throws Abandoned once it should stop.
inline void end_if(const Stop& stop) {
  if (*stop) throw Abandoned{};
}

/// Waits until all work has ended that was left to itself: before the process tears down what it
/// uses. Another Ctrl-C ends the process.
void wait_for_background();

}  // namespace penstock::python
