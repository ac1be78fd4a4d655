// A program of CUDA's runtime, which is linked statically, as frameworks have it: allocations of
// each kind up to the share, the runtime's own error beyond it, and kernels that use the memory.
//
//   kai_guard_runtime
//
// Prints one object of JSON. Exit status 1 if an answer was wrong.
#include <cuda_runtime.h>
#include <stdio.h>

#include <algorithm>
#include <vector>

namespace {

constexpr size_t kMib = size_t{1} << 20;
int wrong = 0;

void Expect(cudaError_t got, cudaError_t expected, const char* what) {
  if (got == expected) return;
  ++wrong;
  fprintf(stderr, "%s: %s, and not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

void Works(cudaError_t got, const char* what) { Expect(got, cudaSuccess, what); }

__global__ void Add(float* values, int count, float value) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at < count) values[at] += value;
}

size_t Free() {
  size_t free = 0, total = 0;
  Works(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

// Blocks of this size until one is refused.
template <typename Allocate>
std::vector<float*> FillWith(size_t bytes, const Allocate& allocate, cudaError_t* answer) {
  std::vector<float*> blocks;
  float* block = nullptr;
  while ((*answer = allocate(&block, bytes)) == cudaSuccess) blocks.push_back(block);
  cudaGetLastError();  // the next call does not see it
  return blocks;
}

// Each value of the block is 3 after this.
bool Computes(float* block, int count, cudaStream_t stream) {
  Works(cudaMemsetAsync(block, 0, sizeof(float) * count, stream), "cudaMemsetAsync");
  for (int i = 0; i < 3; ++i) Add<<<(count + 255) / 256, 256, 0, stream>>>(block, count, 1.0F);
  Works(cudaGetLastError(), "launch");
  float last = 0;
  Works(cudaMemcpyAsync(&last, block + count - 1, sizeof(last), cudaMemcpyDefault, stream), "copy");
  Works(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return last == 3.0F;
}

void CheckLinear(size_t block_bytes, cudaStream_t stream) {
  cudaError_t answer = cudaSuccess;
  const auto linear = [](float** block, size_t bytes) { return cudaMalloc(block, bytes); };
  std::vector<float*> blocks = FillWith(block_bytes, linear, &answer);
  Expect(answer, cudaErrorMemoryAllocation, "cudaMalloc beyond the share");
  if (blocks.empty()) return;
  Works(cudaFree(blocks.back()), "cudaFree");
  blocks.pop_back();
  float* again = nullptr;
  Works(cudaMalloc(&again, block_bytes), "cudaMalloc after a free");
  if (!Computes(again, 1 << 20, stream)) ++wrong;
  Works(cudaFree(again), "cudaFree");
  for (float* block : blocks) Works(cudaFree(block), "cudaFree");
}

void CheckAsync(size_t block_bytes, cudaStream_t stream) {
  cudaError_t answer = cudaSuccess;
  const auto async = [&](float** block, size_t bytes) {
    return cudaMallocAsync(block, bytes, stream);
  };
  std::vector<float*> blocks = FillWith(block_bytes, async, &answer);
  Expect(answer, cudaErrorMemoryAllocation, "cudaMallocAsync beyond the share");
  for (float* block : blocks) Works(cudaFreeAsync(block, stream), "cudaFreeAsync");
  Works(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void CheckOthers(cudaStream_t stream) {
  float* managed = nullptr;
  Works(cudaMallocManaged(&managed, 16 * kMib), "cudaMallocManaged");
  if (managed != nullptr && !Computes(managed, 1 << 20, stream)) ++wrong;
  Works(cudaFree(managed), "cudaFree");
  float* pitched = nullptr;
  size_t pitch = 0;
  Works(cudaMallocPitch(&pitched, &pitch, 5000, 1000), "cudaMallocPitch");
  Works(cudaFree(pitched), "cudaFree");
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  Works(cudaMallocArray(&array, &format, 1024, 1024), "cudaMallocArray");
  Works(cudaFreeArray(array), "cudaFreeArray");
  cudaMipmappedArray_t levels = nullptr;
  Works(cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(512, 512, 0), 4),
        "cudaMallocMipmappedArray");
  Works(cudaFreeMipmappedArray(levels), "cudaFreeMipmappedArray");
}

// A recorded graph that allocates, computes and frees, launched again and again.
void CheckGraph(cudaStream_t stream) {
  constexpr int kCount = 1 << 20;
  float *result = nullptr, *scratch = nullptr;
  Works(cudaMalloc(&result, kCount * sizeof(float)), "cudaMalloc");
  Works(cudaMemset(result, 0, kCount * sizeof(float)), "cudaMemset");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  Works(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  Works(cudaMallocAsync(&scratch, 32 * kMib, stream), "cudaMallocAsync");
  Works(cudaMemsetAsync(scratch, 0, 32 * kMib, stream), "cudaMemsetAsync");
  Add<<<kCount / 256, 256, 0, stream>>>(result, kCount, 1.0F);
  Works(cudaFreeAsync(scratch, stream), "cudaFreeAsync");
  Works(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  Works(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < 100; ++i) Works(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  float last = 0;
  Works(cudaMemcpyAsync(&last, result + kCount - 1, sizeof(last), cudaMemcpyDefault, stream),
        "copy");
  Works(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  if (last != 100.0F) ++wrong;
  Works(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  Works(cudaGraphDestroy(graph), "cudaGraphDestroy");
  Works(cudaFree(result), "cudaFree");
  Works(cudaDeviceGraphMemTrim(0), "cudaDeviceGraphMemTrim");
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  cudaDeviceProp device = {};
  Works(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  Works(cudaStreamCreate(&stream), "cudaStreamCreate");
  size_t free = 0, total = 0;
  Works(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (wrong == 0) {
    const size_t block = std::max(total / 128 / kMib, size_t{2}) * kMib;
    CheckLinear(block, stream);
    CheckAsync(block, stream);
    CheckOthers(stream);
    CheckGraph(stream);
  }
  const long long left =
      wrong == 0 ? static_cast<long long>(free) - static_cast<long long>(Free()) : 0;
  printf(
      "{\"total\": %zu, \"total_of_device\": %zu, \"free\": %zu, \"left\": %lld, \"wrong\": %d}\n",
      total, device.totalGlobalMem, free, left, wrong);
  return wrong == 0 ? 0 : 1;
}
