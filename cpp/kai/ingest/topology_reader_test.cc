#include "kai/ingest/topology_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"
#include "kai/ingest/read_for_test.h"

namespace kai::topology_reader_test {
namespace {

std::string ComplainAboutLevels(std::string_view levels) {
  return Complaint(&ReadTopology,
                   StrCat(R"({"metadata": {"name": "t"}, "spec": {"levels": )", levels, "}}"));
}

TEST(TopologyReaderTest, ReadsLevelsFromTheWidestToTheNarrowest) {
  const TopologyRow row = ReadForTest(&ReadTopology, R"({"metadata": {"name": "t"}, "spec": {
      "levels": [{"nodeLabel": "zone", "alias": "z"}, {"nodeLabel": "rack"}]}})");
  EXPECT_EQ(row.name, "t");
  ASSERT_EQ(row.levels.size(), size_t{2});
  EXPECT_EQ(row.levels[0].node_label, "zone");
  EXPECT_EQ(row.levels[0].alias, "z");
  EXPECT_EQ(row.levels[1].node_label, "rack");
  EXPECT_EQ(row.levels[1].alias, "");
}

TEST(TopologyReaderTest, RejectsTopologiesThatAnApiServerWouldReject) {  // spec 4 T1, T2
  EXPECT_EQ(ComplainAboutLevels("[]"), "Topology t: spec.levels: is missing");
  EXPECT_EQ(ComplainAboutLevels(R"([{"alias": "z"}])"),
            "Topology t: spec.levels[0].nodeLabel: is missing");
  EXPECT_EQ(ComplainAboutLevels(R"([{"nodeLabel": "a"}, {"nodeLabel": "a"}])"),
            "Topology t: spec.levels: has \"a\" twice");
  EXPECT_EQ(
      ComplainAboutLevels(R"([{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "gpu"}])"),
      "Topology t: spec.levels: has levels below \"kubernetes.io/hostname\"");
}

}  // namespace
}  // namespace kai::topology_reader_test
