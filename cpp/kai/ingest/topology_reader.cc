#include "kai/ingest/topology_reader.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kai/api/keys.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/ingest/metadata_reader.h"

namespace kai {
namespace {

constexpr size_t kMostLevels = 16;  // spec 4 T1

FieldStatus ReadLevels(JsonValue& list, std::vector<TopologyRow::Level>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    TopologyRow::Level& level = out->emplace_back();
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "nodeLabel") return ReadString(value, &level.node_label);
      return key == "alias" ? ReadString(value, &level.alias) : Skip();
    }));
    return level.node_label.empty() ? FieldStatus::Bad("nodeLabel", "is missing") : FieldStatus();
  });
}

// Rejects levels that an API server would not accept.
FieldStatus CheckLevels(const std::vector<TopologyRow::Level>& levels) {
  if (levels.empty()) return FieldStatus::Bad("spec.levels", "is missing");
  if (levels.size() > kMostLevels)
    return FieldStatus::Bad("spec.levels", StrCat("has more than ", kMostLevels, " levels"));
  for (auto level = levels.begin(); level != levels.end(); ++level) {
    if (std::any_of(levels.begin(), level, [&](const TopologyRow::Level& wider) {
          return wider.node_label == level->node_label;
        }))
      return FieldStatus::Bad("spec.levels", StrCat("has ", Quote(level->node_label), " twice"));
    if (level->node_label == keys::kHostname && level + 1 != levels.end())
      return FieldStatus::Bad("spec.levels", StrCat("has levels below ", Quote(keys::kHostname)));
  }
  return FieldStatus();
}

FieldStatus ReadFields(JsonObject object, TopologyRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "name" ? ReadString(part, &row->name) : Skip();
      });
    }
    if (key != "spec") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return member == "levels" ? ReadLevels(part, &row->levels) : Skip();
    });
  }));
  KAI_RETURN_IF_BAD(RequireName(row->name));
  return CheckLevels(row->levels);
}

}  // namespace

std::optional<Rejection> ReadTopology(JsonObject object, TopologyRow* row) {
  return RejectIfBad("Topology", object, ReadFields(object, row));
}

}  // namespace kai
