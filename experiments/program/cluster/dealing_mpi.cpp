#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/plan/sweeps/evaluator.hpp"
#include "experiments/plan/sweeps/shard.hpp"
#include "experiments/program/cluster/dealing.hpp"

namespace penstock {
namespace {

constexpr int to_dealer = 1, to_worker = 2;

/// MPI, from the first use on.
class Job {
 public:
  Job() {
    const InterruptsWait threads_leave_them_to_us;
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    // A dealer that failed before it dealt would wait for workers that wait for it.
    if (rank_ == 0 && !dealt_all) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
  }

  bool dealt_all = false;

  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  int rank_ = 0;
  int size_ = 1;
};

Job& job() {
  static Job one;
  return one;
}

/// The start of a worker's message; its texts follow.
struct Answer {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // 0: it only asks
  std::uint64_t with_result = 0;
  std::uint64_t text_bytes = 0;
  double seconds_per_row = 0;
};

void send_answer(Answer answer, const FinishedRows& rows) {
  answer.text_bytes = rows.text.size();
  std::string message(reinterpret_cast<const char*>(&answer), sizeof answer);
  message += rows.text + rows.first_without;
  MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, 0, to_dealer,
           MPI_COMM_WORLD);
}

struct Received {
  int worker = 0;
  Answer answer;
  FinishedRows rows;
};

Received receive_answer() {
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, to_dealer, MPI_COMM_WORLD, &status);
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string message(static_cast<std::size_t>(size), '\0');
  MPI_Recv(message.data(), size, MPI_BYTE, status.MPI_SOURCE, to_dealer, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  Received received{.worker = status.MPI_SOURCE};
  message.copy(reinterpret_cast<char*>(&received.answer), sizeof received.answer);
  const Answer& answer = received.answer;
  received.rows = {.text = message.substr(sizeof answer, answer.text_bytes),
                   .count = answer.count,
                   .with_result = answer.with_result,
                   .first_without = message.substr(sizeof answer + answer.text_bytes)};
  return received;
}

/// Workers that ask, and how long a row took them last.
using Asking = std::vector<std::pair<int, double>>;

/// Deals to those that ask, as far as there is room; returns how many got to know that nothing is
/// left.
int deal_to(Asking& asking, RowsInOrder& order) {
  int sent_home = 0;
  while (!asking.empty()) {
    const auto batch = order.try_deal(asking.back().second);
    if (!batch) break;
    MPI_Send(&*batch, sizeof *batch, MPI_BYTE, asking.back().first, to_worker, MPI_COMM_WORLD);
    if (batch->count == 0) ++sent_home;
    asking.pop_back();
  }
  return sent_home;
}

}  // namespace

bool is_dealt() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr && std::atoi(size) > 1 && job().size() > 1;
}

bool is_dealer() { return job().rank() == 0; }

SweepCount deal_sweep(const SweepSpace& space, const SweepRun& run, const TakeRows& take) {
  RowsInOrder order(run, space, take);
  Asking asking;
  std::exception_ptr failure;
  for (int at_work = job().size() - 1; at_work > 0;) {
    Received received = receive_answer();
    try {
      if (received.answer.count > 0) order.finish(received.answer.first, std::move(received.rows));
    } catch (...) {
      failure = std::current_exception();
      order.end();
    }
    asking.emplace_back(received.worker, received.answer.seconds_per_row);
    at_work -= deal_to(asking, order);
  }
  job().dealt_all = true;
  if (failure) std::rethrow_exception(failure);
  return order.count();
}

void run_dealt(const SweepSpace& space, const Catalogue& catalogue) {
  using Clock = std::chrono::steady_clock;
  const InterruptRequest the_dealer_decides;
  SimulationMemory room(budget().memory_bytes);
  Evaluator evaluator(space, catalogue, room);
  Answer answer;
  FinishedRows rows;
  for (;;) {
    send_answer(answer, rows);
    RowBatch batch;
    MPI_Recv(&batch, sizeof batch, MPI_BYTE, 0, to_worker, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (batch.count == 0) return;
    const Clock::time_point begin = Clock::now();
    rows = rows_of_batch(evaluator, Shard{}, batch);
    const std::chrono::duration<double> taken = Clock::now() - begin;
    answer = {.first = batch.first,
              .count = batch.count,
              .with_result = rows.with_result,
              .seconds_per_row = taken.count() / static_cast<double>(batch.count)};
  }
}

}  // namespace penstock
