// Each way to get device memory, by the driver's own functions.
#include <stdio.h>
#include <string.h>

#include <iterator>

#include "guard/device/device.h"

namespace kai::device {
namespace {

constexpr uint64_t kPage = 2 * kMib;

uint64_t RoundedUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Writes to memory, so that the card really gives it.
void Touch(uint64_t pointer, uint64_t bytes) {
  Must(cuMemsetD8_v2(pointer, 0x5a, bytes), "cuMemsetD8");
}

CUresult TakeLinear(uint64_t bytes, Taken* taken) {
  CUdeviceptr pointer = 0;
  const CUresult result = cuMemAlloc_v2(&pointer, bytes);
  if (result != CUDA_SUCCESS) return result;
  Touch(pointer, bytes);
  *taken = {bytes, {pointer}};
  return result;
}

void GiveLinear(const Taken& taken) { Must(cuMemFree_v2(taken.handles[0]), "cuMemFree"); }

CUresult TakePitched(uint64_t bytes, Taken* taken) {
  constexpr size_t kWidth = 65536;
  CUdeviceptr pointer = 0;
  size_t pitch = 0;
  const CUresult result = cuMemAllocPitch_v2(&pointer, &pitch, kWidth, bytes / kWidth, 16);
  if (result != CUDA_SUCCESS) return result;
  Touch(pointer, pitch * (bytes / kWidth));
  *taken = {pitch * (bytes / kWidth), {pointer}};
  return result;
}

CUresult TakeManaged(uint64_t bytes, Taken* taken) {
  CUdeviceptr pointer = 0;
  const CUresult result = cuMemAllocManaged(&pointer, bytes, CU_MEM_ATTACH_GLOBAL);
  if (result != CUDA_SUCCESS) return result;
  Touch(pointer, bytes);
  *taken = {bytes, {pointer}};
  return result;
}

CUresult TakeArray(uint64_t bytes, Taken* taken) {
  constexpr size_t kWidth = 4096, kRow = kWidth * 16;
  const CUDA_ARRAY_DESCRIPTOR from = {kWidth, bytes / kRow, CU_AD_FORMAT_FLOAT, 4};
  CUarray array = nullptr;
  const CUresult result = cuArrayCreate_v2(&array, &from);
  if (result == CUDA_SUCCESS) *taken = {bytes, {reinterpret_cast<uint64_t>(array)}};
  return result;
}

CUresult TakeArray3D(uint64_t bytes, Taken* taken) {
  constexpr size_t kSide = 512, kLayer = kSide * kSide * 4;
  const CUDA_ARRAY3D_DESCRIPTOR from = {kSide, kSide, bytes / kLayer, CU_AD_FORMAT_FLOAT, 1, 0};
  CUarray array = nullptr;
  const CUresult result = cuArray3DCreate_v2(&array, &from);
  if (result == CUDA_SUCCESS) *taken = {bytes, {reinterpret_cast<uint64_t>(array)}};
  return result;
}

void GiveArray(const Taken& taken) {
  Must(cuArrayDestroy(reinterpret_cast<CUarray>(taken.handles[0])), "cuArrayDestroy");
}

// The second level has a quarter of the first.
CUresult TakeMipmapped(uint64_t bytes, Taken* taken) {
  constexpr size_t kWidth = 4096, kRow = kWidth * 16;
  const CUDA_ARRAY3D_DESCRIPTOR from = {kWidth, bytes / kRow, 0, CU_AD_FORMAT_FLOAT, 4, 0};
  CUmipmappedArray array = nullptr;
  const CUresult result = cuMipmappedArrayCreate(&array, &from, 2);
  if (result == CUDA_SUCCESS) *taken = {bytes + bytes / 4, {reinterpret_cast<uint64_t>(array)}};
  return result;
}

void GiveMipmapped(const Taken& taken) {
  Must(cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(taken.handles[0])),
       "cuMipmappedArrayDestroy");
}

CUresult TakePhysical(uint64_t bytes, Taken* taken) {
  const uint64_t size = RoundedUp(bytes, kPage);
  CUmemAllocationProp from = {};
  from.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  from.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = cuMemCreate(&handle, size, &from, 0);
  if (result != CUDA_SUCCESS) return result;
  CUdeviceptr address = 0;
  CUmemAccessDesc access = {};
  access.location = from.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Must(cuMemAddressReserve(&address, size, 0, 0, 0), "cuMemAddressReserve");
  Must(cuMemMap(address, size, 0, handle, 0), "cuMemMap");
  Must(cuMemSetAccess(address, size, &access, 1), "cuMemSetAccess");
  Touch(address, size);
  *taken = {size, {handle, address, size}};
  return result;
}

void GivePhysical(const Taken& taken) {
  const auto& [handle, address, size] = taken.handles;
  Synchronize();
  Must(cuMemUnmap(address, size), "cuMemUnmap");
  Must(cuMemRelease(handle), "cuMemRelease");
  Must(cuMemAddressFree(address, size), "cuMemAddressFree");
}

CUresult TakeAsync(uint64_t bytes, Taken* taken) {
  CUdeviceptr pointer = 0;
  const CUresult result = cuMemAllocAsync(&pointer, bytes, nullptr);
  if (result != CUDA_SUCCESS) return result;
  Touch(pointer, bytes);
  *taken = {bytes, {pointer}};
  return result;
}

void GiveAsync(const Taken& taken) {
  Must(cuMemFreeAsync(taken.handles[0], nullptr), "cuMemFreeAsync");
  Must(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
}

CUresult TakeOfOwnPool(uint64_t bytes, Taken* taken) {
  CUmemPoolProps from = {};
  from.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  from.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  Must(cuMemPoolCreate(&pool, &from), "cuMemPoolCreate");
  CUdeviceptr pointer = 0;
  const CUresult result = cuMemAllocFromPoolAsync(&pointer, bytes, pool, nullptr);
  if (result != CUDA_SUCCESS) {
    Must(cuMemPoolDestroy(pool), "cuMemPoolDestroy");
    return result;
  }
  Touch(pointer, bytes);
  *taken = {bytes, {pointer, reinterpret_cast<uint64_t>(pool)}};
  return result;
}

void GiveOfOwnPool(const Taken& taken) {
  GiveAsync(taken);
  Must(cuMemPoolDestroy(reinterpret_cast<CUmemoryPool>(taken.handles[1])), "cuMemPoolDestroy");
}

// The graph gives its memory back at its end, but the driver keeps it for the next launch.
CUresult TakeOfGraph(uint64_t bytes, Taken* taken) {
  CUDA_MEM_ALLOC_NODE_PARAMS asked = {};
  asked.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  asked.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  asked.bytesize = bytes;
  CUgraph graph = nullptr;
  CUgraphNode allocation = nullptr, end = nullptr;
  CUgraphExec exec = nullptr;
  Must(cuGraphCreate(&graph, 0), "cuGraphCreate");
  Must(cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &asked), "cuGraphAddMemAllocNode");
  Must(cuGraphAddMemFreeNode(&end, graph, &allocation, 1, asked.dptr), "cuGraphAddMemFreeNode");
  CUresult result = cuGraphInstantiateWithFlags(&exec, graph, 0);
  if (result == CUDA_SUCCESS) {
    result = cuGraphLaunch(exec, nullptr);
    if (result != CUDA_SUCCESS) Must(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  }
  Must(cuGraphDestroy(graph), "cuGraphDestroy");
  if (result != CUDA_SUCCESS) return result;
  Must(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  *taken = {bytes, {reinterpret_cast<uint64_t>(exec)}};
  return result;
}

void GiveOfGraph(const Taken& taken) {
  Must(cuGraphExecDestroy(reinterpret_cast<CUgraphExec>(taken.handles[0])), "cuGraphExecDestroy");
  Must(cuDeviceGraphMemTrim(0), "cuDeviceGraphMemTrim");
}

// Code of a few lines with a variable of this size.
CUresult TakeModule(uint64_t bytes, Taken* taken) {
  char text[256];
  snprintf(text, sizeof(text),
           ".version 6.3\n.target sm_50\n.address_size 64\n"
           ".visible .global .align 8 .b8 kai_variable[%llu];\n",
           static_cast<unsigned long long>(bytes));
  CUmodule module = nullptr;
  const CUresult result = cuModuleLoadData(&module, text);
  if (result == CUDA_SUCCESS) *taken = {bytes, {reinterpret_cast<uint64_t>(module)}};
  return result;
}

void GiveModule(const Taken& taken) {
  Must(cuModuleUnload(reinterpret_cast<CUmodule>(taken.handles[0])), "cuModuleUnload");
}

CUresult RaiseLimit(CUlimit limit, uint64_t by, uint64_t bytes, Taken* taken) {
  size_t before = 0;
  Must(cuCtxGetLimit(&before, limit), "cuCtxGetLimit");
  const CUresult result = cuCtxSetLimit(limit, before + by);
  if (result == CUDA_SUCCESS) *taken = {bytes, {uint64_t{limit}, before}};
  return result;
}

void LowerLimit(const Taken& taken) {
  const auto limit = static_cast<CUlimit>(taken.handles[0]);
  Must(cuCtxSetLimit(limit, taken.handles[1]), "cuCtxSetLimit");
}

CUresult TakeHeap(uint64_t bytes, Taken* taken) {
  return RaiseLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes, bytes, taken);
}

CUresult TakePrintf(uint64_t bytes, Taken* taken) {
  return RaiseLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes, bytes, taken);
}

// Each thread that the device can have at once gets so much more.
CUresult TakeStack(uint64_t bytes, Taken* taken) {
  int processors = 0, threads = 0;
  Must(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
       "cuDeviceGetAttribute");
  Must(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0),
       "cuDeviceGetAttribute");
  const uint64_t all = static_cast<uint64_t>(processors) * static_cast<uint64_t>(threads);
  const uint64_t each = RoundedUp(RoundedUp(bytes, all) / all, 16);
  return RaiseLimit(CU_LIMIT_STACK_SIZE, each, each * all, taken);
}

CUresult TakeContext(uint64_t, Taken* taken) {
  CUcontext made = nullptr, popped = nullptr;
  const CUresult result = cuCtxCreate_v2(&made, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  Must(cuCtxPopCurrent_v2(&popped), "cuCtxPopCurrent");
  *taken = {0, {reinterpret_cast<uint64_t>(made)}};
  return result;
}

void GiveContext(const Taken& taken) {
  Must(cuCtxDestroy_v2(reinterpret_cast<CUcontext>(taken.handles[0])), "cuCtxDestroy");
}

}  // namespace

const Family kFamilies[] = {
    {"linear", true, true, TakeLinear, GiveLinear},
    {"pitched", true, true, TakePitched, GiveLinear},
    {"managed", false, true, TakeManaged, GiveLinear},
    {"array", true, true, TakeArray, GiveArray},
    {"array of three dimensions", true, true, TakeArray3D, GiveArray},
    {"mipmapped array", true, true, TakeMipmapped, GiveMipmapped},
    {"physical", true, true, TakePhysical, GivePhysical},
    {"pool of the device", true, true, TakeAsync, GiveAsync},
    {"own pool", true, true, TakeOfOwnPool, GiveOfOwnPool},
    {"graph", true, false, TakeOfGraph, GiveOfGraph},
    {"variable of a module", false, true, TakeModule, GiveModule},
    {"heap of kernels", false, true, TakeHeap, LowerLimit},
    {"printf of kernels", false, true, TakePrintf, LowerLimit},
    {"stack of kernels", false, true, TakeStack, LowerLimit},
    {"second context", false, true, TakeContext, GiveContext},
};
const int kFamilyCount = static_cast<int>(std::size(kFamilies));

}  // namespace kai::device
