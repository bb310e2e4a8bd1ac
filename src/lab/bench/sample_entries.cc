#include "lab/bench/sample_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json_writer.h"
#include "base/uuid.h"

namespace holdfast {

namespace {

constexpr std::size_t kEntriesPerThread = 4;
constexpr std::uint64_t kWorkers = 64;
constexpr std::uint64_t kLargestAmount = 1'000'000;

constexpr std::array<std::string_view, 4> kKinds{"attempt_scheduled", "attempt_claimed",
                                                 "attempt_completed", "runnable_applied"};
constexpr std::array<std::string_view, 6> kSteps{"reserve_stock", "charge_card",  "send_receipt",
                                                 "pack_parcel",   "book_courier", "close_order"};

ThreadId run_thread(const Uuid& id) {
  auto thread = ThreadId::parse(fmt::format("run:{}", to_string(id)));
  HOLDFAST_ASSERT(thread.ok());
  return std::move(thread).value();
}

}  // namespace

SampleEntries::SampleEntries(std::uint64_t seed, TimeMs start, std::size_t thread_count)
    : random_(seed), now_(start) {
  threads_.reserve(thread_count);
  for (std::size_t i = 0; i < thread_count; ++i) {
    threads_.push_back(run_thread(make_uuid(now_, random_)));
  }
}

NewEntry SampleEntries::entry() {
  now_.value += static_cast<std::int64_t>(random_.below(3));
  JsonWriter data;
  data.begin_object();
  data.member("step", kSteps[random_.below(kSteps.size())]);
  data.member("worker", fmt::format("worker-{}", random_.below(kWorkers)));
  data.member("fence", made_);
  data.key("result").begin_object();
  data.member("ok", random_.below(16) != 0);
  data.member("amount_cents", random_.below(kLargestAmount));
  data.member("reference", fmt::format("{:016x}", random_.next_u64()));
  data.end_object();
  data.end_object();
  return NewEntry{std::string(kKinds[made_++ % kKinds.size()]), now_, std::move(data).take_text()};
}

Commit SampleEntries::commit(std::size_t entries) {
  Commit commit;
  while (entries > 0) {
    const std::size_t count = std::min(entries, kEntriesPerThread);
    ThreadAppend append{threads_[next_thread_], std::nullopt, {}};
    next_thread_ = (next_thread_ + 1) % threads_.size();
    append.entries.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      append.entries.push_back(entry());
    }
    commit.push_back(std::move(append));
    entries -= count;
  }
  HOLDFAST_ASSERT(commit.size() <= threads_.size());  // a commit names a thread only once
  return commit;
}

std::string sample_body(const Commit& commit) {
  std::string body;
  for (const ThreadAppend& append : commit) {
    for (const NewEntry& entry : append.entries) {
      body += body.empty() ? '[' : ',';
      append_entry_head(body, append.thread.text(), Revision{0});
      append_entry_tail(body, entry);
    }
  }
  body += ']';
  return body;
}

}  // namespace holdfast
