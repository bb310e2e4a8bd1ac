#include "runs/run/run_listing.h"

#include <gtest/gtest.h>

#include "tests/support/run_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::run_listing_test {
namespace {

void fold(RunListing& listing, std::string_view kind, std::string_view data,
          std::int64_t at = 100) {
  EntryView entry;
  entry.kind = kind;
  entry.at = ms(at);
  entry.data = data;
  listing.fold(entry);
}

template <typename Fact>
void fold(RunListing& listing, const Fact& fact, std::int64_t at = 100) {
  const NewEntry entry = must(to_entry(fact, ms(at)));
  fold(listing, entry.kind, entry.data.view(), at);
}

std::vector<std::string> reasons_of(const RunListing& listing) {
  std::vector<std::string> names;
  for (const Anomaly& anomaly : listing.anomalies()) {
    names.push_back(anomaly.reason.str());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(RunListing, runs_are_listed_once_in_the_order_they_came) {
  RunListing index = RunListing::index("order");
  fold(index, RunIndexed{run_no(2), "order", "slow"}, 100);
  fold(index, RunIndexed{run_no(1), "order", "default"}, 110);
  fold(index, RunIndexed{run_no(2), "order", "slow"}, 120);
  EXPECT_EQ(index.runs(), (std::vector<ListedRun>{{run_no(2), "order", "slow", ms(100)},
                                                  {run_no(1), "order", "default", ms(110)}}));
  EXPECT_TRUE(index.anomalies().empty());
}

TEST(RunListing, an_index_refuses_other_workflows_and_other_queues_of_a_known_run) {
  RunListing index = RunListing::index("order");
  fold(index, RunIndexed{run_no(1), "order", "default"});
  fold(index, RunIndexed{run_no(2), "parcel", "default"});
  fold(index, RunIndexed{run_no(1), "order", "slow"}, 120);
  EXPECT_EQ(reasons_of(index), (Names{"conflicting_workflow", "conflicting_run_index"}));
  EXPECT_EQ(index.anomalies()[1].run_id, run_no(1));
  EXPECT_EQ(index.anomalies()[1].at, ms(120));
  EXPECT_EQ(index.anomalies()[1].entry_type.view(), "run_indexed");
  ASSERT_EQ(index.runs().size(), 1U);
  EXPECT_EQ(index.runs()[0].queue.view(), "default");
}

TEST(RunListing, a_catalog_takes_every_workflow_but_one_of_each_run) {
  RunListing catalog = RunListing::catalog();
  fold(catalog, RunCataloged{run_no(1), "order", "default"});
  fold(catalog, RunCataloged{run_no(2), "parcel", "slow"});
  fold(catalog, RunCataloged{run_no(2), "parcel", "slow"});
  fold(catalog, RunCataloged{run_no(1), "parcel", "default"});
  fold(catalog, RunCataloged{run_no(2), "parcel", "default"});
  EXPECT_EQ(catalog.runs().size(), 2U);
  EXPECT_EQ(reasons_of(catalog), (Names{"conflicting_run_catalog", "conflicting_run_catalog"}));
}

TEST(RunListing, an_entry_that_is_not_a_fact_of_the_thread_is_malformed) {
  RunListing index = RunListing::index("order");
  fold(index, RunCataloged{run_no(1), "order", "default"});
  fold(index, "run_indexed", R"({"workflow":"order","queue":"default"})");
  fold(index, "run_indexed", "[");
  fold(index, "", "{}");
  RunListing catalog = RunListing::catalog();
  fold(catalog, RunIndexed{run_no(1), "order", "default"});
  EXPECT_EQ(reasons_of(index), Names(4, "malformed_entry"));
  EXPECT_EQ(reasons_of(catalog), Names(1, "malformed_entry"));
  EXPECT_TRUE(index.runs().empty());
  EXPECT_NE(index.anomalies()[1].detail.view().find("run_id"), std::string_view::npos);
  EXPECT_EQ(must(RunListing::decode(index.encode())).encode(), index.encode());
}

TEST(RunListing, a_decoded_listing_continues_like_the_encoded_one) {
  for (const bool as_catalog : {false, true}) {
    RunListing all = as_catalog ? RunListing::catalog() : RunListing::index("order");
    const auto fold_no = [&](RunListing& listing, int number) {
      const RunId run = run_no(1 + number % 3);
      const SharedText queue = number == 5 ? "slow" : "default";
      if (as_catalog) {
        fold(listing, RunCataloged{run, "order", queue});
      } else {
        fold(listing, RunIndexed{run, number == 4 ? "parcel" : "order", queue});
      }
    };
    for (int i = 0; i < 3; ++i) {
      fold_no(all, i);
    }
    RunListing again = must(RunListing::decode(all.encode()));
    for (int i = 3; i < 9; ++i) {
      fold_no(all, i);
      fold_no(again, i);
      EXPECT_EQ(again.encode(), all.encode());
    }
    EXPECT_FALSE(all.anomalies().empty());
  }
}

TEST(RunListing, bytes_that_are_not_a_listing_are_refused) {
  EXPECT_EQ(code_of(RunListing::decode("")), "invalid_json");
  EXPECT_EQ(code_of(RunListing::decode("{}")), "missing_fields");
  RunListing catalog = RunListing::catalog();
  fold(catalog, RunCataloged{run_no(1), "order", "default"});
  std::string bytes = catalog.encode();
  const std::string run = bytes.substr(bytes.find('[') + 1, bytes.find(']') - bytes.find('[') - 1);
  bytes.insert(bytes.find(']'), "," + run);
  EXPECT_EQ(code_of(RunListing::decode(bytes)), "invalid_argument");
}

}  // namespace
}  // namespace holdfast::run_listing_test
