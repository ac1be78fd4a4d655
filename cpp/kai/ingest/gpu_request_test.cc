#include "kai/ingest/gpu_request.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kai::gpu_request_test {
namespace {

GpuRequest Make(const GpuAnnotations& annotations, WholeGpus whole = {}, ResourceAmounts mig = {}) {
  GpuRequest request;
  const FieldStatus status = MakeGpuRequest(annotations, whole, std::move(mig), &request);
  EXPECT_TRUE(status.ok()) << status.message();
  return request;
}

std::string Complain(const GpuAnnotations& annotations) {
  GpuRequest request;
  const FieldStatus status = MakeGpuRequest(annotations, WholeGpus(), {}, &request);
  return status.ok() ? "fine" : status.field() + ": " + status.message();
}

GpuAnnotations Fraction(std::string text) {
  GpuAnnotations annotations;
  annotations.fraction = std::move(text);
  return annotations;
}

GpuAnnotations Memory(std::string text) {
  GpuAnnotations annotations;
  annotations.memory = std::move(text);
  return annotations;
}

TEST(GpuRequestTest, TakesWholeDevicesFromTheContainers) {
  const GpuRequest request = Make({}, WholeGpus::Requested(3));
  EXPECT_EQ(request,
            (GpuRequest{.kind = GpuRequestKind::kRegular, .count = 3, .portion = 1, .mig = {}}));
  EXPECT_EQ(Make({}), GpuRequest());
}

TEST(GpuRequestTest, TakesARequestForZeroDevicesAsKaiDoes) {  // spec 3 R6
  const GpuRequest request = Make({}, WholeGpus::Requested(0));
  EXPECT_EQ(request.count, 1);
  EXPECT_EQ(request.portion, 0);
}

TEST(GpuRequestTest, AFractionReplacesTheRequestsOfTheContainers) {  // spec 3 R13, R15
  const GpuRequest request =
      Make(Fraction("0.5"), WholeGpus::Requested(3), {{"nvidia.com/mig-1g.5gb", 1}});
  EXPECT_EQ(request,
            (GpuRequest{.kind = GpuRequestKind::kFraction, .count = 1, .portion = 0.5, .mig = {}}));
}

TEST(GpuRequestTest, ReadsFractionsAsGoDoes) {
  for (const auto& [text, portion] :
       std::initializer_list<std::pair<const char*, double>>{{"0.5", 0.5},
                                                             {".5", 0.5},
                                                             {"5e-1", 0.5},
                                                             {"+0.25", 0.25},
                                                             {"1", 1},
                                                             {"1.0", 1},
                                                             {"1.", 1},
                                                             {"0.001", 0.001},
                                                             {"0.333", 0.333}}) {
    EXPECT_EQ(Make(Fraction(text)).portion, portion) << text;
  }
}

TEST(GpuRequestTest, RejectsAnInvalidFraction) {
  EXPECT_EQ(Complain(Fraction("NaN")),
            "metadata.annotations[\"gpu-fraction\"]: \"NaN\" is not a number above 0 and up to 1");
  for (const char* text : {"",     "nan", "inf",       "-inf",   "half",  "0",     "0.0",
                           "-0.5", "1.5", "1.0000001", "0x1p-1", "0x0.8", "0,5",   "0.5 ",
                           " 0.5", "50%", "1e-400",    "1e400",  "0.5.5", "+-0.5", "1_0"}) {
    EXPECT_NE(Complain(Fraction(text)), "fine") << text;
  }
}

TEST(GpuRequestTest, ReadsGpuMemory) {  // spec 3 R12
  EXPECT_EQ(
      Make(Memory("4096")),
      (GpuRequest{.kind = GpuRequestKind::kMemory, .count = 1, .memory_mib = 4096, .mig = {}}));
  EXPECT_EQ(Complain(Memory("-5")),
            "metadata.annotations[\"gpu-memory\"]: \"-5\" is not a whole number of MiB above 0");
  for (const char* text : {"", "0", "4Gi", "4000.5", "1e3", "0x10", "99999999999999999999", "NaN"})
    EXPECT_NE(Complain(Memory(text)), "fine") << text;
}

TEST(GpuRequestTest, SpreadsASharedRequestOverDevices) {  // spec 3 R14
  GpuAnnotations annotations = Fraction("0.5");
  annotations.devices = "2";
  EXPECT_EQ(Make(annotations),
            (GpuRequest{.kind = GpuRequestKind::kFraction, .count = 2, .portion = 0.5, .mig = {}}));
  annotations = Memory("4000");
  annotations.devices = "3";
  EXPECT_EQ(
      Make(annotations),
      (GpuRequest{.kind = GpuRequestKind::kMemory, .count = 3, .memory_mib = 4000, .mig = {}}));
  for (const char* text : {"", "0", "-1", "two", "1.5"}) {
    annotations.devices = text;
    EXPECT_EQ(Complain(annotations), "metadata.annotations[\"gpu-fraction-num-devices\"]: \"" +
                                         std::string(text) +
                                         "\" is not a whole number of devices above 0");
  }
}

TEST(GpuRequestTest, IgnoresANumberOfDevicesWithoutASharedRequest) {
  GpuAnnotations annotations;
  annotations.devices = "2";
  EXPECT_EQ(Make(annotations, WholeGpus::Requested(1)).count, 1);
}

TEST(GpuRequestTest, PrefersTheFractionOverTheMemoryWhenBothAreGiven) {
  GpuAnnotations both = Fraction("0.5");
  both.memory = "4000";
  EXPECT_EQ(Make(both),
            (GpuRequest{.kind = GpuRequestKind::kFraction, .count = 1, .portion = 0.5, .mig = {}}));
  both.devices = "2";  // spec 3 R14 restores the memory
  EXPECT_EQ(Make(both), (GpuRequest{.kind = GpuRequestKind::kFraction,
                                    .count = 2,
                                    .portion = 0.5,
                                    .memory_mib = 4000,
                                    .mig = {}}));
}

TEST(GpuRequestTest, ARequestForMigInstancesIsAMigRequest) {
  const GpuRequest request = Make({}, {}, {{"nvidia.com/mig-1g.5gb", 2}});
  EXPECT_EQ(request.kind, GpuRequestKind::kMig);
  EXPECT_FALSE(request.legacy_mig);
}

TEST(GpuRequestTest, ALegacyMigAnnotationReplacesAllOtherRequests) {  // spec 3 M4
  GpuAnnotations annotations = Fraction("0.5");
  annotations.mig = {{"nvidia.com/mig-2g.10gb", "3"}, {"nvidia.com/mig-1g.5gb", "2"}};
  const GpuRequest request = Make(annotations, WholeGpus::Requested(1));
  EXPECT_EQ(request, (GpuRequest{.kind = GpuRequestKind::kMig,
                                 .mig = {{"nvidia.com/mig-1g.5gb", 2}},
                                 .legacy_mig = true}));
  annotations.mig = {{"nvidia.com/mig-1g.5gb", "-2"}};
  EXPECT_EQ(Complain(annotations),
            "metadata.annotations[\"nvidia.com/mig-1g.5gb\"]: \"-2\" is not a whole number of MIG "
            "instances");
}

TEST(WholeGpusTest, AddsAndCompares) {  // spec 3 R10
  const auto add = [](WholeGpus a, WholeGpus b) {
    a.Add(b);
    return a;
  };
  const auto max = [](WholeGpus a, WholeGpus b) {
    a.Max(b);
    return a;
  };
  const WholeGpus none, zero = WholeGpus::Requested(0), one = WholeGpus::Requested(1),
                        two = WholeGpus::Requested(2);
  EXPECT_EQ(add(none, two), two);
  EXPECT_EQ(add(two, none), two);
  EXPECT_EQ(add(one, two), WholeGpus::Requested(3));
  EXPECT_EQ(max(one, two), two);
  EXPECT_EQ(max(two, one), two);
  EXPECT_EQ(max(none, zero), none);
  // A request for zero devices counts one device too many, or hides the others, exactly as in KAI.
  EXPECT_EQ(add(two, zero), WholeGpus::Requested(3));
  EXPECT_EQ(add(zero, two), zero);
  const WholeGpus most = WholeGpus::Requested(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(add(most, one), most);
}

}  // namespace
}  // namespace kai::gpu_request_test
