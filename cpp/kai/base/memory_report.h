// MemoryReport: a table of how many bytes each part of a program holds.
//
//   report.Add("Pod", "texts", 40'000, bytes);
//   report.bytes()        // the sum
//
// Invariants: each byte is in one column. Cost: plain data. Threads: plain data.
#ifndef KAI_BASE_MEMORY_REPORT_H_
#define KAI_BASE_MEMORY_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kai {

struct MemoryReport {
  struct Column {
    std::string part;    // "Pod", "engine"
    std::string column;  // "texts", "queues"
    size_t count = 0;    // number of elements
    size_t bytes = 0;
  };

  // Columns without bytes are left out.
  void Add(std::string_view part, std::string_view column, size_t count, size_t bytes) {
    if (bytes != 0) columns.push_back({std::string(part), std::string(column), count, bytes});
  }
  size_t bytes() const {
    size_t sum = 0;
    for (const Column& each : columns) sum += each.bytes;
    return sum;
  }

  std::vector<Column> columns;
};

}  // namespace kai

#endif  // KAI_BASE_MEMORY_REPORT_H_
