// Graphs whose nodes allocate memory: the driver reserves it when the graph is launched or
// uploaded, and keeps it for the next time. Other graphs are launched without any work here.
#include <stdlib.h>

#include "guard/hooks/counted.h"
#include "guard/hooks/pools.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

constexpr uint64_t kPage = uint64_t{2} << 20;  // the driver maps memory of graphs in such pages

struct Memory {
  uint64_t bytes = 0;
  CUdevice device = -1;  // of its first node; graphs of several devices count there
};

void AddMemoryOf(CUgraph graph, Memory* memory) {
  size_t count = 0;
  if (Call(real::cuGraphGetNodes, graph, static_cast<CUgraphNode*>(nullptr), &count) !=
          CUDA_SUCCESS ||
      count == 0) {
    return;
  }
  auto* nodes = static_cast<CUgraphNode*>(calloc(count, sizeof(CUgraphNode)));
  if (nodes == nullptr || Call(real::cuGraphGetNodes, graph, nodes, &count) != CUDA_SUCCESS)
    count = 0;
  for (size_t i = 0; i < count; ++i) {
    CUgraphNodeType type;
    if (Call(real::cuGraphNodeGetType, nodes[i], &type) != CUDA_SUCCESS) continue;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph child = nullptr;
      if (Call(real::cuGraphChildGraphNodeGetGraph, nodes[i], &child) == CUDA_SUCCESS)
        AddMemoryOf(child, memory);
    } else if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
      CUDA_MEM_ALLOC_NODE_PARAMS asked;
      if (Call(real::cuGraphMemAllocNodeGetParams, nodes[i], &asked) != CUDA_SUCCESS) continue;
      if (memory->device < 0) memory->device = asked.poolProps.location.id;
      memory->bytes += (asked.bytesize + kPage - 1) / kPage * kPage;
    }
  }
  free(nodes);
}

// Notes what the graph asks for, if it asks for memory.
CUresult Instantiated(CUresult result, CUgraph graph, const CUgraphExec* made) {
  if (result != CUDA_SUCCESS || ModeOfProcess() != Mode::kCounts) return result;
  Memory memory;
  AddMemoryOf(graph, &memory);
  if (memory.bytes == 0) return result;
  const Place place = PlaceOfDevice(memory.device);
  if (place.row >= 0)
    holdings().Put({Handle::kGraph, NumberOf(*made)},
                   {place.row, memory.bytes, 0, static_cast<uint64_t>(memory.device)});
  return result;
}

// `more` of a graph's holding: its device, and from bit 8 on the trims at its last launch.
CUdevice DeviceOf(const Holding& graph) { return static_cast<CUdevice>(graph.more & 0xff); }
uint64_t TrimsOf(const Holding& graph) { return graph.more >> 8; }

template <typename Ask>
CUresult Launched(CUgraphExec graph, const Ask& call) {
  if (holdings().CountOf(Handle::kGraph) == 0) return call();
  const Handle handle = {Handle::kGraph, NumberOf(graph)};
  Holding memory;
  if (!holdings().Find(handle, &memory)) return call();
  Keepers keepers;
  Keeper* keeper = keepers.OfGraphs({memory.row, 0, DeviceOf(memory)});
  if (keeper == nullptr) return call();
  keepers.Look(keeper);
  const bool may_need_it = TrimsOf(memory) != Keepers::trims_of_graphs();
  if (may_need_it && !keepers.Expect(keeper, memory.bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  if (!keepers.Settle(keeper)) keepers.Look(keeper);
  if (result == CUDA_SUCCESS) {
    // Expect may have trimmed the memory of other graphs, but this one has its own now.
    memory.more = static_cast<uint64_t>(DeviceOf(memory)) | Keepers::trims_of_graphs() << 8;
    holdings().Put(handle, memory);
  }
  return result;
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, CUgraphNode* node,
                                             char* log, size_t size) {
  return Instantiated(Call(real::cuGraphInstantiate, made, graph, node, log, size), graph, made);
}

KAI_GUARD_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* made, CUgraph graph, CUgraphNode* node,
                                                char* log, size_t size) {
  return Instantiated(Call(real::cuGraphInstantiate_v2, made, graph, node, log, size), graph, made);
}

KAI_GUARD_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph,
                                                      unsigned long long flags) {
  return Instantiated(Call(real::cuGraphInstantiateWithFlags, made, graph, flags), graph, made);
}

KAI_GUARD_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph graph,
                                                       CUDA_GRAPH_INSTANTIATE_PARAMS* with) {
  return Instantiated(Call(real::cuGraphInstantiateWithParams, made, graph, with), graph, made);
}

KAI_GUARD_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* made, CUgraph graph,
                                                            CUDA_GRAPH_INSTANTIATE_PARAMS* with) {
  return Instantiated(Call(real::cuGraphInstantiateWithParams_ptsz, made, graph, with), graph,
                      made);
}

KAI_GUARD_EXPORT CUresult cuGraphExecDestroy(CUgraphExec graph) {
  Holding memory;
  const Handle handle = {Handle::kGraph, NumberOf(graph)};
  const bool is_known = holdings().Take(handle, &memory);
  const CUresult result = Call(real::cuGraphExecDestroy, graph);
  if (is_known && result != CUDA_SUCCESS) holdings().Put(handle, memory);
  if (is_known) Keepers().LookAtAll();
  return result;
}

KAI_GUARD_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  return Launched(graph, [&] { return Call(real::cuGraphLaunch, graph, stream); });
}

KAI_GUARD_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return Launched(graph, [&] { return Call(real::cuGraphLaunch_ptsz, graph, stream); });
}

KAI_GUARD_EXPORT CUresult cuGraphUpload(CUgraphExec graph, CUstream stream) {
  return Launched(graph, [&] { return Call(real::cuGraphUpload, graph, stream); });
}

KAI_GUARD_EXPORT CUresult cuGraphUpload_ptsz(CUgraphExec graph, CUstream stream) {
  return Launched(graph, [&] { return Call(real::cuGraphUpload_ptsz, graph, stream); });
}

KAI_GUARD_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device) {
  Keepers keepers;
  const CUresult result = keepers.TrimGraphs(device);
  keepers.LookAtAll();
  return result;
}
