// A pretended NVML over the same pretended cards as the driver's (driver.cc).
//
//   STUB_PROCESSES  how it lists processes that use a card; else with their numbers and bytes
//                   host: with numbers of another namespace, as old drivers do in a container
//                   empty: with no bytes, as some newer ones do there
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard/driver/cuda.h"
#include "guard/stub/book.h"

namespace {

stub::Book& book() {
  static auto* the_book = new stub::Book;
  return *the_book;
}

nvmlDevice_t HandleOf(uint64_t device) { return reinterpret_cast<nvmlDevice_t>(device + 1); }
int NumberOf(nvmlDevice_t device) {
  return static_cast<int>(reinterpret_cast<uint64_t>(device)) - 1;
}

void WriteUuid(int device, char* text, size_t room) {
  const unsigned int byte = 0xA0U + static_cast<unsigned int>(device);
  const unsigned int two = byte << 8 | byte;
  const unsigned int four = two << 16 | two;
  const char* kind = getenv("STUB_MIG") == nullptr ? "GPU" : "MIG";
  snprintf(text, room, "%s-%08x-%04x-%04x-%04x-%08x%04x", kind, four, two, two, two, four, two);
}

template <typename Memory>
void Write(int device, Memory* memory) {
  memory->total = book().size();
  memory->used = book().Used(device);
  memory->free = memory->total - memory->used;
}

bool ListsThem(const char* how) {
  const char* chosen = getenv("STUB_PROCESSES");
  return chosen != nullptr && strcmp(chosen, how) == 0;
}

}  // namespace

#define STUB_EXPORT extern "C" __attribute__((visibility("default")))

STUB_EXPORT nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
STUB_EXPORT nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

STUB_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(book().devices());
  return NVML_SUCCESS;
}

STUB_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  if (index >= static_cast<unsigned int>(book().devices())) return NVML_ERROR_INVALID_ARGUMENT;
  *device = HandleOf(index);
  return NVML_SUCCESS;
}

STUB_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  WriteUuid(NumberOf(device), uuid, length);
  return NVML_SUCCESS;
}

STUB_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  for (int i = 0; i < book().devices(); ++i) {
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    WriteUuid(i, text, sizeof(text));
    if (strcmp(text, uuid) != 0) continue;
    *device = HandleOf(static_cast<uint64_t>(i));
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

STUB_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  Write(NumberOf(device), memory);
  return NVML_SUCCESS;
}

STUB_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  Write(NumberOf(device), memory);
  memory->reserved = 0;
  return NVML_SUCCESS;
}

STUB_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                                 unsigned int* count,
                                                                 nvmlProcessInfo_t* infos) {
  constexpr int64_t kOnHost = 1'000'000;
  stub::Book::Holder found[stub::kMostProcesses];
  const unsigned int held = book().Holders(NumberOf(device), found, stub::kMostProcesses);
  const unsigned int room = *count;
  *count = held;
  if (held > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned int i = 0; i < held; ++i) {
    const int64_t pid = found[i].pid + (ListsThem("host") ? kOnHost : 0);
    const uint64_t used = ListsThem("empty") ? 0 : found[i].used;
    infos[i] = {static_cast<unsigned int>(pid), used, 0xFFFFFFFFU, 0xFFFFFFFFU};
  }
  return NVML_SUCCESS;
}
