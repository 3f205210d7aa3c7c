#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tests/support/ptx/kernel.hpp"

namespace penstock::testing::ptx {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) + 1 - first);
}

/// Cuts the first word off.
std::string_view word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view first = text.substr(0, end);
  text = trimmed(text.substr(end));
  return first;
}

/// Cuts off what comes before a mark, and the mark.
std::string_view before(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view first = trimmed(text.substr(0, end));
  text = trimmed(text.substr(std::min(end + 1, text.size())));
  return first;
}

/// Decimal or hexadecimal, or the bits of a number in single precision: 0f3F800000.
std::optional<std::uint64_t> number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool is_hex = text.starts_with("0x") || text.starts_with("0f");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, is_hex ? 16 : 10);
  if (error != std::errc() || stop != end) return std::nullopt;
  return negative ? 0 - value : value;
}

std::uint32_t count_in(std::string_view text) {
  const auto value = number(text);
  if (!value) throw std::runtime_error("not a number: " + std::string(text));
  return static_cast<std::uint32_t>(*value);
}

/// Bytes of .u32, .b8 and so on.
std::uint32_t bytes_of(std::string_view type) { return count_in(type.substr(2)) / 8; }

std::uint32_t rounded_up(std::uint32_t value, std::uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// As Kernels has it.
std::string short_name(const std::string& mangled) {
  const std::unique_ptr<char, void (*)(void*)> full(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr), std::free);
  if (full == nullptr) return mangled;
  const std::string_view text = full.get();
  constexpr std::string_view space = "(anonymous namespace)::";
  const std::size_t space_at = text.find(space);
  const std::size_t first = space_at == text.npos ? 0 : space_at + space.size();
  return std::string(text.substr(first, text.rfind('(') - first));
}

/// Memory declared as `.align 8 .b8 NAME[104]` or `.u64 NAME`.
struct Declared {
  std::string name;
  std::uint32_t alignment = 0;
  std::uint32_t bytes = 0;
};
Declared declared(std::string_view text) {
  Declared made;
  std::string_view type = word(text);
  if (type == ".align") {
    made.alignment = count_in(word(text));
    type = word(text);
  }
  made.bytes = bytes_of(type);
  if (made.alignment == 0) made.alignment = made.bytes;
  made.name = before(text, '[');
  if (!text.empty()) made.bytes *= count_in(before(text, ']'));
  return made;
}

/// Reads one kernel, line by line.
class Reader {
 public:
  explicit Reader(const std::string& name) {
    kernel_.name = name;
    kernel_.registers.assign(first_own, 0);
    kernel_.registers[always] = 1;
  }

  void parameter(std::string_view text) {
    const Declared made = declared(text);
    const std::uint32_t at = rounded_up(parameter_bytes_, made.alignment);
    places_[made.name] = at;
    kernel_.parameters.push_back({at, made.bytes});
    parameter_bytes_ = at + made.bytes;
  }

  void most_threads(std::string_view text) { kernel_.most_threads = count_in(before(text, ',')); }

  void statement(std::string_view text, std::uint32_t line) {
    if (text.starts_with('$') && text.ends_with(':')) {
      labels_[std::string(text.substr(0, text.size() - 1))] =
          static_cast<std::uint32_t>(kernel_.code.size());
      return;
    }
    if (!text.ends_with(';')) throw std::runtime_error("unknown: " + std::string(text));
    text.remove_suffix(1);
    std::string_view rest = text;
    const std::string_view first = word(rest);
    if (first == ".reg") return registers(rest);
    if (first == ".shared") return shared(rest);
    if (first == ".pragma" || first == ".loc") return;
    instruction(text, line);
  }

  Kernel finished() {
    for (const auto& [at, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) throw std::runtime_error("no label " + label);
      kernel_.code[at].target = found->second;
    }
    if (kernel_.registers.size() > UINT16_MAX) throw std::runtime_error("too many registers");
    return std::move(kernel_);
  }

 private:
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  /// `.b32 %r<29>`
  void registers(std::string_view text) {
    word(text);  // its type: all are as long as the longest
    const std::string name(before(text, '<'));
    const std::size_t count = count_in(before(text, '>'));
    ranges_[name] = {kernel_.registers.size(), count};
    kernel_.registers.resize(kernel_.registers.size() + count);
  }

  void shared(std::string_view text) {
    const Declared made = declared(text);
    const std::uint32_t at = rounded_up(kernel_.shared_bytes, made.alignment);
    places_[made.name] = at;
    kernel_.shared_bytes = at + made.bytes;
  }

  Register constant(std::uint64_t value) {
    const auto [at, is_new] = constants_.try_emplace(value, kernel_.registers.size());
    if (is_new) kernel_.registers.push_back(value);
    return static_cast<Register>(at->second);
  }

  Register operand(std::string_view text) {
    static const std::map<std::string_view, Register> fixed = {{"_", nowhere},
                                                               {"%tid.x", thread_index},
                                                               {"%ntid.x", threads_of_block},
                                                               {"%ctaid.x", block_index},
                                                               {"%nctaid.x", blocks_of_grid},
                                                               {"%smid", sm_index}};
    if (const auto found = fixed.find(text); found != fixed.end()) return found->second;
    if (const auto place = places_.find(text); place != places_.end()) {
      return constant(place->second);
    }
    if (const auto value = number(text)) return constant(*value);
    const std::size_t digits = std::min(text.find_first_of("0123456789"), text.size());
    const auto range = ranges_.find(text.substr(0, digits));
    const auto index = number(text.substr(digits));
    if (range == ranges_.end() || !index || *index >= range->second.count) {
      throw std::runtime_error("unknown operand " + std::string(text));
    }
    return static_cast<Register>(range->second.first + *index);
  }

  /// `[%rd5+-20]`
  Register address(std::string_view text, std::int64_t& to) {
    text = text.substr(1, text.size() - 2);
    const std::string_view base = before(text, '+');
    if (!text.empty()) {
      const auto offset = number(text);
      if (!offset) throw std::runtime_error("unknown offset " + std::string(text));
      to = static_cast<std::int64_t>(*offset);
    }
    return operand(base);
  }

  /// `@!%p1 `
  void guard(std::string_view& text, Instruction& made) {
    if (!text.starts_with('@')) return;
    text.remove_prefix(1);
    made.wanted = !text.starts_with('!');
    if (!made.wanted) text.remove_prefix(1);
    made.guard = operand(word(text));
  }

  void instruction(std::string_view text, std::uint32_t line) {
    Instruction made;
    made.line = line;
    guard(text, made);
    std::string name(word(text));
    if (name.starts_with("bra")) {
      branches_.emplace_back(kernel_.code.size(), text);
    } else {
      operands(text, name, made);
    }
    made.run = operation(name);
    if (made.run == nullptr) throw std::runtime_error("unknown instruction " + name);
    made.run_together = warp_operation(name);
    kernel_.code.push_back(made);
  }

  /// All of them in their order; what is in braces, and a predicate after a bar, are several. What
  /// a clock gives and what packs or unpacks is part of the name.
  void operands(std::string_view text, std::string& name, Instruction& made) {
    if (name.starts_with("mov.") && text.find('{') != text.npos) {
      name += text.starts_with('{') ? " unpack" : " pack";
    }
    std::size_t count = 0;
    std::size_t addresses = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(",|"), text.size());
      std::string_view one = trimmed(text.substr(0, end));
      text = trimmed(text.substr(std::min(end + 1, text.size())));
      if (one.starts_with('{')) one = trimmed(one.substr(1));
      if (one.ends_with('}')) one = trimmed(one.substr(0, one.size() - 1));
      if (one == "%globaltimer" || one == "%clock64") {
        name.append(" ").append(one);
        continue;
      }
      if (count == made.at.size()) throw std::runtime_error("too many operands");
      made.at[count++] =
          one.starts_with('[') ? address(one, made.offset.at(addresses++)) : operand(one);
    }
  }

  Kernel kernel_;
  std::uint32_t parameter_bytes_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> places_;  // of parameters and shared memory
  std::map<std::string, Range, std::less<>> ranges_;          // of registers
  std::map<std::uint64_t, std::size_t> constants_;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
};

/// What stands outside of kernels, and their heads.
class TextReader {
 public:
  void line(std::string_view text, std::uint32_t number) {
    if (inside_) {
      if (text != "}") return reader_->statement(text, number);
      Kernel kernel = reader_->finished();
      std::string name = kernel.name;
      all.insert_or_assign(std::move(name), std::move(kernel));
      reader_.reset();
      inside_ = false;
    } else if (reader_) {
      head(text);
    } else {
      outside(text);
    }
  }

  Kernels all;

 private:
  void head(std::string_view text) {
    if (text == "{") {
      inside_ = true;
      return;
    }
    if (text == ")") return;
    if (text.ends_with(',')) text.remove_suffix(1);
    const std::string_view first = word(text);
    if (first == ".param") return reader_->parameter(text);
    if (first == ".maxntid") return reader_->most_threads(text);
    if (first == ".minnctapersm") return;  // how many registers ptxas may take
    throw std::runtime_error("unknown: " + std::string(first));
  }

  void outside(std::string_view text) {
    std::string_view first = word(text);
    if (first == ".version" || first == ".target" || first == ".address_size") return;
    if (first == ".visible" || first == ".weak") first = word(text);
    if (first != ".entry") throw std::runtime_error("unknown: " + std::string(first));
    reader_.emplace(short_name(std::string(before(text, '('))));
  }

  std::optional<Reader> reader_;
  bool inside_ = false;
};

}  // namespace

Kernels read_ptx(std::string_view text) {
  TextReader reader;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, std::min(line.find("//"), line.size())));
    if (line.empty()) continue;
    try {
      reader.line(line, number);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("PTX, line {}: {}", number, error.what()));
    }
  }
  return std::move(reader.all);
}

}  // namespace penstock::testing::ptx
