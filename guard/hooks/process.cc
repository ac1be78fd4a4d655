#include "guard/hooks/process.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guard/hooks/settings.h"

namespace kai::guard {
namespace {

constexpr int kMostOrdinals = 64;
constexpr int kUnknownRow = -3;
constexpr int kMostParts = 8;  // that register themselves

Region the_region;
Holdings the_holdings;
Settings settings;
std::atomic<int> state{-1};  // a Mode; -1: not joined yet
Mutex joining;
std::atomic<int> rows[kMostOrdinals];  // by ordinal; kUnknownRow: not looked at yet
void (*reliefs[kMostParts])(int row);
int relief_count = 0;
void (*forgets[kMostParts])();
int forget_count = 0;
std::atomic<uint64_t> contexts_forgotten{0};

// The last context of the thread.
thread_local CUcontext last_context = nullptr;
thread_local uint64_t last_number = 0;  // of the context that has its memory
thread_local uint64_t last_forgotten = 0;
thread_local int last_row = kUnknownRow;
thread_local CUdevice last_device = -1;

void ForgetRows() {
  for (std::atomic<int>& row : rows) row.store(kUnknownRow, std::memory_order_relaxed);
}

// Other threads of the parent may have held any lock.
void InForkedChild() {
  the_region.Forget();
  the_holdings.Forget();
  joining.Reset();
  ForgetRows();
  ForgetContexts();
  for (int i = 0; i < forget_count; ++i) forgets[i]();
  state.store(-1, std::memory_order_relaxed);
}

Mode Join() {
  const char* wrong = ReadSettings(&settings);
  const bool has_limit = settings.limit.kind != Limit::Kind::kNone || settings.special_count > 0;
  if (wrong == nullptr && settings.region == nullptr) {
    if (!has_limit) return Mode::kOff;
    wrong = "KAI_GUARD_REGION is missing: a limit needs the file in which the pod counts";
  }
  const char* file = nullptr;
  if (wrong == nullptr) {
    file = settings.region;
    wrong = the_region.Attach(file);
  }
  if (wrong == nullptr) return Mode::kCounts;
  static Once once;
  Say(&once, wrong, file);
  return Mode::kRefuses;
}

// Where the driver answers the guard's question with an error: if it refuses what the program asks
// for too, for the same reason, the program gets that answer; else nothing is given uncounted.
int RowWithout(CUresult answer) {
  switch (answer) {
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_NO_DEVICE:
      return Place::kNowhere;
    default:
      return Place::kRefused;
  }
}

// The second form of the function has the UUID of a MIG instance, where the first has that of its
// GPU.
int LookUpRow(CUdevice device) {
  CUuuid found, of_gpu;
  CUresult result = Call(real::cuDeviceGetUuid_v2, &found, device);
  const bool has_gpu = Call(real::cuDeviceGetUuid, &of_gpu, device) == CUDA_SUCCESS;
  if (result != CUDA_SUCCESS && has_gpu) {
    found = of_gpu;
    result = CUDA_SUCCESS;
  }
  const bool is_mig = has_gpu && memcmp(found.bytes, of_gpu.bytes, sizeof(found.bytes)) != 0;
  size_t total = 0;
  if (result == CUDA_SUCCESS) result = Call(real::cuDeviceTotalMem_v2, &total, device);
  if (result != CUDA_SUCCESS) return RowWithout(result);
  Uuid uuid;
  memcpy(uuid.words.data(), found.bytes, sizeof(found.bytes));
  const int row = the_region.RowOf(uuid, total, LimitOfDevice(uuid, total), is_mig);
  if (row >= 0) return row;
  static Once once;
  Say(&once, "the file of the pod is damaged or has no row left for a device", settings.region);
  return Place::kRefused;
}

__attribute__((constructor)) void Prepare() {
  ForgetRows();
  pthread_atfork(nullptr, nullptr, InForkedChild);
}

}  // namespace

Mode ModeOfProcess() {
  int mode = state.load(std::memory_order_acquire);
  if (mode >= 0) return static_cast<Mode>(mode);
  if (!LoadDriver()) return Mode::kOff;
  const Locked locked(&joining);
  mode = state.load(std::memory_order_relaxed);
  if (mode < 0) {
    mode = static_cast<int>(Join());
    state.store(mode, std::memory_order_release);
  }
  return static_cast<Mode>(mode);
}

Place PlaceOfDevice(CUdevice device) {
  switch (ModeOfProcess()) {
    case Mode::kOff:
      return {};
    case Mode::kRefuses:
      return {Place::kRefused, 0, device};
    case Mode::kCounts:
      break;
  }
  if (device < 0 || device >= kMostOrdinals) return {};
  int row = rows[device].load(std::memory_order_relaxed);
  if (row == kUnknownRow) {
    row = LookUpRow(device);
    if (row >= 0) rows[device].store(row, std::memory_order_relaxed);
  }
  return {row, 0, device};
}

Place PlaceOfContext(CUcontext context) {
  if (context == nullptr || ModeOfProcess() == Mode::kOff) return {};
  const uint64_t forgotten = contexts_forgotten.load(std::memory_order_relaxed);
  if (context != last_context || forgotten != last_forgotten || last_row == kUnknownRow) {
    CUcontext current = nullptr;
    CUdevice device = -1;
    Call(real::cuCtxGetCurrent, &current);
    const bool is_other = current != context;
    if (is_other && Call(real::cuCtxPushCurrent_v2, context) != CUDA_SUCCESS) return {};
    const CUresult result = Call(real::cuCtxGetDevice, &device);
    if (is_other) Call(real::cuCtxPopCurrent_v2, &current);
    if (result != CUDA_SUCCESS) return {RowWithout(result)};
    last_row = PlaceOfDevice(device).row;
    last_device = device;
    last_context = context;
    last_number = reinterpret_cast<uint64_t>(context);
    Holding green;
    if (the_holdings.Find({Handle::kGreen, last_number}, &green)) last_number = green.context;
    last_forgotten = forgotten;
  }
  return {last_row, last_number, last_device};
}

Place PlaceOfThread() {
  if (ModeOfProcess() == Mode::kOff) return {};
  CUcontext context = nullptr;
  const CUresult result = Call(real::cuCtxGetCurrent, &context);
  if (result != CUDA_SUCCESS) return {RowWithout(result)};
  return PlaceOfContext(context);
}

void ForgetContexts() { contexts_forgotten.fetch_add(1, std::memory_order_relaxed); }

bool Reserve(Place place, uint64_t bytes) {
  if (place.row == Place::kRefused) return false;
  if (the_region.Reserve(place.row, bytes)) return true;
  for (int i = 0; i < relief_count; ++i) reliefs[i](place.row);
  if (the_region.Reserve(place.row, bytes)) return true;
  the_region.CountRefusal(place.row);
  return false;
}

void Force(int row, uint64_t bytes) {
  if (row >= 0) the_region.Force(row, bytes);
}
void Release(int row, uint64_t bytes) {
  if (row >= 0) the_region.Release(row, bytes);
}

Region& region() { return the_region; }
Holdings& holdings() { return the_holdings; }

uint64_t LimitOfDevice(const Uuid& device, uint64_t total) {
  const Limit limit = settings.LimitFor(device);
  return limit.kind == Limit::Kind::kNone ? kNoLimit : limit.Of(total);
}

bool IsContextGiven(uint64_t* bytes) {
  *bytes = settings.context.amount;
  return settings.context.kind == Limit::Kind::kBytes;
}

uint64_t FreeOnDevice() {
  size_t free = 0, total = 0;
  Call(real::cuMemGetInfo_v2, &free, &total);
  return free;
}

void AddRelief(void (*give)(int row)) {
  if (relief_count < kMostParts) reliefs[relief_count++] = give;
}

void AddForget(void (*forget)()) {
  if (forget_count < kMostParts) forgets[forget_count++] = forget;
}

void Say(Once* once, const char* sentence, const char* name) {
  if (once->is_said.exchange(true)) return;
  char text[512];
  const bool has_name = name != nullptr;
  snprintf(text, sizeof(text), "kai guard: %.256s%s%s\n", has_name ? name : "",
           has_name ? ": " : "", sentence);
  const ssize_t written = write(STDERR_FILENO, text, strlen(text));
  static_cast<void>(written);
}

}  // namespace kai::guard
