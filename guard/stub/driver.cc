// A pretended CUDA driver: the functions that tests call, over the memory of pretended cards
// (book.h). It gives addresses that nothing is at. Functions that it does not have answer
// CUDA_ERROR_NOT_SUPPORTED (missing.cc, generated).
//
//   STUB_MEMORY   bytes of a card           STUB_CONTEXT  bytes of a process's first context
//   STUB_DEVICES  how many cards            STUB_CHUNK    by what pools grow
//   STUB_MIG      1: the cards are MIG instances
//   STUB_LOADING  how many milliseconds loading code takes
//   STUB_FAIL     NAME:N: every Nth call of this function fails as if the card had an error
//   STUB_MEANWHILE  NAME:BYTES,BYTES...: during the first, second, ... call of this function
//   another
//                   process allocates so much on the first card, or frees it (-BYTES)
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "guard/driver/cuda.h"
#include "guard/stub/book.h"

namespace stub {
namespace {

constexpr uint64_t kPage = uint64_t{2} << 20;
constexpr uint64_t kPitch = 512;
constexpr size_t kFirstHeap = size_t{8} << 20, kFirstFifo = size_t{1} << 20, kFirstStack = 1024;
constexpr size_t kFirstDepth = 2, kDepthBytes = size_t{8} << 20;
constexpr int kProcessors = 4, kThreads = 2048;

uint64_t RoundedUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Context {
  int device = 0;
  std::map<CUlimit, size_t> limits = {{CU_LIMIT_MALLOC_HEAP_SIZE, kFirstHeap},
                                      {CU_LIMIT_PRINTF_FIFO_SIZE, kFirstFifo},
                                      {CU_LIMIT_STACK_SIZE, kFirstStack},
                                      {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, kFirstDepth},
                                      {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
  int uses = 1;
  Context* primary = nullptr;  // of a green context
};

struct Stream {
  Context* context = nullptr;
  CUgraph capture = nullptr;
};

struct Pool {
  int device = 0;
  bool of_device = true;
  uint64_t reserved = 0, used = 0, threshold = 0;
  bool is_destroyed = false;  // it ends with its last memory
};

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_MEM_ALLOC_NODE_PARAMS asked = {};
  CUgraph child = nullptr;
};

struct Graph {
  std::vector<Node*> nodes;
};

struct Exec {
  int device = 0;
  uint64_t bytes = 0;
  bool is_resident = false;
};

struct Given {  // memory at an address, or behind a handle
  int device = 0;
  uint64_t bytes = 0;
  Context* context = nullptr;
  Pool* pool = nullptr;
  int uses = 1;
};

struct Driver {
  std::recursive_mutex mutex;
  int64_t pid = 0;  // of the process that called cuInit
  Book book;
  const uint64_t context_bytes = NumberIn("STUB_CONTEXT", 0);
  const uint64_t chunk = NumberIn("STUB_CHUNK", uint64_t{32} << 20);
  std::map<int, Context*> primaries;
  std::map<int, int> primary_uses, contexts_on;
  std::map<int, unsigned int> flags;  // of primary contexts
  std::map<uint64_t, Given> memory, handles, arrays, modules, externals;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> mappings;  // address: bytes, handle
  // Of multicast objects, by device and offset: the handle.
  std::map<std::tuple<uint64_t, int, uint64_t>, uint64_t> bindings;
  std::map<int, Pool*> default_pools, pools;
  std::vector<Pool*> all_pools;
  std::vector<Exec*> execs;
  std::map<uint64_t, std::vector<uint64_t>> free_addresses;  // by size
  std::map<std::string, int, std::less<>> calls;
  uint64_t next_address = uint64_t{1} << 40;
  std::vector<void*> kept;  // other threads may still have them

  uint64_t Address(uint64_t bytes) {
    std::vector<uint64_t>& free = free_addresses[bytes];
    if (!free.empty()) {
      const uint64_t address = free.back();
      free.pop_back();
      return address;
    }
    const uint64_t address = next_address;
    next_address += RoundedUp(std::max<uint64_t>(bytes, 1), 4096);
    return address;
  }
};

Driver& driver() {
  static auto* the_driver = new Driver;
  return *the_driver;
}

thread_local std::vector<Context*> stack;

CUcontext HandleOf(Context* context) { return reinterpret_cast<CUcontext>(context); }
Context* Current() { return stack.empty() ? nullptr : stack.back(); }

CUresult Ready(const char* function) {
  Driver& d = driver();
  if (d.pid != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  d.book.Meanwhile(function);
  static const char* const fail = getenv("STUB_FAIL");
  if (fail == nullptr) return CUDA_SUCCESS;
  const std::string_view text = fail;
  const size_t colon = text.find(':');
  if (text.substr(0, colon) != function) return CUDA_SUCCESS;
  const int every = std::max(1, atoi(fail + colon + 1));
  return ++d.calls[function] % every == 0 ? CUDA_ERROR_ECC_UNCORRECTABLE : CUDA_SUCCESS;
}

#define STUB_BEGIN(...)                       \
  const std::lock_guard lock(driver().mutex); \
  Driver& d = driver();                       \
  static_cast<void>(d);                       \
  if (const CUresult ready = Ready(__func__); ready != CUDA_SUCCESS) return ready

void TrimPool(Pool* pool, uint64_t keep) {
  const uint64_t rest = std::max(pool->used, std::min(keep, pool->reserved));
  driver().book.Give(pool->device, pool->reserved - rest);
  pool->reserved = rest;
}

void TrimGraphs(int device) {
  for (Exec* exec : driver().execs) {
    if (exec->device != device || !exec->is_resident) continue;
    driver().book.Give(device, exec->bytes);
    exec->is_resident = false;
  }
}

// As a driver does when the card is full, it first gives up what it keeps for later.
bool Take(int device, uint64_t bytes) {
  Driver& d = driver();
  if (d.book.Take(device, bytes)) return true;
  for (Pool* pool : d.all_pools) {
    if (pool->device == device) TrimPool(pool, 0);
  }
  TrimGraphs(device);
  return d.book.Take(device, bytes);
}

CUresult TakeAt(std::map<uint64_t, Given>* table, uint64_t bytes, uint64_t* where) {
  Driver& d = driver();
  Context* context = Current();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!Take(context->device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *where = d.Address(bytes);
  if (context->primary != nullptr) context = context->primary;
  (*table)[*where] = {context->device, bytes, context};
  return CUDA_SUCCESS;
}

CUresult GiveAt(std::map<uint64_t, Given>* table, uint64_t where, CUresult otherwise) {
  Driver& d = driver();
  const auto found = table->find(where);
  if (found == table->end()) return otherwise;
  const Given given = found->second;
  table->erase(found);
  if (given.pool != nullptr) {
    given.pool->used -= given.bytes;
    if (given.pool->is_destroyed) TrimPool(given.pool, 0);
  } else {
    d.book.Give(given.device, given.bytes);
  }
  d.free_addresses[given.bytes].push_back(where);
  return CUDA_SUCCESS;
}

Context* MakeContext(int device) {
  Driver& d = driver();
  if (d.contexts_on[device] == 0 && !Take(device, d.context_bytes)) return nullptr;
  ++d.contexts_on[device];
  auto* context = new Context;
  d.kept.push_back(context);
  context->device = device;
  return context;
}

uint64_t LimitCost(CUlimit limit, size_t value) {
  const auto above = [&](size_t first) { return value > first ? value - first : 0; };
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return above(kFirstStack) * kProcessors * kThreads;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return above(kFirstHeap);
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return above(kFirstFifo);
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      return above(kFirstDepth) * kDepthBytes;
    default:
      return 0;
  }
}

void EndContext(Context* context) {
  Driver& d = driver();
  for (auto* table : {&d.memory, &d.arrays, &d.modules, &d.externals}) {
    for (auto at = table->begin(); at != table->end();) {
      if (at->second.context == context && at->second.pool == nullptr) {
        d.book.Give(at->second.device, at->second.bytes);
        at = table->erase(at);
      } else {
        ++at;
      }
    }
  }
  for (const auto& [limit, value] : context->limits)
    d.book.Give(context->device, LimitCost(limit, value));
  if (--d.contexts_on[context->device] == 0) d.book.Give(context->device, d.context_bytes);
  std::erase(stack, context);
}

bool HasDevice(int device) { return device >= 0 && device < driver().book.devices(); }

}  // namespace
}  // namespace stub

using namespace stub;  // NOLINT: the functions below belong to the driver's interface

#define STUB_EXPORT extern "C" __attribute__((visibility("default")))

STUB_EXPORT CUresult cuInit(unsigned int) {
  driver().pid = getpid();
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceGetCount(int* count) {
  STUB_BEGIN();
  *count = d.book.devices();
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  STUB_BEGIN();
  if (!HasDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  STUB_BEGIN();
  if (!HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  memset(uuid->bytes, 0xA0 + device, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

// Of the GPU that a MIG instance is a part of.
STUB_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  const CUresult result = cuDeviceGetUuid_v2(uuid, device);
  if (result == CUDA_SUCCESS && NumberIn("STUB_MIG", 0) != 0) uuid->bytes[0] = 0;
  return result;
}

STUB_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  STUB_BEGIN();
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT             ? kProcessors
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR ? kThreads
                                                                             : 1;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  STUB_BEGIN();
  if (!HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = d.book.size();
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  STUB_BEGIN();
  if (Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *total = d.book.size();
  const uint64_t used = d.book.Used(Current()->device);
  *free = used < *total ? *total - used : 0;
  return CUDA_SUCCESS;
}

// ---- contexts -----------------------------------------------------------------------------------

STUB_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned int, CUdevice device) {
  STUB_BEGIN();
  if (!HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context* made = MakeContext(device);
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  stack.push_back(made);
  *context = HandleOf(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int,
                                    unsigned int flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

STUB_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned int flags,
                                    CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

STUB_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  STUB_BEGIN();
  EndContext(reinterpret_cast<Context*>(context));
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  STUB_BEGIN();
  if (!HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context*& primary = d.primaries[device];
  if (primary == nullptr) primary = MakeContext(device);
  if (primary == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ++d.primary_uses[device];
  *context = HandleOf(primary);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  STUB_BEGIN();
  if (d.primaries[device] != nullptr) EndContext(d.primaries[device]);
  d.primaries[device] = nullptr;
  d.flags[device] = 0;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  STUB_BEGIN();
  d.flags[device] = flags;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  STUB_BEGIN();
  if (d.primary_uses[device] == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return --d.primary_uses[device] == 0 ? cuDevicePrimaryCtxReset_v2(device) : CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxAttach(CUcontext* context, unsigned int) {
  STUB_BEGIN();
  if (Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ++Current()->uses;
  *context = HandleOf(Current());
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxDetach(CUcontext context) {
  STUB_BEGIN();
  auto* of = reinterpret_cast<Context*>(context);
  if (--of->uses == 0) EndContext(of);
  return CUDA_SUCCESS;
}

// Has nothing of its own.
STUB_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc, CUdevice device,
                                      unsigned int) {
  STUB_BEGIN();
  CUcontext primary = nullptr;
  const CUresult result = cuDevicePrimaryCtxRetain(&primary, device);
  if (result != CUDA_SUCCESS) return result;
  auto* made = new Context;
  d.kept.push_back(made);
  made->device = device;
  made->primary = reinterpret_cast<Context*>(primary);
  *context = reinterpret_cast<CUgreenCtx>(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  *context = reinterpret_cast<CUcontext>(green);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  return cuDevicePrimaryCtxRelease_v2(reinterpret_cast<Context*>(context)->device);
}

STUB_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  STUB_BEGIN();
  *flags = d.flags[device];
  *active = d.primaries[device] != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  STUB_BEGIN();
  *context = HandleOf(Current());
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  STUB_BEGIN();
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(reinterpret_cast<Context*>(context));
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  STUB_BEGIN();
  stack.push_back(reinterpret_cast<Context*>(context));
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  STUB_BEGIN();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = HandleOf(Current());
  stack.pop_back();
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  STUB_BEGIN();
  if (Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = Current()->device;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  STUB_BEGIN();
  if (Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = Current()->limits.find(limit);
  if (found == Current()->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = found->second;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  STUB_BEGIN();
  if (Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = Current()->limits.find(limit);
  if (found == Current()->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const uint64_t before = LimitCost(limit, found->second);
  const uint64_t after = LimitCost(limit, value);
  if (after > before && !Take(Current()->device, after - before)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (after < before) d.book.Give(Current()->device, before - after);
  found->second = value;
  return CUDA_SUCCESS;
}

// ---- linear memory and arrays -------------------------------------------------------------------

STUB_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  STUB_BEGIN();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  uint64_t where = 0;
  const CUresult result = TakeAt(&d.memory, bytes, &where);
  if (result == CUDA_SUCCESS) *pointer = where;
  return result;
}

STUB_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int) {
  return cuMemAlloc_v2(pointer, bytes);
}

STUB_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width,
                                        size_t height, unsigned int) {
  const uint64_t row = RoundedUp(width, kPitch);
  const CUresult result = cuMemAlloc_v2(pointer, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

// There is nothing at the address.
STUB_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t) { return CUDA_SUCCESS; }

STUB_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  STUB_BEGIN();
  if (pointer == 0) return CUDA_SUCCESS;
  return GiveAt(&d.memory, pointer, CUDA_ERROR_INVALID_VALUE);
}

// Formats that tests use: bytes of a channel.
static uint64_t ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_HALF:
      return 2;
    default:
      return 4;
  }
}

STUB_EXPORT CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* from) {
  STUB_BEGIN();
  const uint64_t bytes = from->Width * std::max<size_t>(from->Height, 1) *
                         std::max<size_t>(from->Depth, 1) * from->NumChannels *
                         ChannelBytes(from->Format);
  uint64_t where = 0;
  const CUresult result = TakeAt(&d.arrays, bytes, &where);
  if (result == CUDA_SUCCESS) *array = reinterpret_cast<CUarray>(where);
  return result;
}

STUB_EXPORT CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* from) {
  const CUDA_ARRAY3D_DESCRIPTOR flat = {from->Width,  from->Height,      0,
                                        from->Format, from->NumChannels, 0};
  return cuArray3DCreate_v2(array, &flat);
}

STUB_EXPORT CUresult cuArrayDestroy(CUarray array) {
  STUB_BEGIN();
  return GiveAt(&d.arrays, reinterpret_cast<uint64_t>(array), CUDA_ERROR_INVALID_HANDLE);
}

STUB_EXPORT CUresult cuMipmappedArrayCreate(CUmipmappedArray* array,
                                            const CUDA_ARRAY3D_DESCRIPTOR* from,
                                            unsigned int levels) {
  STUB_BEGIN();
  uint64_t bytes = 0;
  uint64_t width = from->Width, height = std::max<uint64_t>(from->Height, 1);
  uint64_t depth = std::max<uint64_t>(from->Depth, 1);
  for (unsigned int i = 0; i < levels; ++i) {
    bytes += width * height * depth * from->NumChannels * ChannelBytes(from->Format);
    if (width == 1 && height == 1 && depth == 1) break;
    width = std::max<uint64_t>(width / 2, 1);
    height = std::max<uint64_t>(height / 2, 1);
    depth = std::max<uint64_t>(depth / 2, 1);
  }
  uint64_t where = 0;
  const CUresult result = TakeAt(&d.arrays, bytes, &where);
  if (result == CUDA_SUCCESS) *array = reinterpret_cast<CUmipmappedArray>(where);
  return result;
}

STUB_EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return cuArrayDestroy(reinterpret_cast<CUarray>(array));
}

STUB_EXPORT CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                            const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* from) {
  STUB_BEGIN();
  uint64_t where = 0;
  const CUresult result = TakeAt(&d.externals, from->size, &where);
  if (result == CUDA_SUCCESS) *memory = reinterpret_cast<CUexternalMemory>(where);
  return result;
}

STUB_EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  STUB_BEGIN();
  return GiveAt(&d.externals, reinterpret_cast<uint64_t>(memory), CUDA_ERROR_INVALID_HANDLE);
}

// The owner counts; another process only sees it.
STUB_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  STUB_BEGIN();
  if (d.memory.find(pointer) == d.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &pointer, sizeof(pointer));
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle,
                                           unsigned int) {
  STUB_BEGIN();
  memcpy(pointer, &handle, sizeof(*pointer));
  *pointer += uint64_t{1} << 50;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr) { return CUDA_SUCCESS; }

// ---- virtual memory -----------------------------------------------------------------------------

STUB_EXPORT CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                                   CUmemAllocationGranularity_flags) {
  *bytes = kPage;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                 const CUmemAllocationProp* from, unsigned long long) {
  STUB_BEGIN();
  if (bytes == 0 || bytes % kPage != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool of_device = from->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (of_device && !Take(from->location.id, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = d.Address(bytes);
  d.handles[*handle] = {from->location.id, of_device ? bytes : 0};
  return CUDA_SUCCESS;
}

static CUresult DropHandle(uint64_t handle) {
  Driver& d = driver();
  const auto found = d.handles.find(handle);
  if (found == d.handles.end()) return CUDA_ERROR_INVALID_VALUE;
  return --found->second.uses == 0 ? GiveAt(&d.handles, handle, CUDA_ERROR_INVALID_VALUE)
                                   : CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  STUB_BEGIN();
  return DropHandle(handle);
}

STUB_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                                         unsigned long long) {
  STUB_BEGIN();
  *address = d.next_address;
  d.next_address += RoundedUp(bytes, kPage);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemAddressFree(CUdeviceptr, size_t) { return CUDA_SUCCESS; }

STUB_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t,
                              CUmemGenericAllocationHandle handle, unsigned long long) {
  STUB_BEGIN();
  const auto found = d.handles.find(handle);
  if (found == d.handles.end()) return CUDA_ERROR_INVALID_VALUE;
  ++found->second.uses;
  d.mappings[address] = {bytes, handle};
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  STUB_BEGIN();
  if (d.mappings.find(address) == d.mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  for (uint64_t at = address; at < address + bytes;) {
    const auto found = d.mappings.find(at);
    if (found == d.mappings.end()) break;
    at += found->second.first;
    DropHandle(found->second.second);
    d.mappings.erase(found);
  }
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                 void* address) {
  STUB_BEGIN();
  const auto found = d.mappings.find(reinterpret_cast<uint64_t>(address));
  if (found == d.mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  *handle = found->second.second;
  ++d.handles[*handle].uses;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                            CUmemGenericAllocationHandle handle) {
  STUB_BEGIN();
  const auto found = d.handles.find(handle);
  if (found == d.handles.end()) return CUDA_ERROR_INVALID_VALUE;
  properties->location = {CU_MEM_LOCATION_TYPE_DEVICE, {found->second.device}};
  return CUDA_SUCCESS;
}

// What is exported, or mapped to an array, is never closed.
static CUresult UseForever(uint64_t handle) {
  Driver& d = driver();
  const auto found = d.handles.find(handle);
  if (found == d.handles.end()) return CUDA_ERROR_INVALID_VALUE;
  ++found->second.uses;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemExportToShareableHandle(void*, CUmemGenericAllocationHandle handle,
                                                  CUmemAllocationHandleType, unsigned long long) {
  STUB_BEGIN();
  return UseForever(handle);
}

STUB_EXPORT CUresult cuMemMapArrayAsync(CUarrayMapInfo* list, unsigned int count, CUstream) {
  STUB_BEGIN();
  for (unsigned int i = 0; i < count; ++i) {
    const CUresult result = UseForever(list[i].memHandle.memHandle);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuLogicalEndpointBindMem(CUlogicalEndpointId, CUdevice, cuuint64_t,
                                              CUmemGenericAllocationHandle handle, cuuint64_t,
                                              cuuint64_t, unsigned long long) {
  STUB_BEGIN();
  return UseForever(handle);
}

STUB_EXPORT CUresult cuMulticastCreate(CUmemGenericAllocationHandle* multicast,
                                       const CUmulticastObjectProp*) {
  STUB_BEGIN();
  *multicast = d.Address(1);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice device,
                                           size_t offset, CUmemGenericAllocationHandle handle,
                                           size_t, size_t, unsigned long long) {
  STUB_BEGIN();
  const CUresult result = UseForever(handle);
  if (result == CUDA_SUCCESS) d.bindings[{multicast, device, offset}] = handle;
  return result;
}

STUB_EXPORT CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, size_t offset,
                                        CUmemGenericAllocationHandle handle, size_t at,
                                        size_t bytes, unsigned long long flags) {
  return cuMulticastBindMem_v2(multicast, driver().handles[handle].device, offset, handle, at,
                               bytes, flags);
}

STUB_EXPORT CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice device,
                                            size_t offset, CUdeviceptr address, size_t bytes,
                                            unsigned long long flags) {
  STUB_BEGIN();
  const auto found = d.mappings.find(address);
  if (found == d.mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  return cuMulticastBindMem_v2(multicast, device, offset, found->second.second, 0, bytes, flags);
}

STUB_EXPORT CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, size_t offset,
                                         CUdeviceptr address, size_t bytes,
                                         unsigned long long flags) {
  const uint64_t handle = driver().mappings[address].second;
  return cuMulticastBindAddr_v2(multicast, driver().handles[handle].device, offset, address, bytes,
                                flags);
}

STUB_EXPORT CUresult cuMulticastUnbind(CUmemGenericAllocationHandle multicast, CUdevice device,
                                       size_t offset, size_t) {
  STUB_BEGIN();
  const auto found = d.bindings.find({multicast, device, offset});
  if (found == d.bindings.end()) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t handle = found->second;
  d.bindings.erase(found);
  return DropHandle(handle);
}

STUB_EXPORT CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}

// ---- streams and pools --------------------------------------------------------------------------

static Pool* DefaultPool(int device) {
  Pool*& pool = driver().default_pools[device];
  if (pool == nullptr) {
    pool = new Pool{.device = device};
    driver().all_pools.push_back(pool);
  }
  return pool;
}

STUB_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  STUB_BEGIN();
  if (Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  d.kept.push_back(new Stream{.context = Current()});
  *stream = static_cast<CUstream>(d.kept.back());
  return CUDA_SUCCESS;
}

static Stream* Real(CUstream stream) {
  const auto number = reinterpret_cast<uint64_t>(stream);
  return number <= 2 ? nullptr : reinterpret_cast<Stream*>(stream);
}

STUB_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  STUB_BEGIN();
  Stream* of = Real(stream);
  *context = HandleOf(of == nullptr ? Current() : of->context);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  STUB_BEGIN();
  Stream* of = Real(stream);
  *status = of != nullptr && of->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                    : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  STUB_BEGIN();
  if (Real(stream) == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Real(stream)->capture = reinterpret_cast<CUgraph>(new Graph);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  STUB_BEGIN();
  *graph = Real(stream)->capture;
  Real(stream)->capture = nullptr;
  return CUDA_SUCCESS;
}

static CUresult Wait() {
  Driver& d = driver();
  for (Pool* pool : d.all_pools) TrimPool(pool, pool->threshold);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuStreamSynchronize(CUstream) {
  STUB_BEGIN();
  return Wait();
}

STUB_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  return cuStreamSynchronize(stream);
}

STUB_EXPORT CUresult cuCtxSynchronize() {
  STUB_BEGIN();
  return Wait();
}

STUB_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  STUB_BEGIN();
  Pool* set = d.pools[device];
  *pool = reinterpret_cast<CUmemoryPool>(set == nullptr ? DefaultPool(device) : set);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  STUB_BEGIN();
  *pool = reinterpret_cast<CUmemoryPool>(DefaultPool(device));
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  STUB_BEGIN();
  d.pools[device] = reinterpret_cast<Pool*>(pool);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* from) {
  STUB_BEGIN();
  auto* made = new Pool{.device = from->location.id,
                        .of_device = from->location.type == CU_MEM_LOCATION_TYPE_DEVICE};
  if (made->of_device) d.all_pools.push_back(made);
  *pool = reinterpret_cast<CUmemoryPool>(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  STUB_BEGIN();
  auto* of = reinterpret_cast<Pool*>(pool);
  if (d.default_pools[of->device] == of) return CUDA_ERROR_INVALID_VALUE;
  TrimPool(of, 0);
  of->is_destroyed = true;
  if (d.pools[of->device] == of) d.pools[of->device] = nullptr;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  STUB_BEGIN();
  TrimPool(reinterpret_cast<Pool*>(pool), keep);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                           void* value) {
  STUB_BEGIN();
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    reinterpret_cast<Pool*>(pool)->threshold = *static_cast<cuuint64_t*>(value);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                           void* value) {
  STUB_BEGIN();
  const auto* of = reinterpret_cast<Pool*>(pool);
  *static_cast<cuuint64_t*>(value) =
      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? of->reserved
      : attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT   ? of->used
                                                        : of->threshold;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                                             CUstream stream) {
  STUB_BEGIN();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  auto* of = reinterpret_cast<Pool*>(pool);
  if (Stream* capturing = Real(stream); capturing != nullptr && capturing->capture != nullptr) {
    auto* node = new Node{.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    node->asked.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {of->device}};
    node->asked.bytesize = bytes;
    reinterpret_cast<Graph*>(capturing->capture)->nodes.push_back(node);
    *pointer = d.Address(bytes);
    return CUDA_SUCCESS;
  }
  if (of->of_device && of->reserved - of->used < bytes) {
    const uint64_t growth = RoundedUp(bytes, d.chunk);
    if (!Take(of->device, growth)) return CUDA_ERROR_OUT_OF_MEMORY;
    of->reserved += growth;
  }
  if (of->of_device) of->used += bytes;
  *pointer = d.Address(bytes);
  d.memory[*pointer] = {of->device, of->of_device ? bytes : 0, nullptr, of};
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  STUB_BEGIN();
  Stream* of = Real(stream);
  Context* context = of == nullptr ? Current() : of->context;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  CUmemoryPool pool = nullptr;
  cuDeviceGetMemPool(&pool, context->device);
  return cuMemAllocFromPoolAsync(pointer, bytes, pool, stream);
}

STUB_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return cuMemAllocAsync(pointer, bytes, stream);
}

STUB_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  STUB_BEGIN();
  if (Stream* of = Real(stream); of != nullptr && of->capture != nullptr) return CUDA_SUCCESS;
  return GiveAt(&d.memory, pointer, CUDA_ERROR_INVALID_VALUE);
}

STUB_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return cuMemFreeAsync(pointer, stream);
}

// ---- graphs -------------------------------------------------------------------------------------

static Graph* Real(CUgraph graph) { return reinterpret_cast<Graph*>(graph); }

STUB_EXPORT CUresult cuGraphCreate(CUgraph* graph, unsigned int) {
  *graph = reinterpret_cast<CUgraph>(new Graph);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*,
                                            size_t, CUDA_MEM_ALLOC_NODE_PARAMS* asked) {
  STUB_BEGIN();
  asked->dptr = d.Address(asked->bytesize);
  auto* made = new Node{.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .asked = *asked};
  Real(graph)->nodes.push_back(made);
  *node = reinterpret_cast<CUgraphNode>(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*,
                                           size_t, CUdeviceptr) {
  STUB_BEGIN();
  auto* made = new Node{.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
  Real(graph)->nodes.push_back(made);
  *node = reinterpret_cast<CUgraphNode>(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*,
                                              size_t, CUgraph child) {
  STUB_BEGIN();
  auto* made = new Node{.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};
  Real(graph)->nodes.push_back(made);
  *node = reinterpret_cast<CUgraphNode>(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*,
                                         size_t) {
  STUB_BEGIN();
  auto* made = new Node;
  Real(graph)->nodes.push_back(made);
  *node = reinterpret_cast<CUgraphNode>(made);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  STUB_BEGIN();
  const std::vector<Node*>& of = Real(graph)->nodes;
  for (size_t i = 0; nodes != nullptr && i < std::min(*count, of.size()); ++i)
    nodes[i] = reinterpret_cast<CUgraphNode>(of[i]);
  *count = of.size();
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = reinterpret_cast<Node*>(node)->type;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                                  CUDA_MEM_ALLOC_NODE_PARAMS* asked) {
  *asked = reinterpret_cast<Node*>(node)->asked;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  *graph = reinterpret_cast<Node*>(node)->child;
  return CUDA_SUCCESS;
}

static void AddTo(Exec* exec, CUgraph graph) {
  for (const Node* node : Real(graph)->nodes) {
    if (node->child != nullptr) AddTo(exec, node->child);
    if (node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
    exec->device = node->asked.poolProps.location.id;
    exec->bytes += RoundedUp(node->asked.bytesize, kPage);
  }
}

STUB_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph,
                                                 unsigned long long) {
  STUB_BEGIN();
  auto* exec = new Exec;
  AddTo(exec, graph);
  d.execs.push_back(exec);
  *made = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* made, CUgraph graph, CUgraphNode*, char*,
                                           size_t) {
  return cuGraphInstantiateWithFlags(made, graph, 0);
}

STUB_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph graph,
                                                  CUDA_GRAPH_INSTANTIATE_PARAMS*) {
  return cuGraphInstantiateWithFlags(made, graph, 0);
}

STUB_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream) {
  STUB_BEGIN();
  auto* exec = reinterpret_cast<Exec*>(graph);
  if (exec->is_resident || exec->bytes == 0) return CUDA_SUCCESS;
  if (!Take(exec->device, exec->bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  exec->is_resident = true;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return cuGraphLaunch(graph, stream);
}

STUB_EXPORT CUresult cuGraphUpload(CUgraphExec graph, CUstream stream) {
  return cuGraphLaunch(graph, stream);
}

STUB_EXPORT CUresult cuGraphExecDestroy(CUgraphExec graph) {
  STUB_BEGIN();
  auto* exec = reinterpret_cast<Exec*>(graph);
  if (exec->is_resident) d.book.Give(exec->device, exec->bytes);
  std::erase(d.execs, exec);
  delete exec;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }

STUB_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute,
                                                  void* value) {
  STUB_BEGIN();
  cuuint64_t bytes = 0;
  for (const Exec* exec : d.execs) {
    if (exec->device == device && exec->is_resident) bytes += exec->bytes;
  }
  *static_cast<cuuint64_t*>(value) = bytes;
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device) {
  STUB_BEGIN();
  TrimGraphs(device);
  return CUDA_SUCCESS;
}

// ---- code and launches --------------------------------------------------------------------------

// Images of tests are texts; each takes as much memory as it is long, or what its variable takes,
// if it has one: "...kai_variable[BYTES]".
STUB_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  usleep(static_cast<useconds_t>(1000 * NumberIn("STUB_LOADING", 0)));
  STUB_BEGIN();
  constexpr const char* kVariable = "kai_variable[";
  const auto* text = static_cast<const char*>(image);
  const char* variable = strstr(text, kVariable);
  const uint64_t bytes =
      variable == nullptr ? strlen(text) : strtoull(variable + strlen(kVariable), nullptr, 10);
  uint64_t where = 0;
  const CUresult result = TakeAt(&d.modules, bytes, &where);
  if (result == CUDA_SUCCESS) *module = reinterpret_cast<CUmodule>(where);
  return result;
}

STUB_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int,
                                        CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

STUB_EXPORT CUresult cuModuleUnload(CUmodule module) {
  STUB_BEGIN();
  return GiveAt(&d.modules, reinterpret_cast<uint64_t>(module), CUDA_ERROR_INVALID_HANDLE);
}

STUB_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  *function = reinterpret_cast<CUfunction>(module);
  return CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                                       unsigned int, CUlibraryOption*, void**, unsigned int) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}

STUB_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

STUB_EXPORT CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int,
                                    unsigned int, unsigned int, unsigned int, unsigned int,
                                    CUstream, void**, void**) {
  return CUDA_SUCCESS;
}

// A function that no header of the guard has, and a form of one that it has.
STUB_EXPORT CUresult cuFromTheFuture() { return CUDA_SUCCESS; }
STUB_EXPORT CUresult cuMemAlloc_v9(size_t, CUdeviceptr*, void*, void*) { return CUDA_SUCCESS; }

STUB_EXPORT CUresult cuProfilerStart() { return CUDA_SUCCESS; }

// ---- finding functions --------------------------------------------------------------------------

namespace {

// Drivers also have functions at other addresses than that of their name.
CUresult InnerManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
  return cuMemAllocManaged(pointer, bytes, flags);
}

struct Row {
  const char* symbol;
  const char* name;
  int since;
  bool of_thread;
  void* function;
};

const Row kRows[] = {
#define HOOK(symbol, name, since, thread) \
  {#symbol, name, since, thread == 1, reinterpret_cast<void*>(&::symbol)},
#include "guard/driver/hooks.inc"
#undef HOOK
    {"cuFromTheFuture", "cuFromTheFuture", 12000, false,
     reinterpret_cast<void*>(&::cuFromTheFuture)},
    {"cuMemAlloc_v9", "cuMemAlloc", 99000, false, reinterpret_cast<void*>(&::cuMemAlloc_v9)},
    {"", "cuMemAllocManaged", 6000, false, reinterpret_cast<void*>(&InnerManaged)},
    {"cuProfilerStart", "cuProfilerStart", 4000, false,
     reinterpret_cast<void*>(&::cuProfilerStart)},
};

}  // namespace

STUB_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                         cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  const bool of_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *function = nullptr;
  for (const Row& row : kRows) {
    if (row.since <= version && strcmp(row.name, name) == 0 && (of_thread || !row.of_thread))
      *function = row.function;
  }
  if (status != nullptr)
    *status =
        *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

STUB_EXPORT CUresult cuGetProcAddress(const char* name, void** function, int version,
                                      cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
