#pragma once

#include <csignal>
#include <string>

namespace penstock {

/// Exit codes of a program that was interrupted, or whose time is over.
constexpr int interrupted_exit = 130, time_over_exit = 4;

/// From this call on, SIGINT, SIGTERM and SIGHUP remove unfinished files and end the program with
/// exit code 130.
void end_on_interrupt();

/// What a program does with signals, whatever it has inherited from who started it: interrupts as
/// above; others that end it remove unfinished files, too; children can be waited for; a file that
/// grows too large is an error, not the end. A program calls it once, before it starts threads.
void take_up_signals();

/// Ends the program when this time has passed, as an interrupt does, but with exit code 4: prints
/// `text` as its error. Where an InterruptRequest lives, it is asked first.
void end_after(double seconds, const std::string& text);
void forget_end_after();

/// A file, or a folder that is empty by then, that the destructor or an interrupt removes, unless
/// it is kept. It need not exist yet.
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

/// What an interrupt says behind "interrupted", during its lifetime: what was kept.
class InterruptNote {
 public:
  explicit InterruptNote(const std::string& text);
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;
  ~InterruptNote();

  void set(const std::string& text);
};

/// While it lives, a first interrupt, or the end of the time limit, is a request to end early with
/// what there is. A second one, not within 0.2 s, ends the program; so does a time limit that has
/// been over for 5 s. At most one at a time.
class InterruptRequest {
 public:
  InterruptRequest();
  InterruptRequest(const InterruptRequest&) = delete;
  InterruptRequest& operator=(const InterruptRequest&) = delete;
  ~InterruptRequest();

  bool asked() const;
};

/// Which signal asked last: that of an interrupt, or SIGALRM of the time limit. 0: none.
int requested_by();
/// What is said of the request: "interrupted", or "error: " and the text of `end_after`.
std::string request_text();

/// Delays interrupts during a short step that must not be left half done. Threads started during
/// its lifetime leave interrupts to the others.
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
