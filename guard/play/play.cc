// A program that uses the driver at random, as many such programs do at once in tests/guard.
//
//   kai_guard_play SEED SECONDS [THREADS]
//
// Each thread asks for memory of all kinds and gives it back, through names found in all ways that
// programs have. A refusal is right, any other failure is not. Then the program prints "holding"
// and waits for a line; at the end it gives all back and prints how many calls were made and
// refused. Exit status 1 if a call failed.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <random>
#include <vector>

#include "guard/driver/cuda.h"

namespace {

template <typename Function>
Function* Find(const char* symbol) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    fprintf(stderr, "there is no driver: %s\n", dlerror());
    exit(2);
  }
#ifdef KAI_GUARD_WITHOUT_DLSYM
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, symbol));  // the guard is in this program
#else
  return reinterpret_cast<Function*>(dlsym(library, symbol));
#endif
}

#define FIND(symbol) Find<decltype(::symbol)>(#symbol)

std::atomic<int64_t> calls{0}, refusals{0}, failures{0};

bool Works(CUresult result, const char* what) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) refusals.fetch_add(1, std::memory_order_relaxed);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY) {
    failures.fetch_add(1, std::memory_order_relaxed);
    fprintf(stderr, "%s answered %d\n", what, result);
  }
  return result == CUDA_SUCCESS;
}

constexpr size_t kMost = size_t{8} << 20;
constexpr size_t kPage = size_t{2} << 20;

class Player {
 public:
  Player(unsigned int seed, CUcontext context) : random_(seed) {
    FIND(cuCtxPushCurrent_v2)(context);
    Works(FIND(cuStreamCreate)(&stream_, 0), "cuStreamCreate");
    void* found = nullptr;
    if (FIND(cuGetProcAddress_v2)("cuMemAlloc", &found, 12000, 0, nullptr) == CUDA_SUCCESS)
      alloc_ = reinterpret_cast<decltype(::cuMemAlloc_v2)*>(found);
  }

  void Step() {
    switch (Below(9)) {
      case 0:
      case 1:
        return Allocate();
      case 2:
        return AllocateAsync();
      case 3:
        return MakeArray();
      case 4:
        return MakePhysical();
      case 5:
        return Wait();
      default:
        return GiveOne();
    }
  }

  void Wait() { Works(FIND(cuStreamSynchronize)(stream_), "cuStreamSynchronize"); }

  void GiveAll() {
    while (!held_.empty()) GiveOne();
    Wait();
  }

 private:
  enum class Kind : uint8_t { kLinear, kAsync, kArray, kPhysical };
  struct Held {
    Kind kind;
    uint64_t value;
  };

  size_t Below(size_t bound) { return random_() % bound; }

  void Allocate() {
    CUdeviceptr pointer = 0;
    if (Works(alloc_(&pointer, 1 + Below(kMost)), "cuMemAlloc"))
      held_.push_back({Kind::kLinear, pointer});
  }

  void AllocateAsync() {
    CUdeviceptr pointer = 0;
    if (Works(FIND(cuMemAllocAsync)(&pointer, 1 + Below(kMost), stream_), "cuMemAllocAsync"))
      held_.push_back({Kind::kAsync, pointer});
  }

  void MakeArray() {
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR from = {1 + Below(1024), 1 + Below(1024), CU_AD_FORMAT_FLOAT, 4};
    if (Works(FIND(cuArrayCreate_v2)(&array, &from), "cuArrayCreate"))
      held_.push_back({Kind::kArray, reinterpret_cast<uint64_t>(array)});
  }

  void MakePhysical() {
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp from = {};
    from.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    from.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    if (Works(FIND(cuMemCreate)(&handle, kPage * (1 + Below(4)), &from, 0), "cuMemCreate"))
      held_.push_back({Kind::kPhysical, handle});
  }

  void GiveOne() {
    if (held_.empty()) return;
    const size_t at = Below(held_.size());
    const Held given = held_[at];
    held_[at] = held_.back();
    held_.pop_back();
    switch (given.kind) {
      case Kind::kLinear:
        Works(FIND(cuMemFree_v2)(given.value), "cuMemFree");
        break;
      case Kind::kAsync:
        Works(FIND(cuMemFreeAsync)(given.value, stream_), "cuMemFreeAsync");
        break;
      case Kind::kArray:
        Works(FIND(cuArrayDestroy)(reinterpret_cast<CUarray>(given.value)), "cuArrayDestroy");
        break;
      case Kind::kPhysical:
        Works(FIND(cuMemRelease)(given.value), "cuMemRelease");
        break;
    }
  }

  std::mt19937 random_;
  CUstream stream_ = nullptr;
  decltype(::cuMemAlloc_v2)* alloc_ = nullptr;
  std::vector<Held> held_;
};

struct Part {
  unsigned int seed;
  double seconds;
  CUcontext context;
};

pthread_barrier_t all_hold, may_go_on;

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void* Play(void* data) {
  const auto* part = static_cast<Part*>(data);
  Player player(part->seed, part->context);
  const double end = Now() + part->seconds;
  while (Now() < end) player.Step();
  pthread_barrier_wait(&all_hold);
  player.Wait();
  pthread_barrier_wait(&all_hold);
  pthread_barrier_wait(&may_go_on);
  player.GiveAll();
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: kai_guard_play SEED SECONDS [THREADS]\n");
    return 2;
  }
  const auto seed = static_cast<unsigned int>(atoi(arguments[1]));
  const double seconds = atof(arguments[2]);
  const int threads = count > 3 ? atoi(arguments[3]) : 1;
  CUcontext context = nullptr;
  if (!Works(FIND(cuInit)(0), "cuInit")) return 1;
  if (!Works(FIND(cuDevicePrimaryCtxRetain)(&context, 0), "cuDevicePrimaryCtxRetain")) {
    printf("0 calls, 1 refused\n");
    return failures.load() == 0 ? 0 : 1;
  }
  std::vector<Part> parts;
  parts.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i)
    parts.push_back({seed * 1000 + static_cast<unsigned int>(i), seconds, context});
  std::vector<pthread_t> ids(parts.size());
  const auto members = static_cast<unsigned int>(threads) + 1;
  pthread_barrier_init(&all_hold, nullptr, members);
  pthread_barrier_init(&may_go_on, nullptr, members);
  for (size_t i = 0; i < parts.size(); ++i) pthread_create(&ids[i], nullptr, Play, &parts[i]);
  pthread_barrier_wait(&all_hold);
  pthread_barrier_wait(&all_hold);
  printf("holding\n");
  fflush(stdout);
  getchar();
  pthread_barrier_wait(&may_go_on);
  for (const pthread_t id : ids) pthread_join(id, nullptr);
  Works(FIND(cuDevicePrimaryCtxRelease_v2)(0), "cuDevicePrimaryCtxRelease");
  printf("%ld calls, %ld refused\n", calls.load(), refusals.load());
  return failures.load() == 0 ? 0 : 1;
}
