#include "kai/ingest/resource_list.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kai/api/accelerators.h"
#include "kai/base/quantity.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

int64_t* FindAmount(ResourceAmounts* amounts, std::string_view name) {
  for (auto& [known, amount] : *amounts) {
    if (known == name) return &amount;
  }
  return nullptr;
}

// The text of a quantity, which may be written as a string or as a number.
FieldStatus ReadQuantityText(JsonValue& value, JsonText* text, std::string_view* number) {
  *number = RawToken(value);
  if (number->front() == '"') {
    KAI_RETURN_IF_BAD(text->Read(value));
    *number = text->view();
  } else if (number->front() == '{' || number->front() == '[' || number->front() == 't' ||
             number->front() == 'f') {
    return Expected("a quantity", value);
  }
  return FieldStatus();
}

FieldStatus ParseQuantity(std::string_view number, Quantity* out) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(number);
  if (!quantity.ok()) return FieldStatus::Bad(std::string(quantity.status().message()));
  *out = *quantity;
  return FieldStatus();
}

}  // namespace

FieldStatus ReadQuantity(JsonValue& value, Quantity* out) {
  JsonText text;
  std::string_view number;
  KAI_RETURN_IF_BAD(ReadQuantityText(value, &text, &number));
  return ParseQuantity(number, out);
}

ResourceKind KindOfResource(std::string_view name) {
  if (name == "cpu") return ResourceKind::kCpu;
  if (name == "memory" || name == "ephemeral-storage" || name == "storage") {
    return ResourceKind::kBytes;
  }
  if (IsGpuResource(name)) return ResourceKind::kGpu;
  if (name == "pods") return ResourceKind::kPods;
  if (IsMigResource(name)) return ResourceKind::kMig;
  // An extended resource, a prefixed native one, hugepages, or volumes. "requests.x" is how quotas
  // name things, not a resource.
  const bool prefixed = name.find('/') != name.npos && !name.starts_with("requests.");
  if (prefixed || name.starts_with("hugepages-") || name.starts_with("attachable-volumes-")) {
    return ResourceKind::kScalar;
  }
  return ResourceKind::kIgnored;
}

FieldStatus ReadAmount(JsonValue& value, ResourceKind kind, int64_t* amount) {
  JsonText text;
  std::string_view number;
  Quantity quantity;
  KAI_RETURN_IF_BAD(ReadQuantityText(value, &text, &number));
  KAI_RETURN_IF_BAD(ParseQuantity(number, &quantity));
  if (quantity.negative()) {
    return FieldStatus::Bad(StrCat("quantity ", Quote(number), " is negative"));
  }
  const bool device = kind == ResourceKind::kGpu || kind == ResourceKind::kMig;
  if (device && !quantity.whole()) {
    return FieldStatus::Bad(StrCat("quantity ", Quote(number),
                                   " is not a whole number of devices; for a part of a GPU use the "
                                   "annotation gpu-fraction"));
  }
  *amount = kind == ResourceKind::kCpu || kind == ResourceKind::kScalar ? quantity.MilliValue()
                                                                        : quantity.Value();
  return FieldStatus();
}

FieldStatus TooManyResources() {
  return FieldStatus::Bad(StrCat("has more than ", kMostResources, " resources"));
}

void SetAmount(ResourceAmounts* amounts, std::string_view name, int64_t amount) {
  if (int64_t* known = FindAmount(amounts, name)) {
    *known = amount;
  } else {
    amounts->emplace_back(name, amount);
  }
}

void AddAmounts(ResourceAmounts* sum, const ResourceAmounts& more) {
  for (const auto& [name, amount] : more) {
    int64_t* known = FindAmount(sum, name);
    SetAmount(sum, name, known == nullptr ? amount : AddSaturating(*known, amount));
  }
}

void MaxAmounts(ResourceAmounts* most, const ResourceAmounts& other) {
  for (const auto& [name, amount] : other) {
    const int64_t* known = FindAmount(most, name);
    SetAmount(most, name, known == nullptr ? amount : std::max(*known, amount));
  }
}

}  // namespace kai
