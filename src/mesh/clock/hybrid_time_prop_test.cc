// Laws of hybrid time over random histories of ticks, receipts and restarts.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "mesh/clock/hybrid_time.h"

namespace holdfast::mesh::hybrid_time_prop_test {
namespace {

constexpr NodeId kNode{7};

// Few values, many at the limits, so that ties and overflows are frequent.
rc::Gen<std::uint64_t> walls() {
  return rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 6),
                        rc::gen::inRange<std::uint64_t>(kMaxWallMs - 2, kMaxWallMs + 1));
}

rc::Gen<std::uint32_t> counters() {
  return rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 4),
                        rc::gen::map(rc::gen::inRange<std::uint32_t>(0, 3),
                                     [](std::uint32_t below) { return kMaxLogical - below; }));
}

TEST(HybridTimeLaw, an_issued_timestamp_exceeds_all_issued_and_received_ones) {  // 20
  rc::check([] {
    HybridTime local(kNode);
    Timestamp newest = local.state();
    const auto steps = *rc::gen::inRange(1, 60);
    for (int step = 0; step < steps; ++step) {
      const std::uint64_t wall_now_ms = *walls();
      if (*rc::gen::arbitrary<bool>()) {
        const Timestamp remote{*walls(), *counters(), {*rc::gen::inRange<std::uint64_t>(0, 12)}};
        local.receive(remote, wall_now_ms);
        newest = std::max(newest, remote);
      } else if (const auto issued = local.tick(wall_now_ms)) {
        RC_ASSERT(newest < *issued);
        RC_ASSERT(issued->wall_ms <= kMaxWallMs);
        RC_ASSERT(issued->node == kNode);
        newest = *issued;
      }
    }
  });
}

TEST(HybridTimeLaw, the_state_never_decreases_and_peek_is_what_tick_returns) {
  rc::check([] {
    HybridTime local = HybridTime::restore(kNode, {*walls(), *counters(), kNode}, {}, 0);
    for (int step = 0; step < 20; ++step) {
      const Timestamp before = local.state();
      const std::uint64_t wall_now_ms = *walls();
      const Timestamp seen = local.peek(wall_now_ms);
      RC_ASSERT(local.state() == before);
      if (*rc::gen::arbitrary<bool>()) {
        local.receive({*walls(), *counters(), {3}}, wall_now_ms);
      } else {
        RC_ASSERT(local.tick(wall_now_ms).value_or(before) == seen);
      }
      RC_ASSERT(before <= local.state());
    }
  });
}

TEST(HybridTimeLaw, a_restart_from_the_persisted_state_reissues_nothing) {
  rc::check([] {
    HybridTime local(kNode);
    Timestamp issued = local.state();
    for (int step = 0; step < 20; ++step) {
      issued = local.tick(*rc::gen::inRange<std::uint64_t>(0, 50)).value_or(issued);
      if (*rc::gen::inRange(0, 4) == 0) {  // killed after the append, or with an older state
        const Timestamp persisted = *rc::gen::element(issued, Timestamp{});
        local =
            HybridTime::restore(kNode, persisted, issued, *rc::gen::inRange<std::uint64_t>(0, 50));
      }
      const auto next = local.tick(0);
      RC_ASSERT(next.has_value());
      RC_ASSERT(issued < *next);
      issued = *next;
    }
  });
}

}  // namespace
}  // namespace holdfast::mesh::hybrid_time_prop_test
