#include "kai/ingest/kinds.h"

namespace kai {

std::string_view NameOf(Kind kind) {
  std::string_view name;
  WithKind(kind, [&](const auto& each) { name = each.name; });
  return name;
}

std::optional<Kind> KindNamed(std::string_view name) {
  std::optional<Kind> kind;
  AnyKind([&](const auto& each) {
    if (each.name == name) kind = each.kind;
    return kind.has_value();
  });
  return kind;
}

}  // namespace kai
