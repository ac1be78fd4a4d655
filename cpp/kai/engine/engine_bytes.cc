#include "kai/engine/engine_bytes.h"

#include "kai/base/heap_bytes.h"

namespace kai {

void AddMemoryOf(const Cluster& cluster, MemoryReport* report) {
  const auto add = [&](std::string_view column, size_t count, const auto&... values) {
    report->Add("cluster", column, count, HeapBytesOfAll(values...));
  };
  add("names", cluster.names().size(), cluster.names());
  add("nodes", cluster.nodes().size(), cluster.nodes());
  add("node classes", cluster.node_classes().size(), cluster.node_classes());
  add("pods", cluster.pods().size(), cluster.pods());
  add("pod classes", cluster.pod_classes().size(), cluster.pod_classes());
  add("pod groups", cluster.pod_groups().size(), cluster.pod_groups());
  add("sub-groups", cluster.sub_groups().size(), cluster.sub_groups());
  add("queues", cluster.queues().size(), cluster.queues());
  add("affinity", cluster.affinity().size(), cluster.affinity());
  add("constraints", cluster.constraints().size(), cluster.constraints(), cluster.host_ports(),
      cluster.volume_needs(), cluster.storage());
  add("NUMA zones", cluster.numa().nodes.size(), cluster.numa());
  size_t totals = 0;
  for (const TopologyId id : cluster.topologies().ids()) {
    const DomainTotals& its = cluster.domain_totals(id);
    totals += HeapBytesOfAll(its.of_node, its.free);
    for (const DomainTotals::Shape& shape : its.shapes)
      totals += HeapBytesOfAll(shape.largest, shape.of_node, shape.of_domain);
  }
  add("topologies", cluster.topologies().size(), cluster.topologies());
  report->Add("cluster", "domain totals", cluster.topologies().size(), totals);
  add("rejections", cluster.rejections().size(), cluster.rejections());
}

void AddMemoryOf(const CycleRooms& rooms, MemoryReport* report) {
  report->Add("rooms", "order of nodes", 0, rooms.nodes.HeapBytes());
  report->Add("rooms", "order of pods", 0, HeapBytesOfAll(rooms.placing, rooms.order));
  report->Add("rooms", "classes of pods", 0, rooms.plans.HeapBytes());
  report->Add("rooms", "classes of groups", rooms.classes.classes().size(),
              rooms.classes.HeapBytes());
  report->Add("rooms", "room counts", 0, rooms.room.HeapBytes());
  report->Add("rooms", "search", 0, rooms.search.HeapBytes());
}

}  // namespace kai
