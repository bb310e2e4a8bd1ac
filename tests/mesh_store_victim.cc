// A process that fills the store of a mesh and kills itself at one point of it, for
// tests/mesh_store_kill_test.cc.
//
// usage: mesh_store_victim FOLDER ROUND POINT TIMES
//
// Prints a line for everything that the store has acknowledged: "op HASH WALL LOGICAL" for an
// operation that it authored, "got HASH" for one of a peer, "content HASH", "cursor NUMBER".
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/blake3.h"
#include "base/encoding.h"
#include "tests/support/mesh_store_fixture.h"

namespace holdfast::mesh {
namespace {

constexpr int kStorePoints = static_cast<int>(StoreFault::committed) + 1;
constexpr std::uint64_t kVictimNowMs = 1'700'000'000'000;

// Counts how often the point was reached, over both kinds of points.
struct Killer {
  int point = 0;
  int times = 0;

  Result<void> reach(int reached) {
    if (reached == point && --times == 0) {
      kill(getpid(), SIGKILL);
    }
    return {};
  }
};

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    _exit(3);
  }
}

class Victim {
 public:
  Victim(std::unique_ptr<MeshStore> store, unsigned round)
      : store_(std::move(store)), round_(round), random_(1000 + round) {}

  void work() {
    author(delegation_of(user_key(), spec_for(numbered_key(2), {grant("*", "*")})));
    for (unsigned i = 0; i < 6; ++i) {
      const JobId job = numbered_job(round_ * 8 + i);
      author(ScheduleJob{job, "k", {}, {}});
      author(ClaimWork{job, numbered_key(2).node_id(), 1'000'000});
      receive(i);
      content(i);
    }
  }

 private:
  void author(Payload payload) {
    const Operation made =
        must(store_->author(draft_of(std::move(payload), random_), numbered_key(2), kVictimNowMs));
    say("op " + to_hex(blake3(encode_operation(made))) + " " +
        std::to_string(made.timestamp.wall_ms) + " " + std::to_string(made.timestamp.logical));
  }

  // One operation that is parked, one that is quarantined, and a bootstrap of a new node, which
  // lets the first one in.
  void receive(unsigned number) {
    const SigningKey peer = numbered_key(100 + round_ * 8 + number);
    Received received;
    received.operations = {
        wire(peer, 2, RouteKind{"k", {}}),
        wire(peer, 1, delegation_of(user_key(), spec_for(peer, {grant("Job", "*")}))),
        wire(peer, kVictimNowMs + 90'000'000, ScheduleJob{numbered_job(60'000), "k", {}, {}}),
        wire(peer, 3, RevokeUcan{blake3("unknown")})};
    const std::uint64_t cursor = round_ * 8 + number + 1;
    received.cursor =
        Received::Cursor{numbered_key(99).node_id(), bytes_of(std::to_string(cursor))};
    received.source = IngestSource::fetched;
    must(store_->ingest(received, kVictimNowMs));
    for (const Bytes& bytes : received.operations) {
      // At most two of an author stay aside: the oldest of them has left.
      const Digest hash = blake3(bytes);
      say((store_->replica().find(hash) == nullptr ? "left " : "got ") + to_hex(hash));
    }
    say("cursor " + std::to_string(cursor));
  }

  void content(unsigned number) {
    const Bytes bytes(kMaxInlineBytes + 1 + number, static_cast<std::byte>(round_));
    say("content " + to_hex(must(store_->put_content(bytes))));
  }

  static Bytes wire(const SigningKey& author, std::uint64_t wall_ms, Payload payload) {
    Operation operation;
    operation.timestamp = {wall_ms, 0, author.node_id()};
    operation.payload = std::move(payload);
    const Digest hash = blake3(encode_operation(operation));
    std::copy_n(hash.begin(), operation.id.bytes.size(), operation.id.bytes.begin());
    return encode_operation(sign_operation(operation, author));
  }

  std::unique_ptr<MeshStore> store_;
  unsigned round_;
  SeededRandom random_;
};

}  // namespace
}  // namespace holdfast::mesh

int main(int count, char** values) {
  using namespace holdfast::mesh;
  if (count != 5) {
    return 2;
  }
  Killer killer{std::atoi(values[3]), std::atoi(values[4])};
  MeshStoreOptions options;
  options.limits.aside.author_ops = 2;
  options.fault = [&](StoreFault at) { return killer.reach(static_cast<int>(at)); };
  options.blob_fault = [&](BlobFault at) {
    return killer.reach(kStorePoints + static_cast<int>(at));
  };
  auto store = holdfast::must(MeshStore::open(
      values[1], {user_key().public_key(), numbered_key(2).node_id()}, kVictimNowMs, options));
  Victim(std::move(store), static_cast<unsigned>(std::atoi(values[2]))).work();
  return 0;
}
