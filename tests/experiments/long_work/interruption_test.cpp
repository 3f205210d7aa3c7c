#include "experiments/long_work/interruption.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <utility>

#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// The exit code of a process that does something and is interrupted by itself where it says so.
int exit_code_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    end_on_interrupt();
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("interruption: a signal ends the program with 130 and removes what is unfinished") {
  for (const int signal : {SIGINT, SIGTERM}) {
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

}  // namespace penstock::testing
