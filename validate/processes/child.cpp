#include "validate/processes/child.hpp"

#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "validate/job/rank_program.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/transports/tcp.hpp"
#include "validate/transports/tcp_peers.hpp"

namespace penstock {
namespace {

/// The actions of ranks and the transfers they request.
std::vector<TaskId> tasks_of(const Job& job, const RankGroup& ranks) {
  const std::vector<RankProgram> programs = rank_programs(job.priced.plan);
  std::vector<TaskId> tasks;
  for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank) {
    for (const Step& step : programs[rank]) {
      tasks.push_back(step.task);
      if (step.beside != no_task) tasks.push_back(step.beside);
      for (const TensorSend& sending : step.early) tasks.push_back(sending.transfer);
      for (const TensorSend& sending : step.sends) tasks.push_back(sending.transfer);
    }
  }
  return tasks;
}

std::vector<Descriptor> sockets_of(const ProcessJob& all, std::uint32_t process, Control& control) {
  const Moment end = after(all.start_limit);
  const Listener listener = listen_on_loopback();
  control.send(MessageType::port, body_of(std::vector{listener.port}));
  const auto message = control.receive();
  if (!message || message->type != MessageType::ports) throw SocketError("received no ports");
  const Greeting greeting{.token = all.token,
                          .process = process,
                          .processes = static_cast<std::uint32_t>(all.groups.size()),
                          .plan = plan_hash(all.job->priced.plan)};
  return connect_peers(listener, ports_in(*message), greeting, end);
}

/// Reports why it stops, if the parent still listens.
void give_up(Control& control, const std::exception& error) {
  try {
    control.send(MessageType::broken, body_of(std::string(error.what())));
  } catch (const std::exception&) {
    return;
  }
}

/// Runs the work of one process while it listens for messages.
class Server {
 public:
  Server(const ProcessJob& all, std::uint32_t process, Control& control)
      : control_(control),
        tasks_(tasks_of(*all.job, all.groups[process])),
        links_(boxes_of(*all.job), all.groups, process, sockets_of(all, process, control),
               all.wait_limit),
        part_{all.groups[process], links_, *all.line},
        backend_(all.make(*all.job, part_)) {}

  void serve() {
    control_.send(MessageType::ready);
    while (const auto message = control_.receive()) {
      if (message->type == MessageType::quit) break;
      obey(message->type);
    }
    links_.halt();
  }

 private:
  void obey(MessageType type) {
    if (type == MessageType::report)
      control_.send(MessageType::progress, body_of(links_.progress()));
    if (type == MessageType::halt) links_.halt();
    if (type == MessageType::halt_stuck) links_.halt_stuck();
    if (type == MessageType::total) {
      begin([this] { control_.send(MessageType::totalled, body_of(backend_->numbers())); });
    }
    if (type == MessageType::describe) {
      begin([this] { control_.send(MessageType::described, body_of(backend_->environment())); });
    }
    if (type == MessageType::profile) {
      begin([this] { control_.send(MessageType::profiled, body_of(backend_->profile())); });
    }
    if (type == MessageType::run) begin([this] { run(); });
  }

  /// Runs in a thread, so that progress requests can still be answered.
  template <class Work>
  void begin(const Work& work) {
    worker_ = std::jthread([this, work] {
      try {
        work();
      } catch (const std::exception& error) {
        give_up(control_, error);
      }
    });
  }

  void run() {
    const auto outcome = backend_->run();
    if (const auto* halt = std::get_if<Standstill>(&outcome)) {
      return control_.send(MessageType::fault, body_of(*halt));
    }
    const auto& timeline = std::get<Timeline>(outcome);
    PartRun ran{{}, backend_->disturbances()};
    for (const TaskId task : tasks_) {
      ran.spans.push_back({task, {timeline.begin[task], timeline.end[task]}});
    }
    control_.send(MessageType::ran, body_of(ran));
  }

  Control& control_;
  std::vector<TaskId> tasks_;
  TcpLinks links_;
  RunPart part_;
  std::unique_ptr<Backend> backend_;
  std::jthread worker_;  // last, so it ends before the members that it uses
};

}  // namespace

void serve(const ProcessJob& all, std::uint32_t process, Control& control) {
  try {
    Server(all, process, control).serve();
  } catch (const std::exception& error) {
    give_up(control, error);
  }
}

}  // namespace penstock
