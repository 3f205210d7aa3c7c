#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::testing {

/// A node of a Chakra execution trace, as in the file.
struct ReadNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;  // NodeType of the schema
  std::vector<std::uint64_t> data_deps;
  std::uint64_t duration_micros = 0;
  std::map<std::string, std::uint64_t> numbers;  // numeric attributes of any type, by name
  std::map<std::string, std::string> words;      // string attributes, by name
  std::map<std::string, std::uint32_t> fields;   // by attribute: the field of its value
};

struct ReadTrace {
  std::string version;
  std::string comment;
  std::vector<ReadNode> nodes;
};

constexpr std::uint64_t mem_load_node = 2, mem_store_node = 3, comp_node = 4, comm_send_node = 5,
                        comm_recv_node = 6, comm_coll_node = 7;

/// Decodes a trace byte by byte, independently of the writer's library. Throws std::runtime_error
/// for a truncated message and for fields that our traces never use.
ReadTrace read_chakra(std::string_view bytes);

}  // namespace penstock::testing
