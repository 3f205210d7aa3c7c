#pragma once

#include <csignal>
#include <string>

namespace penstock {

/// From now on SIGINT and SIGTERM remove unfinished files and end the program with exit code 130,
/// whatever it is doing. Called once, by a program, before it starts threads.
void end_on_interrupt();

/// A file that is removed with this object, or by an interrupt, unless it is kept. It need not
/// exist yet.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&&) = delete;
  ~UnfinishedFile();

  const std::string& path() const;
  void keep();

 private:
  struct Entry;
  friend void remove_unfinished();

  Entry* entry_;
};

/// While this exists, an interrupt waits: for a short step that must not be left half done. Threads
/// started meanwhile leave interrupts to the others.
class InterruptsWait {
 public:
  InterruptsWait();
  InterruptsWait(const InterruptsWait&) = delete;
  InterruptsWait& operator=(const InterruptsWait&) = delete;
  ~InterruptsWait();

 private:
  sigset_t before_;
};

}  // namespace penstock
