#include "guard/hooks/pools.h"

#include "guard/hooks/counted.h"

namespace kai::guard {
namespace {

constexpr int kMostKeepers = 4096;

Keeper table[kMostKeepers];
int count = 0;
std::atomic<bool> was_used{false};
std::atomic<int> left{0};  // pools with is_left
Once too_many;

uint64_t ReservedBy(const Keeper& keeper) {
  cuuint64_t bytes = 0;
  const CUresult result =
      keeper.pool == nullptr
          ? Call(real::cuDeviceGetGraphMemAttribute, keeper.device,
                 CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, static_cast<void*>(&bytes))
          : Call(real::cuMemPoolGetAttribute, keeper.pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                 static_cast<void*>(&bytes));
  return result == CUDA_SUCCESS ? bytes : keeper.counted;
}

uint64_t UsedOf(CUmemoryPool pool) {
  cuuint64_t bytes = 0;
  Call(real::cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
       static_cast<void*>(&bytes));
  return bytes;
}

void Give(int row) { Keepers().Trim(row); }

void Forget() {
  Keepers::Reset();
  count = 0;
  left.store(0, std::memory_order_relaxed);
  for (Keeper& keeper : table) keeper = Keeper();
}

__attribute__((constructor)) void Register() {
  AddRelief(Give);
  AddForget(Forget);
}

}  // namespace

Mutex Keepers::mutex_;
std::atomic<uint64_t> Keepers::trims_{1};

Keeper* Keepers::Find(CUmemoryPool pool) const {
  for (int i = 0; i < count; ++i) {
    if (table[i].pool == pool && pool != nullptr) return &table[i];
  }
  return nullptr;
}

Keeper* Keepers::Of(const Place& place, CUmemoryPool pool) {
  if (place.row < 0) return nullptr;
  for (int i = 0; i < count; ++i) {
    if (table[i].pool == pool && (pool != nullptr || table[i].device == place.device))
      return &table[i];
  }
  if (count == kMostKeepers) {
    Say(&too_many, "this process has over 4,095 memory pools: the rest of them does not count");
    return nullptr;
  }
  Keeper& keeper = table[count];
  keeper = {place.row, place.device, pool};
  if (pool != nullptr) {
    Call(real::cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
         static_cast<void*>(&keeper.threshold));
    cuuint64_t all = ~cuuint64_t{0};
    Call(real::cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
         static_cast<void*>(&all));
  }
  return &table[count++];
}

void Keepers::Drop(Keeper* keeper) {
  Release(keeper->row, keeper->counted);
  *keeper = table[--count];
  table[count] = Keeper();
}

CUresult Keepers::Destroy(Keeper* keeper) {
  if (keeper->is_left) return CUDA_ERROR_INVALID_VALUE;
  CUmemoryPool default_pool = nullptr, current = nullptr;
  Call(real::cuDeviceGetDefaultMemPool, &default_pool, keeper->device);
  if (keeper->pool != default_pool) {
    Call(real::cuMemPoolTrimTo, keeper->pool, size_t{0});
    Look(keeper);
  }
  if (keeper->counted == 0 || keeper->pool == default_pool) {
    const CUresult result = Call(real::cuMemPoolDestroy, keeper->pool);
    if (result == CUDA_SUCCESS) Drop(keeper);
    return result;
  }
  // As the driver does when it destroys the device's current pool.
  Call(real::cuDeviceGetMemPool, &current, keeper->device);
  if (current == keeper->pool) Call(real::cuDeviceSetMemPool, keeper->device, default_pool);
  keeper->is_left = true;
  left.fetch_add(1, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

void Keepers::DestroyEmpty() {
  for (int i = count; i > 0; --i) {  // Drop moves the last one
    Keeper* keeper = &table[i - 1];
    if (!keeper->is_left) continue;
    Call(real::cuMemPoolTrimTo, keeper->pool, size_t{0});
    Look(keeper);
    if (keeper->counted > 0) continue;
    Call(real::cuMemPoolDestroy, keeper->pool);
    Drop(keeper);
    left.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Keepers::Look(Keeper* keeper) {
  const uint64_t reserved = ReservedBy(*keeper);
  if (reserved > keeper->counted) Force(keeper->row, reserved - keeper->counted);
  if (reserved < keeper->counted) Release(keeper->row, keeper->counted - reserved);
  keeper->counted = reserved;
}

bool Keepers::Expect(Keeper* keeper, uint64_t bytes) {
  if (bytes == 0) return true;
  if (!region().Reserve(keeper->row, bytes)) {
    Trim(keeper->row);
    if (!region().Reserve(keeper->row, bytes)) {
      region().CountRefusal(keeper->row);
      return false;
    }
  }
  keeper->counted += bytes;
  return true;
}

bool Keepers::Settle(Keeper* keeper) {
  const uint64_t reserved = ReservedBy(*keeper);
  if (reserved > keeper->counted && !region().Reserve(keeper->row, reserved - keeper->counted))
    return false;
  if (reserved < keeper->counted) Release(keeper->row, keeper->counted - reserved);
  keeper->counted = reserved;
  return true;
}

void Keepers::Trim(int row) {
  for (int i = 0; i < count; ++i) {
    if (table[i].row != row) continue;
    if (table[i].pool != nullptr) Call(real::cuMemPoolTrimTo, table[i].pool, size_t{0});
    if (table[i].pool == nullptr) TrimGraphs(table[i].device);
    Look(&table[i]);
  }
}

CUresult Keepers::TrimGraphs(CUdevice device) {
  trims_.fetch_add(1, std::memory_order_relaxed);
  return Call(real::cuDeviceGraphMemTrim, device);
}

void Keepers::LookAtAll() {
  for (int i = 0; i < count; ++i) Look(&table[i]);
}

void Keepers::Shrink() {
  for (int i = 0; i < count; ++i) {
    Keeper& keeper = table[i];
    if (keeper.pool == nullptr) continue;
    if (keeper.counted > keeper.threshold)
      Call(real::cuMemPoolTrimTo, keeper.pool, static_cast<size_t>(keeper.threshold));
    Look(&keeper);
  }
}

void NoteUseOfPool() { was_used.store(true, std::memory_order_relaxed); }

void NoteFreeToPool() {
  NoteUseOfPool();
  if (left.load(std::memory_order_relaxed) > 0) Keepers().DestroyEmpty();
}

void ShrinkPools() {
  const bool has_left = left.load(std::memory_order_relaxed) > 0;
  if (!was_used.exchange(false, std::memory_order_relaxed) && !has_left) return;
  Keepers keepers;
  keepers.Shrink();
  keepers.DestroyEmpty();
}

namespace {

// The largest power of two that divides it.
uint64_t LargestPowerIn(uint64_t bytes) { return bytes & (~bytes + 1); }

// A call for the device's or the given pool.
template <typename Ask>
CUresult FromPool(Keepers* keepers, Keeper* keeper, uint64_t bytes, CUdeviceptr* pointer,
                  CUstream stream, const Ask& call) {
  if (keeper == nullptr) return call();
  keepers->Look(keeper);
  const uint64_t used = UsedOf(keeper->pool);
  const bool has_room = keeper->counted >= used && keeper->counted - used >= bytes;
  const uint64_t growth = (bytes + keeper->grain - 1) / keeper->grain * keeper->grain;
  if (!has_room && !keepers->Expect(keeper, growth)) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t before = keeper->counted - (has_room ? 0 : growth);
  const CUresult result = call();
  NoteUseOfPool();
  const bool is_counted = keepers->Settle(keeper);
  if (keeper->counted > before && (keeper->counted - before) % keeper->grain != 0)
    keeper->grain = LargestPowerIn(keeper->counted - before);
  if (is_counted || result != CUDA_SUCCESS) return result;
  // The pool has grown by more than was requested, into memory that others have.
  Call(real::cuMemFreeAsync, *pointer, stream);
  Call(real::cuStreamSynchronize, stream);
  Call(real::cuMemPoolTrimTo, keeper->pool, size_t{0});
  keepers->Look(keeper);
  region().CountRefusal(keeper->row);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

Place PlaceOfStream(CUstream stream) {
  CUcontext context = nullptr;
  if (stream == nullptr || Call(real::cuStreamGetCtx, stream, &context) != CUDA_SUCCESS)
    return PlaceOfThread();
  return PlaceOfContext(context);
}

// Memory that is requested while a graph is recorded is a node of it (graphs.cc).
bool IsCaptured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return Call(real::cuStreamIsCapturing, stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUmemLocation OnDevice(CUdevice device) { return {CU_MEM_LOCATION_TYPE_DEVICE, {device}}; }

// The program has a name for the pool from now on. Managed memory without a device counts on that
// of the thread, as cuMemAllocManaged does.
CUresult Kept(const CUmemLocation& location, CUmemoryPool pool) {
  if (ModeOfProcess() == Mode::kOff || IsOnHost(location.type)) return CUDA_SUCCESS;
  const bool has_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const Place place = has_device ? PlaceOfDevice(location.id) : PlaceOfThread();
  Keepers().Of(place, pool);
  return CUDA_SUCCESS;
}

CUstream OfThread(CUstream stream) { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

template <typename Ask>
CUresult AllocAsync(CUdeviceptr* pointer, uint64_t bytes, CUstream stream, const Ask& call) {
  if (ModeOfProcess() == Mode::kOff || IsCaptured(stream)) return call();
  const Place place = PlaceOfStream(stream);
  if (place.row == Place::kRefused) return CUDA_ERROR_OUT_OF_MEMORY;
  CUmemoryPool pool = nullptr;
  if (!place.counts() || Call(real::cuDeviceGetMemPool, &pool, place.device) != CUDA_SUCCESS)
    return call();
  Keepers keepers;
  return FromPool(&keepers, keepers.Of(place, pool), bytes, pointer, stream, call);
}

template <typename Ask>
CUresult AllocFromPool(CUdeviceptr* pointer, uint64_t bytes, CUmemoryPool pool, CUstream stream,
                       const Ask& call) {
  if (ModeOfProcess() == Mode::kOff || IsCaptured(stream)) return call();
  if (ModeOfProcess() == Mode::kRefuses) return CUDA_ERROR_OUT_OF_MEMORY;
  const Place place = PlaceOfThread();
  CUmemoryPool own = nullptr;
  if (place.counts()) Call(real::cuDeviceGetMemPool, &own, place.device);
  Keepers keepers;
  // A pool that was imported counts in the process that made it.
  Keeper* keeper = pool == own && pool != nullptr ? keepers.Of(place, pool) : keepers.Find(pool);
  return FromPool(&keepers, keeper, bytes, pointer, stream, call);
}

template <typename Real>
CUresult FreeAsync(Real* const& real, CUdeviceptr pointer, CUstream stream) {
  const CUresult result =
      Freed({Handle::kMemory, pointer}, [&] { return Call(real, pointer, stream); });
  NoteFreeToPool();
  return result;
}

template <typename Ask>
CUresult Waited(const Ask& call) {
  const CUresult result = call();
  ShrinkPools();
  return result;
}

}  // namespace
}  // namespace kai::guard

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

KAI_GUARD_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return AllocAsync(pointer, bytes, stream,
                    [&] { return Call(real::cuMemAllocAsync, pointer, bytes, stream); });
}

KAI_GUARD_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, size_t bytes,
                                               CUstream stream) {
  return AllocAsync(pointer, bytes, OfThread(stream),
                    [&] { return Call(real::cuMemAllocAsync_ptsz, pointer, bytes, stream); });
}

KAI_GUARD_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes,
                                                  CUmemoryPool pool, CUstream stream) {
  return AllocFromPool(pointer, bytes, pool, stream, [&] {
    return Call(real::cuMemAllocFromPoolAsync, pointer, bytes, pool, stream);
  });
}

KAI_GUARD_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, size_t bytes,
                                                       CUmemoryPool pool, CUstream stream) {
  return AllocFromPool(pointer, bytes, pool, OfThread(stream), [&] {
    return Call(real::cuMemAllocFromPoolAsync_ptsz, pointer, bytes, pool, stream);
  });
}

KAI_GUARD_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return FreeAsync(real::cuMemFreeAsync, pointer, stream);
}

KAI_GUARD_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return FreeAsync(real::cuMemFreeAsync_ptsz, pointer, stream);
}

KAI_GUARD_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const CUresult result = Call(real::cuMemPoolCreate, pool, properties);
  return result == CUDA_SUCCESS ? Kept(properties->location, *pool) : result;
}

// Pools that programs did not make.

KAI_GUARD_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  const CUresult result = Call(real::cuDeviceGetDefaultMemPool, pool, device);
  return result == CUDA_SUCCESS ? Kept(OnDevice(device), *pool) : result;
}

KAI_GUARD_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  const CUresult result = Call(real::cuDeviceGetMemPool, pool, device);
  return result == CUDA_SUCCESS ? Kept(OnDevice(device), *pool) : result;
}

KAI_GUARD_EXPORT CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                                 CUmemAllocationType type) {
  const CUresult result = Call(real::cuMemGetDefaultMemPool, pool, location, type);
  return result == CUDA_SUCCESS ? Kept(*location, *pool) : result;
}

KAI_GUARD_EXPORT CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                          CUmemAllocationType type) {
  const CUresult result = Call(real::cuMemGetMemPool, pool, location, type);
  return result == CUDA_SUCCESS ? Kept(*location, *pool) : result;
}

KAI_GUARD_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  Keepers keepers;
  Keeper* keeper = keepers.Find(pool);
  return keeper == nullptr ? Call(real::cuMemPoolDestroy, pool) : keepers.Destroy(keeper);
}

KAI_GUARD_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  const CUresult result = Call(real::cuMemPoolTrimTo, pool, keep);
  Keepers keepers;
  if (Keeper* keeper = keepers.Find(pool)) keepers.Look(keeper);
  return result;
}

namespace {

// The answer for a threshold that the program set; null: the driver has it.
cuuint64_t* ThresholdOf(const Keepers& keepers, CUmemoryPool pool, CUmemPool_attribute attribute) {
  if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return nullptr;
  Keeper* keeper = keepers.Find(pool);
  return keeper == nullptr ? nullptr : &keeper->threshold;
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                                void* value) {
  const Keepers keepers;
  cuuint64_t* threshold = ThresholdOf(keepers, pool, attribute);
  if (threshold == nullptr || value == nullptr)
    return Call(real::cuMemPoolSetAttribute, pool, attribute, value);
  *threshold = *static_cast<cuuint64_t*>(value);
  NoteUseOfPool();
  return CUDA_SUCCESS;
}

KAI_GUARD_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                                void* value) {
  const Keepers keepers;
  const cuuint64_t* threshold = ThresholdOf(keepers, pool, attribute);
  if (threshold == nullptr || value == nullptr)
    return Call(real::cuMemPoolGetAttribute, pool, attribute, value);
  *static_cast<cuuint64_t*>(value) = *threshold;
  return CUDA_SUCCESS;
}

// Where the driver makes pools smaller that have more than their threshold.

KAI_GUARD_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  return Waited([&] { return Call(real::cuStreamSynchronize, stream); });
}

KAI_GUARD_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  return Waited([&] { return Call(real::cuStreamSynchronize_ptsz, stream); });
}

KAI_GUARD_EXPORT CUresult cuEventSynchronize(CUevent event) {
  return Waited([&] { return Call(real::cuEventSynchronize, event); });
}

KAI_GUARD_EXPORT CUresult cuCtxSynchronize() {
  return Waited([&] { return Call(real::cuCtxSynchronize); });
}

KAI_GUARD_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context) {
  return Waited([&] { return Call(real::cuCtxSynchronize_v2, context); });
}
