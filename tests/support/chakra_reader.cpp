#include "tests/support/chakra_reader.hpp"

#include <stdexcept>

namespace penstock::testing {
namespace {

/// The rest of a message.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) throw std::runtime_error("a number is cut off");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("a number has too many bytes");
  }
  std::string_view delimited() {
    const std::uint64_t length = varint();
    if (length > bytes_.size()) throw std::runtime_error("a message is cut off");
    const std::string_view part = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return part;
  }

 private:
  std::string_view bytes_;
};

/// A key is the field number and the encoding of its value: 0 a varint, 2 length-prefixed.
constexpr std::uint64_t number(std::uint64_t field) { return field << 3; }
constexpr std::uint64_t text(std::uint64_t field) { return field << 3 | 2; }

[[noreturn]] void unknown(const char* message, std::uint64_t key) {
  throw std::runtime_error(std::string(message) + " has a field with key " + std::to_string(key));
}

void read_attribute(Bytes bytes, ReadNode& node) {
  if (bytes.varint() != text(1)) throw std::runtime_error("an attribute must begin with its name");
  const std::string name(bytes.delimited());
  const std::uint64_t key = bytes.varint();
  if (node.fields.count(name) != 0) throw std::runtime_error("two attributes " + name);
  node.fields[name] = static_cast<std::uint32_t>(key >> 3);
  if (key == text(29)) {
    node.words[name] = bytes.delimited();
  } else if (key == number(7) || key == number(9) || key == number(13) || key == number(27)) {
    node.numbers[name] = bytes.varint();
  } else {
    unknown("an attribute", key);
  }
  if (!bytes.empty()) throw std::runtime_error("an attribute has more than a value");
}

ReadNode read_node(Bytes bytes) {
  ReadNode node;
  while (!bytes.empty()) {
    const std::uint64_t key = bytes.varint();
    if (key == number(1)) {
      node.id = bytes.varint();
    } else if (key == text(2)) {
      node.name = bytes.delimited();
    } else if (key == number(3)) {
      node.type = bytes.varint();
    } else if (key == text(5)) {
      for (Bytes list(bytes.delimited()); !list.empty();) node.data_deps.push_back(list.varint());
    } else if (key == number(7)) {
      node.duration_micros = bytes.varint();
    } else if (key == text(10)) {
      read_attribute(Bytes(bytes.delimited()), node);
    } else {
      unknown("a node", key);
    }
  }
  return node;
}

}  // namespace

ReadTrace read_chakra(std::string_view text_of_file) {
  Bytes file(text_of_file);
  Bytes metadata(file.delimited());
  ReadTrace trace;
  if (const std::uint64_t key = metadata.varint(); key != text(1)) unknown("the metadata", key);
  trace.version = metadata.delimited();
  if (const std::uint64_t key = metadata.varint(); key != text(2)) unknown("the metadata", key);
  ReadNode about;
  read_attribute(Bytes(metadata.delimited()), about);
  trace.comment = about.words.at("comment");
  if (!metadata.empty()) unknown("the metadata", metadata.varint());
  while (!file.empty()) trace.nodes.push_back(read_node(Bytes(file.delimited())));
  return trace;
}

}  // namespace penstock::testing
