#include "kai/store/fill_store.h"

#include <utility>

namespace kai {

bool FillStore(SnapshotRows* snapshot, Store* store) {
  ClusterRows& rows = snapshot->cluster;
  const size_t rejections = rows.rejections.size();
  store->SetPastUsages(std::move(snapshot->past_usages));
  if (rows.config_maps) store->Synced(Kind::kConfigMap);
  if (rows.serves_claims) store->ServeClaims(*rows.serves_claims);
  for (Rejection& rejection : rows.rejections) {
    const std::optional<Kind> kind = KindNamed(rejection.kind);
    if (!kind) return false;
    store->Reject(*kind, std::move(rejection));
  }
  // Two objects of one name, or more objects without a name than a store keeps.
  if (store->rejections().size() != rejections) return false;
  return !AnyKind([&]<typename Row>(const KindEntry<Row>& entry) {
    if (entry.kind == Kind::kConfigMap && !rows.config_maps) return false;
    bool is_twice = false;
    for (Row& row : entry.in(&rows)) {
      is_twice = is_twice || store->Has(entry.kind, NameInTable(row));
      store->Upsert(std::move(row));
    }
    return is_twice;
  });
}

}  // namespace kai
