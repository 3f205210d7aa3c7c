#pragma once

#include <QObject>
#include <QThreadPool>
#include <functional>

namespace penstock {

/// Work for a second thread, one at a time: while it runs, only the newest request is kept. Results
/// come back in the interface's thread. Quick work runs at once.
class Background : public QObject {
 public:
  using Done = std::function<void()>;
  /// Runs in the second thread; what it returns runs in the interface's thread.
  using Work = std::function<Done()>;

  explicit Background(QObject* parent = nullptr) : QObject(parent) {}
  ~Background() override;

  /// `at_once_below_ms`: runs now if the last work took less.
  void request(Work work, double at_once_below_ms);
  /// Forgets what runs and what waits: their results are dropped.
  void cancel();
  /// Waits until nothing runs or waits; results have arrived then, and nothing else has happened.
  void finish();

 private:
  void start(Work work);
  void ended(std::uint64_t number, double ms, const Done& done);

  QThreadPool pool_;
  bool running_ = false;
  std::uint64_t number_ = 0;
  Work waiting_;
  double last_ms_ = 0;
};

}  // namespace penstock
