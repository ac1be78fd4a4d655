// What a pod asks of GPUs: the whole devices and MIG instances of its containers, and the
// annotations that replace them (spec 3 R6, R10, R12-R19).
//
//   GpuAnnotations annotations;
//   annotations.fraction = std::move(text);
//   const FieldStatus status = MakeGpuRequest(annotations, WholeGpus(), {}, &request);
//
// KAI ignores an annotation it cannot understand, and the pod silently becomes something else; here
// it is one clear sentence instead, and the pod is left out: NaN as a fraction, a negative amount,
// hexadecimal. What KAI understands means the same.
//
// Invariants: a request without an error is of one kind: whole, shared, or instances. Cost: a few
// texts parsed. Threads: pure functions, thread-safe.
#ifndef KAI_INGEST_GPU_REQUEST_H_
#define KAI_INGEST_GPU_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kai/ingest/field_status.h"
#include "kai/model/rows/rows.h"

namespace kai {

// The whole-GPU part of a requirement (spec 3 R6): (0, 0) asks nothing, (n, 1) asks n devices. A
// container that asks explicitly for 0 devices has (1, 0), as in KAI, which matters in sums: see
// Add.
struct WholeGpus {
  int64_t count = 0;
  int portion = 0;

  static WholeGpus Asked(int64_t quantity) {
    return quantity > 0 ? WholeGpus{quantity, 1} : WholeGpus{1, 0};
  }

  // Spec 3 R10. A sum of unlike portions is an error in KAI, and the operation is skipped: so it is
  // here.
  void Add(const WholeGpus& other);
  void Max(const WholeGpus& other);

  friend bool operator==(const WholeGpus&, const WholeGpus&) = default;
};

// The annotations that matter, as text.
struct GpuAnnotations {
  std::optional<std::string> fraction;  // gpu-fraction
  std::optional<std::string> memory;    // gpu-memory
  std::optional<std::string> devices;   // gpu-fraction-num-devices
  StringPairs mig;                      // nvidia.com/mig-*

  static bool Matters(std::string_view key);  // is it one of these
  void Take(std::string_view key, std::string_view value);
};

// The field of an error is the annotation's, seen from the pod:
// metadata.annotations["gpu-fraction"].
FieldStatus MakeGpuRequest(const GpuAnnotations& annotations, const WholeGpus& whole,
                           ResourceAmounts mig, GpuRequest* out);

}  // namespace kai

#endif  // KAI_INGEST_GPU_REQUEST_H_
