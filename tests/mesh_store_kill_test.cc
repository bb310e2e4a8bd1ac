// kill -9 between any two writes of the store of a mesh, again and again on one folder. What was
// acknowledged is there afterwards, the state is the one that a rebuild gives, and no timestamp is
// issued twice. The number at the test is that of docs/mesh-tests.md.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>
#include <sstream>

#include "base/encoding.h"
#include "base/owned_fd.h"
#include "mesh/store/mesh_verify.h"
#include "tests/support/mesh_store_fixture.h"

namespace holdfast::mesh::mesh_store_kill_test {
namespace {

constexpr int kPoints =
    static_cast<int>(StoreFault::committed) + 1 + static_cast<int>(BlobFault::renamed) + 1;

Digest digest_of(const std::string& hex) {
  Digest digest{};
  const auto bytes = must(from_hex(hex));
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

class MeshStoreKill : public MeshStoreFixture {
 protected:
  // What the victim printed before it died.
  std::string run_victim(unsigned round, int point, int times) {
    int ends[2];
    HOLDFAST_ASSERT(pipe(ends) == 0);
    OwnedFd reading(ends[0]);
    OwnedFd writing(ends[1]);
    store.reset();
    const pid_t child = fork();
    HOLDFAST_ASSERT(child >= 0);
    if (child == 0) {
      dup2(writing.get(), STDOUT_FILENO);
      const std::string numbers[] = {std::to_string(round), std::to_string(point),
                                     std::to_string(times)};
      execl(HOLDFAST_MESH_STORE_VICTIM, "mesh_store_victim", folder().c_str(), numbers[0].c_str(),
            numbers[1].c_str(), numbers[2].c_str(), nullptr);
      _exit(4);
    }
    writing.close();
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(reading.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    HOLDFAST_ASSERT(waitpid(child, &status, 0) == child);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
    killed_ += killed ? 1 : 0;
    return text;
  }

  void remember(const std::string& text) {
    std::istringstream lines(text);
    for (std::string word, value; lines >> word >> value;) {
      if (word == "op") {
        Timestamp at;
        lines >> at.wall_ms >> at.logical;
        EXPECT_TRUE(issued_.insert(at).second) << to_text(at) << " was issued twice";
      }
      if (word == "cursor") {
        cursor_ = value;
      } else if (word != "left") {
        acknowledged_[value] = word;
      }
    }
  }

  void check() {
    open({.limits = {.aside = {.author_ops = 2}}});
    for (const auto& [hex, word] : acknowledged_) {
      if (word == "content") {
        EXPECT_TRUE(store->blobs().get(digest_of(hex)).ok()) << hex;
      } else {
        EXPECT_NE(store->replica().find(digest_of(hex)), nullptr) << word << " " << hex;
      }
    }
    const auto cursor = must(store->file().cursor(numbered_key(99).node_id()));
    if (!cursor_.empty()) {
      ASSERT_TRUE(cursor.has_value());
      std::string text;
      for (const std::byte one : *cursor) {
        text += static_cast<char>(one);
      }
      // The page that was not acknowledged may be there too, with its cursor.
      EXPECT_GE(std::stoi(text), std::stoi(cursor_));
    }
    EXPECT_EQ(must(verify_mesh(*store)).problems, std::vector<std::string>());
    std::set<Timestamp> stored;
    must(store->file().each([&](StoredOperation& operation) -> Result<void> {
      EXPECT_TRUE(operation.place == Place::future || stored.insert(operation.at).second);
      return {};
    }));
  }

  int killed_ = 0;
  std::set<Timestamp> issued_;
  std::map<std::string, std::string> acknowledged_;  // hash to the word about it
  std::string cursor_;
};

TEST_F(MeshStoreKill, between_any_two_writes_nothing_acknowledged_is_lost) {  // 24, 90, 134, 135
  unsigned round = 0;
  const int times = std::getenv("HOLDFAST_LONG") != nullptr ? 60 : 6;
  for (int point = 0; point < kPoints; ++point) {
    for (int time = 1; time <= times; ++time, ++round) {
      remember(run_victim(round, point, time));
      check();
    }
  }
  EXPECT_GE(killed_, 60) << "of " << round << " victims";
}

}  // namespace
}  // namespace holdfast::mesh::mesh_store_kill_test
