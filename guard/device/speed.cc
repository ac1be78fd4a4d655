// How long launches, allocations, the replay of a graph and a loop of all of them take.
#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "guard/device/device.h"

namespace kai::device {
namespace {

constexpr int kRounds = 5;
constexpr long long kSpinNs = 10000;
constexpr int kNodes = 20;  // of the graph

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Microseconds for each of `count`, in the fastest of the rounds.
template <typename Work>
double Fastest(int count, const Work& work) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    Synchronize();
    const double start = Now();
    work(std::max(1, count / kRounds));
    Synchronize();
    best = std::min(best, (Now() - start) / std::max(1, count / kRounds) * 1e6);
  }
  return best;
}

void Launch(CUfunction kernel, long long ns, CUstream stream) {
  void* parameters[] = {&ns};
  Must(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
}

void AllocateLinear(int count, size_t bytes) {
  for (int i = 0; i < count; ++i) {
    CUdeviceptr pointer = 0;
    Must(cuMemAlloc_v2(&pointer, bytes), "cuMemAlloc");
    Must(cuMemFree_v2(pointer), "cuMemFree");
  }
}

void AllocateAsync(int count, size_t bytes, CUstream stream) {
  for (int i = 0; i < count; ++i) {
    CUdeviceptr pointer = 0;
    Must(cuMemAllocAsync(&pointer, bytes, stream), "cuMemAllocAsync");
    Must(cuMemFreeAsync(pointer, stream), "cuMemFreeAsync");
  }
}

CUgraphExec RecordedGraph(CUfunction kernel, CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  Must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  for (int i = 0; i < kNodes; ++i) Launch(kernel, kSpinNs, stream);
  Must(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  Must(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  return exec;
}

// A step of a training loop: memory for what the step computes, kernels, and a wait at its end.
void Step(CUfunction kernel, CUstream stream) {
  CUdeviceptr blocks[4] = {};
  for (size_t i = 0; i < std::size(blocks); ++i) {
    Must(cuMemAllocAsync(&blocks[i], (i + 1) * kMib, stream), "cuMemAllocAsync");
    for (int j = 0; j < 25; ++j) Launch(kernel, kSpinNs, stream);
  }
  for (const CUdeviceptr block : blocks) Must(cuMemFreeAsync(block, stream), "cuMemFreeAsync");
  Must(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

}  // namespace

int Speed(const char* image, int launches) {
  std::ifstream file(image, std::ios::binary);
  std::vector<char> code((std::istreambuf_iterator<char>(file)), {});
  if (code.empty()) {
    fprintf(stderr, "%s: cannot be read\n", image);
    return 3;
  }
  code.push_back('\0');
  Start();
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  Must(cuModuleLoadData(&module, code.data()), "cuModuleLoadData");
  Must(cuModuleGetFunction(&kernel, module, "spin"), "cuModuleGetFunction");
  Must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  const auto launch = [&](int count, long long ns) {
    for (int i = 0; i < count; ++i) Launch(kernel, ns, stream);
  };
  launch(100, kSpinNs);
  const double kernels = Fastest(launches, [&](int count) { launch(count, kSpinNs); });
  const double empty = Fastest(launches / 5, [&](int count) { launch(count, 0); });
  const int some = std::max(kRounds, launches / 50);
  const double page = Fastest(some, [](int count) { AllocateLinear(count, 2 * kMib); });
  const double small = Fastest(some, [](int count) { AllocateLinear(count, 4096); });
  AllocateAsync(1, 2 * kMib, stream);
  const double async = Fastest(some, [&](int count) { AllocateAsync(count, 2 * kMib, stream); });
  const double info = Fastest(some, [](int count) {
    for (int i = 0; i < count; ++i) MemoryNow();
  });
  CUgraphExec graph = RecordedGraph(kernel, stream);
  const double replay = Fastest(some, [&](int count) {
    for (int i = 0; i < count; ++i) Must(cuGraphLaunch(graph, stream), "cuGraphLaunch");
  });
  const double step = Fastest(std::max(kRounds, some / 10), [&](int count) {
    for (int i = 0; i < count; ++i) Step(kernel, stream);
  });
  Must(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
  printf(
      "{\"kernel_us\": %.4f, \"empty_kernel_us\": %.4f, \"alloc_page_us\": %.4f, "
      "\"alloc_small_us\": %.4f, \"alloc_async_us\": %.4f, \"mem_info_us\": %.4f, "
      "\"graph_us\": %.4f, \"loop_us\": %.4f}\n",
      kernels, empty, page, small, async, info, replay, step);
  return 0;
}

}  // namespace kai::device
