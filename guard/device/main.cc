// The program that check.py runs on a machine with a GPU, with and without the guard.
//
//   kai_guard_device each [MIB]        a line for each family: what it takes, and its refusals
//   kai_guard_device fill SEED [NAME]  takes all, at random or of one family
//   kai_guard_device churn             takes a quarter and gives it back, until it is killed
//   kai_guard_device ipc [MIB]         opens memory of another process
//   kai_guard_device speed IMAGE [N]   how long launches, allocations and graphs take (spin.cu)
//
// Prints JSON, one object a line. `fill` begins when it reads a line, and holds what it has until
// it reads another one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <vector>

#include "guard/device/device.h"

namespace kai::device {

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s answered %d\n", what, result);
  exit(3);
}

CUcontext Start() {
  CUcontext context = nullptr;
  Must(cuInit(0), "cuInit");
  Must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  Must(cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
  return context;
}

Memory MemoryNow() {
  size_t free = 0, total = 0;
  Must(cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  return {free, total};
}

void Synchronize() { Must(cuCtxSynchronize(), "cuCtxSynchronize"); }

void WaitForLine() {
  fflush(stdout);
  for (int c = getchar(); c != '\n' && c != EOF; c = getchar()) {
  }
}

namespace {

int64_t Difference(uint64_t after, uint64_t before) {
  return static_cast<int64_t>(after) - static_cast<int64_t>(before);
}

// What the family answers when less than `bytes` is left. Answers and gives back.
CUresult Answer(const Family& family, uint64_t bytes) {
  Taken taken;
  const CUresult result = family.take(bytes, &taken);
  if (result == CUDA_SUCCESS) family.give(taken);
  return result;
}

void PrintRow(const Family& family, uint64_t bytes) {
  const uint64_t before = MemoryNow().used();
  Taken taken;
  const CUresult result = family.take(bytes, &taken);
  int64_t took = 0, left = 0;
  if (result == CUDA_SUCCESS) {
    took = Difference(MemoryNow().used(), before);
    family.give(taken);
    Synchronize();
    left = Difference(MemoryNow().used(), before);
  }
  // Then all but three quarters of such a request is taken.
  const uint64_t free = MemoryNow().free, rest = bytes / 4 * 3;
  int full = -1, smaller = -1;  // not known: a bare card may have its free memory in pieces
  CUdeviceptr filler = 0;
  if (free > rest && cuMemAlloc_v2(&filler, free - rest) == CUDA_SUCCESS) {
    full = Answer(family, bytes);
    smaller = Answer(family, bytes / 8);
    Must(cuMemFree_v2(filler), "cuMemFree");
  }
  printf(
      "{\"family\": \"%s\", \"answer\": %d, \"asked\": %llu, \"took\": %lld, \"left\": %lld, "
      "\"full\": %d, \"smaller\": %d}\n",
      family.name, result, static_cast<unsigned long long>(taken.bytes),
      static_cast<long long>(took), static_cast<long long>(left), full, smaller);
  fflush(stdout);
}

struct Held {
  const Family* family;
  Taken taken;
};

}  // namespace

int Each(uint64_t bytes) {
  Start();
  size_t of_device = 0;
  Must(cuDeviceTotalMem_v2(&of_device, 0), "cuDeviceTotalMem");
  const Memory memory = MemoryNow();
  printf("{\"total\": %llu, \"total_of_device\": %zu, \"free\": %llu}\n",
         static_cast<unsigned long long>(memory.total), of_device,
         static_cast<unsigned long long>(memory.free));
  for (int i = 0; i < kFamilyCount; ++i) PrintRow(kFamilies[i], bytes);
  return 0;
}

int Fill(unsigned int seed, const char* only) {
  Start();
  std::mt19937 random(seed);
  const Memory start = MemoryNow();
  printf("{\"ready\": true}\n");
  WaitForLine();
  const uint64_t most = start.total / 512 / kMib;  // of one block, in MiB
  std::vector<const Family*> open;                 // those that have not been refused
  for (int i = 0; i < kFamilyCount; ++i) {
    const bool is_chosen = only == nullptr || strcmp(only, kFamilies[i].name) == 0;
    if (kFamilies[i].fills_card && is_chosen) open.push_back(&kFamilies[i]);
  }
  std::vector<Held> held;
  uint64_t bytes = 0;
  int refusals = 0, other = 0;
  while (!open.empty()) {
    const size_t at = random() % open.size();
    uint64_t size = 2 * kMib * (1 + random() % (most / 2 + 1));
    Taken taken;
    CUresult result = open[at]->take(size, &taken);
    for (; result == CUDA_ERROR_OUT_OF_MEMORY && size > 2 * kMib; ++refusals) {
      size = (size / 2 + 2 * kMib - 1) / (2 * kMib) * (2 * kMib);
      result = open[at]->take(size, &taken);
    }
    if (result == CUDA_SUCCESS) {
      if (open[at]->keeps) bytes += taken.bytes;
      held.push_back({open[at], taken});
      continue;
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      ++refusals;
    } else {
      other = result;
    }
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const Memory full = MemoryNow();
  printf(
      "{\"held\": %llu, \"blocks\": %zu, \"refusals\": %d, \"other\": %d, \"free\": %llu, "
      "\"total\": %llu}\n",
      static_cast<unsigned long long>(bytes), held.size(), refusals, other,
      static_cast<unsigned long long>(full.free), static_cast<unsigned long long>(full.total));
  WaitForLine();
  for (const Held& each : held) each.family->give(each.taken);
  Synchronize();
  printf("{\"left\": %lld}\n",
         static_cast<long long>(Difference(MemoryNow().used(), start.used())));
  return 0;
}

int Churn() {
  Start();
  const uint64_t quarter = MemoryNow().total / 4;
  printf("{\"ready\": true}\n");
  WaitForLine();
  for (;;) {
    Taken taken;
    Must(kFamilies[0].take(quarter, &taken), "cuMemAlloc");
    kFamilies[0].give(taken);
  }
}

// The parent has the memory, and its child, which has a context of its own, opens it.
int Ipc(uint64_t bytes) {
  int pipes[2];
  if (pipe(pipes) != 0) return 3;
  const pid_t child = fork();
  if (child == 0) {
    CUipcMemHandle handle = {};
    CUdeviceptr opened = 0;
    Start();
    if (read(pipes[0], &handle, sizeof(handle)) != sizeof(handle)) return 3;
    const uint64_t before = MemoryNow().used();
    Must(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
         "cuIpcOpenMemHandle");
    printf("{\"family\": \"memory of another process\", \"took\": %lld}\n",
           static_cast<long long>(Difference(MemoryNow().used(), before)));
    Must(cuIpcCloseMemHandle(opened), "cuIpcCloseMemHandle");
    return 0;
  }
  Start();
  CUdeviceptr pointer = 0;
  CUipcMemHandle handle = {};
  Must(cuMemAlloc_v2(&pointer, bytes), "cuMemAlloc");
  Must(cuIpcGetMemHandle(&handle, pointer), "cuIpcGetMemHandle");
  if (write(pipes[1], &handle, sizeof(handle)) != sizeof(handle)) return 3;
  int status = 0;
  waitpid(child, &status, 0);
  Must(cuMemFree_v2(pointer), "cuMemFree");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

}  // namespace kai::device

int main(int count, char** arguments) {
  using namespace kai::device;  // NOLINT: the commands
  const char* command = count > 1 ? arguments[1] : "";
  const char* first = count > 2 ? arguments[2] : nullptr;
  const char* second = count > 3 ? arguments[3] : nullptr;
  const auto number = [](const char* text, int otherwise) {
    return text == nullptr ? otherwise : atoi(text);
  };
  if (strcmp(command, "each") == 0) return Each(static_cast<uint64_t>(number(first, 64)) * kMib);
  if (strcmp(command, "fill") == 0)
    return Fill(static_cast<unsigned int>(number(first, 1)), second);
  if (strcmp(command, "churn") == 0) return Churn();
  if (strcmp(command, "ipc") == 0) return Ipc(static_cast<uint64_t>(number(first, 64)) * kMib);
  if (strcmp(command, "speed") == 0 && first != nullptr) return Speed(first, number(second, 1000));
  fprintf(stderr, "usage: kai_guard_device each|fill|churn|ipc|speed [...]\n");
  return 2;
}
