// The GPU request of a pod: the whole devices and MIG instances of its containers, and the
// annotations that replace them (spec 3 R6, R10, R12-R19).
//
//   GpuAnnotations annotations;
//   annotations.fraction = std::move(text);
//   const FieldStatus status = MakeGpuRequest(annotations, WholeGpus(), {}, &request);
//
// KAI ignores an invalid annotation, so the pod silently requests something else. Here an invalid
// annotation (NaN as a fraction, a negative amount, hexadecimal) is an error of one sentence, and
// the pod is rejected. An annotation that KAI accepts means the same here.
//
// Invariants: a request without an error is of one kind: whole, shared, or instances. Cost: parsing
// a few texts. Threads: pure functions, thread-safe.
#ifndef KAI_INGEST_GPU_REQUEST_H_
#define KAI_INGEST_GPU_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kai/ingest/field_status.h"
#include "kai/model/rows/rows.h"

namespace kai {

// The whole-GPU part of a requirement (spec 3 R6): (0, 0) means no request, (n, 1) requests n
// devices. A container that explicitly requests 0 devices has (1, 0), as in KAI; Add() depends on
// that.
struct WholeGpus {
  int64_t count = 0;
  int portion = 0;

  static WholeGpus Requested(int64_t quantity) {
    return quantity > 0 ? WholeGpus{quantity, 1} : WholeGpus{1, 0};
  }

  // Spec 3 R10. A sum of different portions is an error in KAI, which skips the addition; so does
  // this.
  void Add(const WholeGpus& other);
  void Max(const WholeGpus& other);

  friend bool operator==(const WholeGpus&, const WholeGpus&) = default;
};

// The annotations that affect the request, as texts.
struct GpuAnnotations {
  std::optional<std::string> fraction;  // gpu-fraction
  std::optional<std::string> memory;    // gpu-memory
  std::optional<std::string> devices;   // gpu-fraction-num-devices
  StringPairs mig;                      // nvidia.com/mig-*

  static bool Matters(std::string_view key);  // true for these annotations
  void Take(std::string_view key, std::string_view value);
};

// The field of an error is the path of the annotation in the pod:
// metadata.annotations["gpu-fraction"].
FieldStatus MakeGpuRequest(const GpuAnnotations& annotations, const WholeGpus& whole,
                           ResourceAmounts mig, GpuRequest* out);

}  // namespace kai

#endif  // KAI_INGEST_GPU_REQUEST_H_
