#include "kai/model/columns/numa.h"

#include <gtest/gtest.h>

namespace kai::numa_test {
namespace {

TEST(ForPeopleTest, DividesResourcesCountedInThousandths) {  // cores, and scalars of other vendors
  ResourceSlots slots;
  EXPECT_EQ(ForPeople(slots, kCpuSlot, 1500), 1.5);
  EXPECT_EQ(ForPeople(slots, slots.Add("example.com/fpga"), 2000), 2);
}

TEST(ForPeopleTest, KeepsResourcesCountedInUnits) {
  ResourceSlots slots;
  for (const ResourceSlot slot : {kMemorySlot, kGpuSlot, kPodsSlot})
    EXPECT_EQ(ForPeople(slots, slot, 2000), 2000) << slots.Name(slot);
  for (const char* name : {"ephemeral-storage", "storage", "nvidia.com/mig-1g.5gb"})
    EXPECT_EQ(ForPeople(slots, slots.Add(name), 2000), 2000) << name;
}

}  // namespace
}  // namespace kai::numa_test
