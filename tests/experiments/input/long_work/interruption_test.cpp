#include "experiments/input/long_work/interruption.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>

#include "experiments/input/long_work/progress.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// The exit code of a process that does something and is interrupted by itself where it says so.
int exit_code_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    take_up_signals();
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("interruption: a signal ends the program with 130 and removes what is unfinished") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Scratch scratch;
    CHECK(exit_code_of([&] {
            UnfinishedFile left(scratch.file("left", "half"));
            UnfinishedFile moved = UnfinishedFile(scratch.file("moved", "half"));
            UnfinishedFile kept(scratch.file("kept", "whole"));
            const UnfinishedFile never_made(scratch.path("never"));
            kept.keep();
            ::raise(signal);
          }) == 130);
    CHECK_FALSE(std::filesystem::exists(scratch.path("left")));
    CHECK_FALSE(std::filesystem::exists(scratch.path("moved")));
    CHECK(content_of(scratch.path("kept")) == "whole");
  }
}

TEST_CASE("interruption: signals that end the program as they are remove what is unfinished") {
  for (const int signal : {SIGQUIT, SIGPIPE, SIGXCPU}) {
    const Scratch scratch;
    CHECK(exit_code_of([&] {
            const UnfinishedFile left(scratch.file("left", "half"));
            ::raise(signal);
          }) == -1);
    CHECK_FALSE(std::filesystem::exists(scratch.path("left")));
  }
}

TEST_CASE("interruption: nohup is heeded, and children can be waited for whatever was inherited") {
  CHECK(exit_code_of([] {
          std::signal(SIGHUP, SIG_IGN);
          std::signal(SIGCHLD, SIG_IGN);
          take_up_signals();
          ::raise(SIGHUP);
          const pid_t child = ::fork();
          if (child == 0) ::_exit(7);
          int status = 0;
          ::waitpid(child, &status, 0);
          ::_exit(WEXITSTATUS(status));
        }) == 7);
}

TEST_CASE("interruption: an interrupt waits for a step that must not be left half done") {
  const Scratch scratch;
  CHECK(exit_code_of([&] {
          const InterruptsWait until_done;
          ::raise(SIGINT);
          scratch.file("done", "whole");
        }) == 130);
  CHECK(content_of(scratch.path("done")) == "whole");
}

TEST_CASE("interruption: an unfinished file goes with its object, a kept one stays") {
  const Scratch scratch;
  {
    UnfinishedFile kept(scratch.file("kept", "whole"));
    const UnfinishedFile left(scratch.file("left", "half"));
    kept.keep();
  }
  CHECK(std::filesystem::exists(scratch.path("kept")));
  CHECK_FALSE(std::filesystem::exists(scratch.path("left")));
}

TEST_CASE("interruption: work that ends with what it has says which request it was") {
  CHECK(exit_code_of([] {
          const InterruptRequest request;
          ::raise(SIGINT);
          ::_exit(request.asked() ? ended_on_request("; this was found") : 7);
        }) == 130);
  CHECK(exit_code_of([] {
          end_after(1000, "not finished");
          const InterruptRequest request;
          ::raise(SIGALRM);
          ::_exit(request.asked() ? ended_on_request("; this was found") : 7);
        }) == 4);
}

TEST_CASE(
    "interruption: a time limit ends work that does not ask, and some time later work that does") {
  const auto end_of_time = [](bool asks) {
    end_after(0.2, "not finished");
    std::optional<InterruptRequest> request;
    if (asks) request.emplace();
    for (int tenths = 0; tenths < 8; ++tenths) ::usleep(100'000);
    if (!asks || !request->asked()) ::_exit(7);
    ::raise(SIGALRM);  // sooner than it comes by itself
    ::_exit(8);
  };
  CHECK(exit_code_of([&] { end_of_time(false); }) == 4);
  CHECK(exit_code_of([&] { end_of_time(true); }) == 4);
}

// `timeout` sends SIGTERM to a program and then to its group.
TEST_CASE(
    "interruption: a request that comes twice at once is one, and a later one ends the program") {
  CHECK(exit_code_of([] {
          const InterruptRequest request;
          ::raise(SIGTERM);
          ::raise(SIGTERM);
          ::_exit(request.asked() ? 7 : 8);
        }) == 7);
  CHECK(exit_code_of([] {
          const InterruptRequest request;
          ::raise(SIGTERM);
          ::usleep(250'000);
          ::raise(SIGTERM);
          ::_exit(7);
        }) == 130);
}

}  // namespace penstock::testing
