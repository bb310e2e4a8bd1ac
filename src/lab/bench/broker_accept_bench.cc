// Groups of messages accepted by a store, against the same rows inserted without any check.
#include <fmt/format.h>

#include "holdfast/assert.h"
#include "lab/bench/bench_run.h"
#include "lab/bench/broker_raw.h"
#include "lab/bench/broker_run.h"

namespace holdfast {

namespace {

constexpr std::array<std::size_t, 2> kAcceptGroups{1, 64};
constexpr int kAcceptSlices = 9;
constexpr std::size_t kRowsInSlice = 8000;  // about

// One side of the comparison: seconds of each group, and messages per second of each slice.
struct Side {
  std::vector<double> rates = {};
  std::vector<double> latencies_us = {};

  Result<void> measure(
      std::span<const std::vector<delivery::AcceptRow>> groups,
      const std::function<Result<void>(std::span<const delivery::AcceptRow>)>& act) {
    const Stopwatch all;
    for (const auto& group : groups) {
      const Stopwatch watch;
      HOLDFAST_CHECK(act(group));
      latencies_us.push_back(watch.seconds() * 1e6);
    }
    rates.push_back(all.rate(groups.size() * groups.front().size()));
    return {};
  }
};

Result<void> accept_all(delivery::BrokerStore& store, std::span<const delivery::AcceptRow> group,
                        std::size_t fan_out) {
  for (const auto& outcome : store.accept(group)) {
    if (!outcome.ok()) {
      return outcome.error();
    }
    HOLDFAST_ASSERT(outcome.value().fanout_count == fan_out);
  }
  return {};
}

// Two stores of the same kind, which grow alike.
struct Pair {
  BrokerStoreKind kind;
  BrokerSample accepted_sample;
  BrokerSample raw_sample;
  std::unique_ptr<delivery::BrokerStore> accepted = {};
  std::unique_ptr<delivery::BrokerStore> raw = {};
  std::unique_ptr<PgConnection> raw_connection = {};  // of PostgreSQL
};

Result<void> compare_groups(BrokerRun& run, Pair& pair, std::size_t fan_out, std::size_t group,
                            std::int64_t& last_seq) {
  const std::size_t messages = std::max<std::size_t>(kRowsInSlice / (4 + fan_out), 4 * group);
  const std::size_t count = run.quick() ? 1 : (group == 1 ? 150 : messages / group);
  RawRows rows(pair.raw_sample, group, fan_out, last_seq);
  const auto insert = [&](std::span<const delivery::AcceptRow> messages_of) {
    return pair.raw_connection == nullptr
               ? rows.insert(*pair.raw, messages_of)
               : rows.insert(*pair.raw_connection, "\"raw\".", messages_of);
  };
  const auto accept = [&](std::span<const delivery::AcceptRow> messages_of) {
    return accept_all(*pair.accepted, messages_of, fan_out);
  };
  Side ours;
  Side limit;
  Side warm_up;
  for (int slice = run.quick() ? kAcceptSlices - 1 : -1; slice < kAcceptSlices; ++slice) {
    std::vector<std::vector<delivery::AcceptRow>> first;
    std::vector<std::vector<delivery::AcceptRow>> second;
    for (std::size_t i = 0; i < count; ++i) {
      first.push_back(pair.accepted_sample.group(group, fan_out));
      second.push_back(pair.raw_sample.group(group, fan_out));
    }
    HOLDFAST_CHECK((slice < 0 ? warm_up : ours).measure(first, accept));
    HOLDFAST_CHECK((slice < 0 ? warm_up : limit).measure(second, insert));
  }
  const std::string name =
      fmt::format("{}_fan_out_{}_{}", store_name(pair.kind), fan_out,
                  group == 1 ? "one_by_one" : fmt::format("groups_of_{}", group));
  run.add(name, median(ours.rates), "accepts/s", median(limit.rates));
  run.add(name + "_p99", quantile(ours.latencies_us, 0.99), "us",
          quantile(limit.latencies_us, 0.99));
  return {};
}

}  // namespace

Result<void> bench_accept_groups(BrokerRun& run) {
  for (const BrokerStoreKind kind : kBrokerStoreKinds) {
    Pair pair{kind, BrokerSample(run.context.clock, run.context.random),
              BrokerSample(run.context.clock, run.context.random)};
    HOLDFAST_TRY(pair.accepted, run.open(kind, "accepted"));
    HOLDFAST_TRY(pair.raw, run.open(kind, "raw"));
    HOLDFAST_CHECK(pair.accepted_sample.populate(*pair.accepted));
    HOLDFAST_CHECK(pair.raw_sample.populate(*pair.raw));
    if (kind == BrokerStoreKind::postgres) {
      HOLDFAST_TRY(pair.raw_connection, run.connect("raw"));
    }
    for (const std::size_t fan_out : kFanOuts) {
      std::int64_t last_seq = 0;
      for (const std::size_t group : kAcceptGroups) {
        run.note(fmt::format("{}, fan-out {}, groups of {}", store_name(kind), fan_out, group));
        HOLDFAST_CHECK(compare_groups(run, pair, fan_out, group, last_seq));
      }
    }
  }
  return {};
}

}  // namespace holdfast
