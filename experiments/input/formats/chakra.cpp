#include "experiments/input/formats/chakra.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <protozero/pbf_builder.hpp>
#include <protozero/varint.hpp>
#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/formats/registry.hpp"

namespace penstock {
namespace {

// The fields and values of et_def.proto that are written.
enum class MetadataField : protozero::pbf_tag_type { version = 1, attr = 2 };
enum class NodeField : protozero::pbf_tag_type {
  id = 1,
  name = 2,
  type = 3,
  data_deps = 5,
  duration_micros = 7,
  attr = 10,
};
enum class AttributeField : protozero::pbf_tag_type {
  name = 1,
  int32_val = 7,
  int64_val = 9,
  uint64_val = 13,
  bool_val = 27,
  string_val = 29,
};
/// By kind of node: its NodeType.
constexpr std::array<std::int32_t, 6> node_types{4, 5, 6, 7, 3, 2};

using NodeMessage = protozero::pbf_builder<NodeField>;
using AttributeMessage = protozero::pbf_builder<AttributeField>;

/// The CollectiveCommType of an all-gather, a reduce-scatter or an all-reduce.
std::uint64_t collective_type(CollectiveKind kind) {
  if (kind == CollectiveKind::all_gather) return 2;
  return kind == CollectiveKind::reduce_scatter ? 7 : 0;
}

std::string name_of(const Plan& plan, const TraceNode& node) {
  std::string name = task_text(plan, node.task);
  const WorkClass& work = plan.class_of(node.task);
  if (node.kind == TraceNodeKind::compute) {
    if (work.partner != UINT32_MAX) name += "+" + task_text(plan, node.task + 1);
  } else if (node.asks) {
    name = (node.kind == TraceNodeKind::send ? "ASK_" : "ASKED_") + name;
  } else if (node.kind == TraceNodeKind::receive) {
    if (const std::size_t send = name.find("SEND"); send != std::string::npos) {
      name.replace(send, 4, "RECV");
    }
  }
  return name;
}

void append_delimited(std::string& out, const std::string& message) {
  protozero::add_varint_to_buffer(&out, message.size());
  out += message;
}

std::string metadata_text() {
  std::string comment, text;
  AttributeMessage attribute(comment);
  attribute.add_string(AttributeField::name, "comment");
  attribute.add_string(AttributeField::string_val, own_mark.data(), own_mark.size());
  protozero::pbf_builder<MetadataField> metadata(text);
  metadata.add_string(MetadataField::version, "0.0.4");
  metadata.add_message(MetadataField::attr, comment);
  return text;
}

/// Writes the attributes of a node.
class Attributes {
 public:
  explicit Attributes(NodeMessage& node) : node_(node) {}

  void add_bool(std::string_view name, bool value) {
    add(name, [&](AttributeMessage& one) { one.add_bool(AttributeField::bool_val, value); });
  }
  void add_int32(std::string_view name, std::uint64_t value) {
    add(name, [&](AttributeMessage& one) {
      one.add_int32(AttributeField::int32_val, static_cast<std::int32_t>(value));
    });
  }
  void add_int64(std::string_view name, std::uint64_t value) {
    add(name, [&](AttributeMessage& one) {
      one.add_int64(AttributeField::int64_val, static_cast<std::int64_t>(value));
    });
  }
  void add_uint64(std::string_view name, std::uint64_t value) {
    add(name, [&](AttributeMessage& one) { one.add_uint64(AttributeField::uint64_val, value); });
  }
  void add_string(std::string_view name, const std::string& value) {
    add(name, [&](AttributeMessage& one) { one.add_string(AttributeField::string_val, value); });
  }

 private:
  template <class AddValue>
  void add(std::string_view name, AddValue add_value) {
    std::string text;
    AttributeMessage one(text);
    one.add_string(AttributeField::name, name.data(), name.size());
    add_value(one);
    node_.add_message(NodeField::attr, text);
  }

  NodeMessage& node_;
};

class Writer {
 public:
  Writer(const Plan& plan, const ExecutionTrace& trace, std::uint32_t replica, Rank rank)
      : plan_(plan), trace_(trace), replica_(replica), rank_(rank) {}

  std::string write() {
    std::string out;
    append_delimited(out, metadata_text());
    for (std::uint32_t node = 0; node < own().nodes.size(); ++node) {
      append_delimited(out, node_text(node));
    }
    return out;
  }

 private:
  std::string node_text(std::uint32_t number) const {
    const TraceNode& node = own().nodes[number];
    const auto needs = own().needs_of(number);
    std::string text;
    NodeMessage message(text);
    message.add_uint64(NodeField::id, number);
    message.add_string(NodeField::name, name_of(plan_, node));
    message.add_enum(NodeField::type, node_types[static_cast<std::size_t>(node.kind)]);
    message.add_packed_uint64(NodeField::data_deps, needs.begin(), needs.end());
    if (node.kind == TraceNodeKind::compute) {
      message.add_uint64(NodeField::duration_micros, node.micros);
    }
    add_attributes(message, node);
    return text;
  }

  void add_attributes(NodeMessage& message, const TraceNode& node) const {
    Attributes attributes(message);
    attributes.add_bool("is_cpu_op", false);
    attributes.add_int64("stage", index(plan_.class_of(node.task).stage));
    attributes.add_int64("microbatch", index(plan_.microbatch[node.task]));
    const bool sends = node.kind == TraceNodeKind::send;
    if (sends || node.kind == TraceNodeKind::receive) {
      attributes.add_int32("comm_src", device(sends ? rank_ : node.peer));
      attributes.add_int32("comm_dst", device(sends ? node.peer : rank_));
      attributes.add_int32("comm_tag", node.tag);
      attributes.add_int64("comm_size", node.amount);
    } else if (node.kind == TraceNodeKind::collective) {
      attributes.add_int64("comm_type", collective_type(node.collective));
      attributes.add_int64("comm_size", node.amount);
      attributes.add_string("pg_name", fmt::format("{}", index(rank_) + 1));
    } else if (node.kind == TraceNodeKind::compute) {
      // 1,000 operations a nanosecond; half a one more, since ASTRA-sim cuts off.
      attributes.add_int64("num_ops", node.amount * 1000 + 500);
      attributes.add_uint64("tensor_size", 1);
    } else {
      attributes.add_uint64("tensor_size", node.amount);
    }
  }

  std::uint64_t device(Rank rank) const { return trace_device(trace_, replica_, rank); }
  const RankTrace& own() const { return trace_.ranks[index(rank_)]; }

  const Plan& plan_;
  const ExecutionTrace& trace_;
  std::uint32_t replica_;
  Rank rank_;
};

}  // namespace

std::string chakra_trace(const Plan& plan, const ExecutionTrace& trace, std::uint32_t replica,
                         Rank rank) {
  return Writer(plan, trace, replica, rank).write();
}

std::string chakra_groups(const ExecutionTrace& trace) {
  std::string groups;
  for (Rank rank : Numbers<Rank>(static_cast<std::uint32_t>(trace.ranks.size()))) {
    groups += fmt::format("{}\n  \"{}\": [", groups.empty() ? "{" : ",", index(rank) + 1);
    for (std::uint32_t replica = 0; replica < trace.replicas; ++replica) {
      groups += fmt::format("{}{}", replica == 0 ? "" : ", ", trace_device(trace, replica, rank));
    }
    groups += "]";
  }
  return groups + "\n}\n";
}

namespace chakra_file {
namespace {

/// Whether a text begins with a message whose first field is a version, such as "0.0.4".
bool recognizes(std::string_view text) {
  constexpr std::string_view of_version = "0123456789.";
  if (text.size() < 3 || text[1] != '\n') return false;
  const std::string_view version = text.substr(3, static_cast<unsigned char>(text[2]));
  return version.find('.') != version.npos && version.find_first_not_of(of_version) == version.npos;
}

}  // namespace

constinit extern const FormatEntry chakra_entry{
    .name = "chakra",
    .suffix = ".et",
    .summary = "a plan as Chakra execution traces, one a device, for ASTRA-sim; written",
    .recognizes = recognizes,
};
}  // namespace chakra_file

}  // namespace penstock
