#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock {

/// A file without a name, in the folder of temporary files; it is gone when this is. Members throw
/// InputError if the disk refuses.
class ScratchFile {
 public:
  ScratchFile() = default;
  ScratchFile(ScratchFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ScratchFile& operator=(ScratchFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~ScratchFile();

  void write(const void* bytes, std::size_t count, std::size_t at);
  void read(void* bytes, std::size_t count, std::size_t at) const;

 private:
  int file_ = -1;
};

/// A list that may be larger than memory: all but its last block of records lies in a file.
/// Reading in order is quick. Not for several threads.
template <class Record>
class SpilledList {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  static constexpr std::size_t block_records = std::size_t{1} << 16;
  using Block = std::vector<Record>;

  SpilledList() = default;
  SpilledList(std::initializer_list<Record> records) : last_(records) {}

  std::size_t size() const { return spilled_ + last_.size(); }
  bool empty() const { return size() == 0; }
  void push_back(const Record& record) {
    if (last_.size() == block_records) spill();
    last_.push_back(record);
  }
  Record operator[](std::size_t i) const {
    if (i >= spilled_) return last_[i - spilled_];
    if (i / block_records != read_block_) {
      read_ = block(i / block_records);
      read_block_ = i / block_records;
    }
    return read_[i % block_records];
  }

  std::size_t blocks() const { return spilled_ / block_records + 1; }
  /// A copy of a block of records; the last one may be empty.
  Block block(std::size_t number) const {
    if (number * block_records >= spilled_) return last_;
    Block records(block_records);
    file_.read(records.data(), bytes_of(block_records), bytes_of(number * block_records));
    return records;
  }

  /// Gives copies, in order.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using pointer = const Record*;
    using reference = Record;

    Iterator(const SpilledList* list, std::size_t at) : list_(list), at_(at) {}
    Record operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {list_, at_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const SpilledList* list_;
    std::size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  static std::size_t bytes_of(std::size_t records) { return records * sizeof(Record); }
  void spill() {
    file_.write(last_.data(), bytes_of(block_records), bytes_of(spilled_));
    spilled_ += block_records;
    last_.clear();
  }

  ScratchFile file_;
  std::size_t spilled_ = 0;  // records in the file
  Block last_;
  mutable Block read_;  // the block of the file that was last read
  mutable std::size_t read_block_ = SIZE_MAX;
};

/// The records of a list in the order of `less`, in little memory: blocks are sorted one by one,
/// then merged from a file.
template <class Record, class Less>
class SortedRecords {
 public:
  SortedRecords(const SpilledList<Record>& list, Less less) : less_(less) {
    for (std::size_t b = 0; b < list.blocks(); ++b) {
      auto records = list.block(b);
      std::ranges::sort(records, less_);
      if (list.blocks() == 1) {
        runs_.push_back({std::move(records), 0, 0, 0});
      } else if (!records.empty()) {
        add_run(records, b * list.block_records, list.blocks());
      }
    }
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (has_next(runs_[r])) heads_.push_back(r);
    }
    std::make_heap(heads_.begin(), heads_.end(), after());
  }

  /// The next record; nullptr behind the last. Valid until the next call.
  const Record* next() {
    if (heads_.empty()) return nullptr;
    std::pop_heap(heads_.begin(), heads_.end(), after());
    Run& run = runs_[heads_.back()];
    current_ = run.read[run.at++];
    if (has_next(run)) {
      std::push_heap(heads_.begin(), heads_.end(), after());
    } else {
      heads_.pop_back();
    }
    return &current_;
  }

 private:
  /// A sorted block: what was read of it, and the rest in the file.
  struct Run {
    std::vector<Record> read;
    std::size_t at;
    std::size_t next, end;  // records of the file
  };

  void add_run(const std::vector<Record>& records, std::size_t first, std::size_t runs) {
    file_.write(records.data(), records.size() * sizeof(Record), first * sizeof(Record));
    constexpr std::size_t least = 64;
    at_once_ = std::max(least, SpilledList<Record>::block_records / runs);
    runs_.push_back({{}, 0, first, first + records.size()});
  }
  /// Reads on where all that was read of a run is used.
  bool has_next(Run& run) {
    if (run.at < run.read.size()) return true;
    const std::size_t count = std::min(at_once_, run.end - run.next);
    run.read.resize(count);
    if (count == 0) return false;
    file_.read(run.read.data(), count * sizeof(Record), run.next * sizeof(Record));
    run.next += count;
    run.at = 0;
    return true;
  }
  auto after() const {
    return [this](std::size_t a, std::size_t b) {
      return less_(runs_[b].read[runs_[b].at], runs_[a].read[runs_[a].at]);
    };
  }

  Less less_;
  ScratchFile file_;
  std::vector<Run> runs_;
  std::size_t at_once_ = 0;
  std::vector<std::size_t> heads_;  // of the runs that have more; a heap
  Record current_{};
};

}  // namespace penstock
