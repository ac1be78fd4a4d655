// VisitMembers: calls a function on each member of a plain struct, without naming the members.
//
//   VisitMembers(value, [&](const auto& member) { bytes += HeapBytes(member); });
//
// Invariants: the struct is an aggregate without a base class and has at most 32 members; a larger
// one does not compile. Cost: none at run time. Threads: as for the function.
#ifndef KAI_BASE_MEMBERS_H_
#define KAI_BASE_MEMBERS_H_

#include <cstddef>
#include <type_traits>
#include <utility>

namespace kai {
namespace internal {

// Converts to the type of any member.
struct Anything {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor): it is never called
};
template <size_t>
using AnythingAt = Anything;

template <typename T, size_t... kIndices>
constexpr bool IsMadeOf(std::index_sequence<kIndices...>) {
  return requires { T{AnythingAt<kIndices>{}...}; };
}

}  // namespace internal

// The number of members of T.
template <typename T, size_t kTried = 0>
constexpr size_t MemberCount() {
  static_assert(std::is_aggregate_v<T>);
  if constexpr (internal::IsMadeOf<T>(std::make_index_sequence<kTried + 1>())) {
    return MemberCount<T, kTried + 1>();
  } else {
    return kTried;
  }
}

template <typename T, typename Visit>
void VisitMembers(const T& value, const Visit& visit) {
  constexpr size_t kMembers = MemberCount<T>();
  const auto all = [&](const auto&... members) { (visit(members), ...); };
  if constexpr (kMembers == 1) {
    const auto& [m0] = value;
    all(m0);
  } else if constexpr (kMembers == 2) {
    const auto& [m0, m1] = value;
    all(m0, m1);
  } else if constexpr (kMembers == 3) {
    const auto& [m0, m1, m2] = value;
    all(m0, m1, m2);
  } else if constexpr (kMembers == 4) {
    const auto& [m0, m1, m2, m3] = value;
    all(m0, m1, m2, m3);
  } else if constexpr (kMembers == 5) {
    const auto& [m0, m1, m2, m3, m4] = value;
    all(m0, m1, m2, m3, m4);
  } else if constexpr (kMembers == 6) {
    const auto& [m0, m1, m2, m3, m4, m5] = value;
    all(m0, m1, m2, m3, m4, m5);
  } else if constexpr (kMembers == 7) {
    const auto& [m0, m1, m2, m3, m4, m5, m6] = value;
    all(m0, m1, m2, m3, m4, m5, m6);
  } else if constexpr (kMembers == 8) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7);
  } else if constexpr (kMembers == 9) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8);
  } else if constexpr (kMembers == 10) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
  } else if constexpr (kMembers == 11) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  } else if constexpr (kMembers == 12) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  } else if constexpr (kMembers == 13) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  } else if constexpr (kMembers == 14) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  } else if constexpr (kMembers == 15) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  } else if constexpr (kMembers == 16) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  } else if constexpr (kMembers == 17) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  } else if constexpr (kMembers == 18) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] =
        value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  } else if constexpr (kMembers == 19) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
  } else if constexpr (kMembers == 20) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
  } else if constexpr (kMembers == 21) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20);
  } else if constexpr (kMembers == 22) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21);
  } else if constexpr (kMembers == 23) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22);
  } else if constexpr (kMembers == 24) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23);
  } else if constexpr (kMembers == 25) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24);
  } else if constexpr (kMembers == 26) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25);
  } else if constexpr (kMembers == 27) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25, m26);
  } else if constexpr (kMembers == 28) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26, m27] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25, m26, m27);
  } else if constexpr (kMembers == 29) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25, m26, m27, m28);
  } else if constexpr (kMembers == 30) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25, m26, m27, m28, m29);
  } else if constexpr (kMembers == 31) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30);
  } else if constexpr (kMembers == 32) {
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = value;
    all(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
        m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
  } else {
    static_assert(kMembers == 0, "more members than are foreseen");
  }
}

}  // namespace kai

#endif  // KAI_BASE_MEMBERS_H_
