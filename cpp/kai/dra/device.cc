#include "kai/dra/device.h"

#include <utility>

namespace kai {
namespace {

struct QualifiedName {
  std::string_view domain;
  std::string_view name;
  bool spelled_out;
};

QualifiedName Split(std::string_view name, std::string_view driver) {
  const size_t slash = name.find('/');
  if (slash == name.npos) return {driver, name, false};
  return {name.substr(0, slash), name.substr(slash + 1), true};
}

template <typename Value>
void Set(const QualifiedName& name, Value value, ByDomain<Value>* values) {
  ByName<Value>& domain = (*values)[std::string(name.domain)];
  if (name.spelled_out) {
    domain.insert_or_assign(std::string(name.name), std::move(value));
  } else {
    domain.try_emplace(std::string(name.name), std::move(value));
  }
}

template <typename Value>
const Value* Find(const QualifiedName& name, const ByDomain<Value>& values) {
  const auto domain = values.find(name.domain);
  if (domain == values.end()) return nullptr;
  const auto found = domain->second.find(name.name);
  return found == domain->second.end() ? nullptr : &found->second;
}

}  // namespace

void Device::SetAttribute(std::string_view attribute, AttributeValue value) {
  Set(Split(attribute, driver), std::move(value), &attributes);
}

void Device::SetCapacity(std::string_view of, DeviceCapacity value) {
  Set(Split(of, driver), std::move(value), &capacity);
}

const AttributeValue* Device::FindAttribute(std::string_view attribute) const {
  return Find(Split(attribute, driver), attributes);
}

const DeviceCapacity* Device::FindCapacity(std::string_view of) const {
  return Find(Split(of, driver), capacity);
}

}  // namespace kai
