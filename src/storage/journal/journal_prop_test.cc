// Laws of the journal under random histories: whatever mix of appends, commits, seals, lost
// checkpoints, second processes and restarts, every thread loads as it was appended.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "storage/journal/journal_history.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_verify.h"
#include "storage/log/sqlite_store.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast::journal_prop_test {
namespace {

enum class Act : std::uint8_t {
  append,
  commit_two,
  append_stale,
  append_as_other,
  seal,
  save_directory,
  lose_directory,
  put_checkpoint,
  lose_checkpoints,
  reopen,
  load_part,
  count,
};

struct Step {
  Act act;
  std::uint8_t thread;
  std::uint8_t amount;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "{" << static_cast<int>(step.act) << "," << int{step.thread} << ","
             << int{step.amount} << "}";
}

rc::Gen<std::vector<Step>> histories() {
  return rc::gen::container<std::vector<Step>>(
      rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, static_cast<int>(Act::count)),
                                  rc::gen::inRange(0, 5), rc::gen::inRange(1, 9)),
                   [](const std::tuple<int, int, int>& parts) {
                     return Step{static_cast<Act>(std::get<0>(parts)),
                                 static_cast<std::uint8_t>(std::get<1>(parts)),
                                 static_cast<std::uint8_t>(std::get<2>(parts))};
                   }));
}

// The journal under test, beside the simplest correct model.
class Twin {
 public:
  using Opener = std::function<std::unique_ptr<Log>()>;

  explicit Twin(Opener open) : open_(std::move(open)) {
    journal_ = must(Journal::open(open_()));
    other_ = must(Journal::open(open_()));
  }

  void act(const Step& step) {
    const std::string name = "run:" + std::to_string(step.thread);
    switch (step.act) {
      case Act::append:
        return append(*journal_, name, step.amount, std::nullopt);
      case Act::append_as_other:
        return append(*other_, name, step.amount, std::nullopt);
      case Act::commit_two:
        return commit_two(name, step.amount);
      case Act::append_stale:
        return append_stale(name, step.amount);
      case Act::seal:
        return seal(step.amount);
      case Act::save_directory:
        return must(journal_->save_directory());
      case Act::lose_directory:
        return lose(std::string(kDirectoryKey));
      case Act::put_checkpoint:
        return put_checkpoint(name);
      case Act::lose_checkpoints:
        return lose(checkpoint_key(name));
      case Act::reopen:
        journal_ = must(Journal::open(open_()));
        return;
      case Act::load_part:
        return load_part(name, step.amount);
      case Act::count:
        return;
    }
  }

  void check_all() {
    must(journal_->catch_up());
    for (const auto& [name, expected] : model_) {
      RC_ASSERT(loaded(*journal_, name, Revision{0}, SIZE_MAX) == expected);
      RC_ASSERT(must(journal_->revision(thread(name))).value == expected.size());
      check_checkpoint(name);
    }
    const VerifyReport report = must(verify_journal(journal_->log()));
    RC_ASSERT(report.entries == total_);
    RC_ASSERT(report.chain == journal_->log().head().chain);
  }

 private:
  std::vector<NewEntry> make(const std::string& name, int count) {
    std::vector<NewEntry> entries;
    for (int i = 0; i < count; ++i) {
      const std::string data = R"({"n":)" + std::to_string(total_++) + "}";
      model_[name].push_back(data);
      entries.push_back(entry("fact", data));
    }
    return entries;
  }

  void append(Journal& journal, const std::string& name, int count,
              std::optional<Revision> expected) {
    auto entries = make(name, count);
    RC_ASSERT(must(journal.append(thread(name), std::move(entries), expected)).value ==
              model_[name].size());
  }

  void commit_two(const std::string& name, int count) {
    must(journal_->catch_up());
    Commit commit;
    const Revision before{model_[name].size()};
    commit.push_back({thread(name), before, make(name, count)});
    commit.push_back({thread("dispatch:all"), std::nullopt, make("dispatch:all", 1)});
    must(journal_->commit(std::move(commit)));
  }

  void append_stale(const std::string& name, std::uint64_t off_by) {
    const Revision wrong{model_[name].size() + off_by};
    const auto refused = journal_->append(thread(name), {entry("never")}, wrong);
    RC_ASSERT(code_of(refused) == "conflict");
  }

  void seal(std::uint64_t keep) {
    const std::uint64_t head = must(journal_->catch_up()).value;
    SealOptions options;
    options.below = Position{head > keep ? head - keep : 0};
    options.step_bytes = 200;
    must(journal_->seal(options));
  }

  void lose(const std::string& key) {
    SideUpdate update;
    update.deletes.push_back(key);
    must(journal_->log().update(update));
  }

  void put_checkpoint(const std::string& name) {
    must(journal_->catch_up());
    const Revision revision{model_[name].size()};
    must(journal_->put_checkpoint(thread(name), {1, revision, joined(name, revision)}));
  }

  // A checkpoint plus the tail after it must be the whole thread.
  void check_checkpoint(const std::string& name) {
    const auto found = must(journal_->find_checkpoint(thread(name), 1));
    if (found.has_value()) {
      RC_ASSERT(found->data == joined(name, found->revision));
    }
  }

  std::string joined(const std::string& name, Revision up_to) {
    std::string all;
    for (std::size_t i = 0; i < up_to.value; ++i) {
      all += model_[name][i];
    }
    return all;
  }

  void load_part(const std::string& name, std::size_t limit) {
    must(journal_->catch_up());
    const std::vector<std::string>& all = model_[name];
    const std::size_t from = all.size() / 2;
    const std::size_t end = std::min(all.size(), from + limit);
    const std::vector<std::string> expected(all.begin() + static_cast<std::ptrdiff_t>(from),
                                            all.begin() + static_cast<std::ptrdiff_t>(end));
    RC_ASSERT(loaded(*journal_, name, Revision{from}, limit) == expected);
  }

  std::vector<std::string> loaded(Journal& journal, const std::string& name, Revision from,
                                  std::size_t limit) {
    std::vector<std::string> data;
    for (const Entry& one : must(journal.load(thread(name), from, limit))) {
      RC_ASSERT(one.thread == name);
      data.emplace_back(one.data);
    }
    return data;
  }

  Opener open_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Journal> other_;
  std::map<std::string, std::vector<std::string>> model_;
  std::uint64_t total_ = 0;
};

TEST(JournalLaw, every_thread_loads_as_it_was_appended_in_memory) {
  EXPECT_TRUE(rc::check([] {
    const auto disk = std::make_shared<MemoryDisk>();
    Twin twin([disk] { return open_memory_log(disk); });
    for (const Step& step : *histories()) {
      twin.act(step);
    }
    twin.check_all();
  }));
}

TEST(JournalLaw, every_thread_loads_as_it_was_appended_in_sqlite) {
  EXPECT_TRUE(rc::check([] {
    const TempDir dir;
    Twin twin([&dir] {
      return must(Log::open(
          must(open_sqlite_store(dir.file("log.db"), OpenMode::create, new_origin(test_uuid(1))))));
    });
    for (const Step& step : *rc::gen::resize(20, histories())) {
      twin.act(step);
    }
    twin.check_all();
  }));
}

}  // namespace
}  // namespace holdfast::journal_prop_test
