#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace penstock {

/// Hashes of several values in one.
template <class... Values>
std::size_t hash_of_all(const Values&... values) {
  std::size_t all = 0;
  ((all = (all ^ std::hash<Values>{}(values)) * 0x9e37'79b9'7f4a'7c15U, all ^= all >> 32U), ...);
  return all;
}

inline std::size_t hash_of(const std::string& text) { return hash_of_all(text); }

/// Results of a step by its key, those last asked for. A key has `==` over all of its members, and
/// `hash_of`, which may leave members out: `==` separates keys of equal hash. Each thread
/// has its own.
template <class Key, class Result>
class Memo {
 public:
  using Shared = std::shared_ptr<Result>;

  /// Keeps at most this many results, whose sizes sum to at most `most_size`.
  explicit Memo(std::size_t most, std::size_t most_size = SIZE_MAX)
      : most_(most), most_size_(most_size) {}

  std::size_t count() const { return entries_.size(); }

  /// Null if there is none.
  Shared find(const Key& key) {
    const auto [begin, end] = places_.equal_range(hash_of(key));
    for (auto place = begin; place != end; ++place) {
      if (!(place->second->key == key)) continue;
      entries_.splice(entries_.begin(), entries_, place->second);
      return place->second->result;
    }
    return nullptr;
  }

  /// Keeps a result; one that is larger than all may be is not kept. There must be none of this
  /// key.
  void keep(Key key, Shared result, std::size_t size = 1) {
    if (size > most_size_ || most_ == 0) return;
    const std::size_t hash = hash_of(key);
    entries_.push_front({std::move(key), hash, std::move(result), size});
    places_.emplace(hash, entries_.begin());
    size_ += size;
    while (entries_.size() > most_ || size_ > most_size_) forget_last();
  }

  /// The result of a key, made if there is none.
  template <class Make>
  Shared get(Key key, Make make) {
    if (Shared known = find(key)) return known;
    auto made = std::make_shared<Result>(make());
    keep(std::move(key), made);
    return made;
  }

  void clear() {
    entries_.clear();
    places_.clear();
    size_ = 0;
  }

 private:
  struct Entry {
    Key key;
    std::size_t hash;
    Shared result;
    std::size_t size;
  };

  void forget_last() {
    const auto last = std::prev(entries_.end());
    auto [place, end] = places_.equal_range(last->hash);
    while (place != end && place->second != last) ++place;
    places_.erase(place);
    size_ -= last->size;
    entries_.pop_back();
  }

  std::size_t most_, most_size_, size_ = 0;
  std::list<Entry> entries_;  // last asked for first
  std::unordered_multimap<std::size_t, typename std::list<Entry>::iterator> places_;
};

}  // namespace penstock
