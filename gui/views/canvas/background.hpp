#pragma once

#include <QObject>
#include <QThreadPool>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace penstock {

/// Work for a second thread, one at a time: while it runs, only the newest request is kept. Results
/// come back in the interface's thread.
class Background : public QObject {
 public:
  using Done = std::function<void()>;
  /// Runs in the second thread; what it returns runs in the interface's thread.
  using Work = std::function<Done()>;

  /// Calls `on_busy` when work begins and when all is done.
  explicit Background(std::function<void(bool busy)> on_busy) : on_busy_(std::move(on_busy)) {}
  ~Background() override;

  /// Quick work has arrived when this returns: the interface waits for it, but no longer than this.
  void request(Work work, int wait_ms);
  /// Forgets what runs and what waits: their results are dropped.
  void cancel();
  /// Waits until nothing runs or waits; results have arrived then, and nothing else has happened.
  void finish();
  bool busy() const { return running_; }

  /// Too short to be felt. Tests wait longer, so that they are the same on a busy machine.
  static inline int patience_ms = 12;

 private:
  void start(Work work, int wait_ms);
  void ended(std::uint64_t number, const Done& done);
  void tell(bool busy);

  std::function<void(bool)> on_busy_;
  QThreadPool pool_;
  bool running_ = false;
  bool told_ = false;
  std::uint64_t number_ = 0;
  Work waiting_;
};

/// Frees in another thread: large runs take long to free.
template <class Value>
void drop_later(Value&& value) {
  auto kept = std::make_shared<std::decay_t<Value>>(std::forward<Value>(value));
  QThreadPool::globalInstance()->start([kept = std::move(kept)]() mutable { kept.reset(); });
}

}  // namespace penstock
