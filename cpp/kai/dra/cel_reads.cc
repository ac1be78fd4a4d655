#include "kai/dra/cel_reads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace kai {
namespace {

// What a node of the program refers to, if it is the device or a part of it that is not a value.
struct Part {
  enum class Kind : uint8_t { kNone, kDevice, kMap, kDomain };

  Kind kind = Kind::kNone;
  CelReads::Map map = CelReads::Map::kAttributes;
  std::string domain = {};
};

class Reader {
 public:
  explicit Reader(const CelProgram& program) : program_(program), parts_(program.nodes.size()) {}

  CelReads Run() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) Visit(program_.nodes[i], &parts_[i]);
    ReadAll(parts_[static_cast<size_t>(program_.root)]);
    SortAndUnique(&reads_.maps);
    SortAndUnique(&reads_.domains);
    SortAndUnique(&reads_.names);
    return std::move(reads_);
  }

 private:
  template <typename T>
  static void SortAndUnique(std::vector<T>* all) {
    std::sort(all->begin(), all->end());
    all->erase(std::unique(all->begin(), all->end()), all->end());
  }

  const Part& PartOf(const CelNode& node, size_t i) const {
    return parts_[static_cast<size_t>(node.parts[i])];
  }
  // The key of a map, if the expression has it as a literal.
  std::optional<std::string_view> Key(const CelNode& node) const {
    if (node.op == CelOp::kSelect || node.op == CelOp::kHas) return node.text;
    const bool is_in = node.op == CelOp::kIn;
    if (node.op != CelOp::kIndex && !is_in) return std::nullopt;
    const CelNode& key = program_.nodes[static_cast<size_t>(node.parts[is_in ? 0 : 1])];
    return key.op == CelOp::kText ? std::optional<std::string_view>(key.text) : std::nullopt;
  }

  void Visit(const CelNode& node, Part* part) {
    using Kind = Part::Kind;
    if (node.op == CelOp::kDevice) {
      part->kind = Kind::kDevice;
      return;
    }
    if (const std::optional<std::string_view> key = Key(node)) {
      const bool is_in = node.op == CelOp::kIn;
      const Part& holder = PartOf(node, is_in ? 1 : 0);
      const bool is_value = is_in || node.op == CelOp::kHas;
      if (holder.kind == Kind::kDevice && node.op == CelOp::kSelect) {
        return VisitField(*key, part);
      }
      if (holder.kind == Kind::kMap && !is_value) {
        *part = {.kind = Kind::kDomain, .map = holder.map, .domain = std::string(*key)};
        return;
      }
      if (holder.kind == Kind::kDomain) {
        reads_.names.push_back({holder.map, holder.domain, std::string(*key)});
        return;
      }
    }
    for (size_t i = 0; i < node.parts.size(); ++i) ReadAll(PartOf(node, i));
  }

  void VisitField(std::string_view field, Part* part) {
    if (field == "driver") reads_.driver = true;
    if (field == "allowMultipleAllocations") reads_.allow_multiple_allocations = true;
    if (field != "attributes" && field != "capacity") return;
    part->kind = Part::Kind::kMap;
    part->map = field == "capacity" ? CelReads::Map::kCapacity : CelReads::Map::kAttributes;
  }

  void ReadAll(const Part& part) {
    switch (part.kind) {
      case Part::Kind::kNone:
        break;
      case Part::Kind::kDevice:
        reads_.driver = reads_.allow_multiple_allocations = true;
        reads_.maps = {CelReads::Map::kAttributes, CelReads::Map::kCapacity};
        break;
      case Part::Kind::kMap:
        reads_.maps.push_back(part.map);
        break;
      case Part::Kind::kDomain:
        reads_.domains.push_back({part.map, part.domain});
        break;
    }
  }

  const CelProgram& program_;
  std::vector<Part> parts_;  // by node
  CelReads reads_;
};

template <typename T>
  requires std::has_unique_object_representations_v<T>
void AppendBytes(const T& value, std::string* content) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  content->append(bytes.data(), bytes.size());
}

void AppendText(std::string_view text, std::string* content) {
  AppendBytes(static_cast<uint64_t>(text.size()), content);
  content->append(text);
}

void AppendValue(const AttributeValue& value, std::string* content) {
  content->push_back(static_cast<char>(value.index()));
  std::visit(
      [&](const auto& each) {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, std::string>) {
          AppendText(each, content);
        } else if constexpr (std::is_same_v<T, Semver>) {
          AppendText(each.text(), content);
        } else {
          AppendBytes(each, content);
        }
      },
      value);
}

void AppendValue(const DeviceCapacity& capacity, std::string* content) {
  AppendBytes(capacity.value, content);
}

template <typename Value>
void AppendNames(const ByName<Value>& names, std::string* content) {
  AppendBytes(static_cast<uint64_t>(names.size()), content);
  for (const auto& [name, value] : names) {
    AppendText(name, content);
    AppendValue(value, content);
  }
}

// Calls `append` with the value at this key, or notes that there is none.
template <typename Value, typename Append>
void AppendAt(const ByName<Value>& map, std::string_view key, std::string* content,
              const Append& append) {
  const auto found = map.find(key);
  content->push_back(found == map.end() ? 0 : 1);
  if (found != map.end()) append(found->second);
}

template <typename Use>
void WithMap(const Device& device, CelReads::Map map, const Use& use) {
  map == CelReads::Map::kAttributes ? use(device.attributes) : use(device.capacity);
}

}  // namespace

CelReads ReadsOf(const CelProgram& program) { return Reader(program).Run(); }

void AppendContent(const CelReads& reads, const Device& device, std::string* content) {
  if (reads.driver) AppendText(device.driver, content);
  if (reads.allow_multiple_allocations) AppendBytes(device.allow_multiple_allocations, content);
  for (const CelReads::Map map : reads.maps) {
    WithMap(device, map, [&](const auto& domains) {
      AppendBytes(static_cast<uint64_t>(domains.size()), content);
      for (const auto& [domain, names] : domains) {
        AppendText(domain, content);
        AppendNames(names, content);
      }
    });
  }
  for (const CelReads::Domain& each : reads.domains) {
    WithMap(device, each.map, [&](const auto& domains) {
      AppendAt(domains, each.domain, content,
               [&](const auto& names) { AppendNames(names, content); });
    });
  }
  for (const CelReads::Name& each : reads.names) {
    WithMap(device, each.map, [&](const auto& domains) {
      AppendAt(domains, each.domain, content, [&](const auto& names) {
        AppendAt(names, each.name, content,
                 [&](const auto& value) { AppendValue(value, content); });
      });
    });
  }
}

}  // namespace kai
