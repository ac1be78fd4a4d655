#include "kai/ingest/field_managers.h"

#include <string>

#include "kai/base/text.h"

namespace kai {
namespace {

// An entry of metadata.managedFields; its `fieldsV1` is a tree of names that begin with "f:".
bool EntryOwns(JsonValue& entry, std::string_view manager, const std::string& member) {
  std::string name;
  bool has_field = false;
  const FieldStatus ignored = ForEachMember(entry, [&](std::string_view key, JsonValue& value) {
    FieldStatus part;
    if (key == "manager") part = ReadString(value, &name);
    if (key == "fieldsV1") {
      part = ForEachMember(value, [&](std::string_view top, JsonValue& fields) {
        if (top != "f:status") return Skip();
        return ForEachMember(fields, [&](std::string_view field, JsonValue&) {
          has_field = has_field || field == member;
          return Skip();
        });
      });
    }
    return Skip();
  });
  return has_field && name == manager;
}

}  // namespace

bool OwnsStatusField(JsonObject object, std::string_view manager, std::string_view field) {
  const std::string member = StrCat("f:", field);
  bool owns = false;
  const FieldStatus ignored = ForEachMember(object, [&](std::string_view key, JsonValue& metadata) {
    if (key != "metadata") return Skip();
    const FieldStatus part =
        ForEachMember(metadata, [&](std::string_view name, JsonValue& entries) {
          if (name != "managedFields") return Skip();
          return ForEachElement(entries, [&](JsonValue& entry) {
            owns = owns || EntryOwns(entry, manager, member);
            return Skip();
          });
        });
    return Skip();
  });
  return owns;
}

}  // namespace kai
