#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::testing {

/// A node of a Chakra execution trace as it stands in the file.
struct ReadNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;  // NodeType of the schema
  std::vector<std::uint64_t> data_deps;
  std::uint64_t duration_micros = 0;
  std::map<std::string, std::uint64_t> numbers;  // attributes by name, of whatever type of number
  std::map<std::string, std::string> words;      // attributes that are strings
  std::map<std::string, std::uint32_t> fields;   // of each attribute, the field of its value
};

struct ReadTrace {
  std::string version;
  std::vector<ReadNode> nodes;
};

constexpr std::uint64_t mem_load_node = 2, mem_store_node = 3, comp_node = 4, comm_send_node = 5,
                        comm_recv_node = 6, comm_coll_node = 7;

/// Decodes a trace by hand, byte by byte, so that the writer's library has no part in it. Throws
/// std::runtime_error for a message that is cut off and for every field that no trace of ours has.
ReadTrace read_chakra(std::string_view bytes);

}  // namespace penstock::testing
