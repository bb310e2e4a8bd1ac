#include "mesh/store/mesh_verify.h"

#include <fmt/format.h>

#include <limits>

#include "base/blake3.h"
#include "base/encoding.h"
#include "mesh/ops/signature.h"

namespace holdfast::mesh {

namespace {

class Verifier {
 public:
  explicit Verifier(MeshStore& store)
      : store_(store), rebuilt_(store.identity().user, store.identity().node, unlimited(store)) {}

  Result<MeshVerification> run() {
    HOLDFAST_TRY(const std::string pages, store_.file().check_pages());
    if (pages != "ok") {
      report("mesh.db: " + pages);
    }
    HOLDFAST_TRY(clock_, store_.file().clock());
    HOLDFAST_CHECK(store_.file().each([&](StoredOperation& stored) -> Result<void> {
      check(stored);
      return {};
    }));
    HOLDFAST_CHECK(check_rebuild());
    HOLDFAST_CHECK(check_contents());
    return std::move(found_);
  }

 private:
  // What is there may stay, whatever limits hold now, and time does not matter.
  static ReplicaLimits unlimited(const MeshStore& store) {
    constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
    ReplicaLimits limits = store.options().limits;
    limits.aside = limits.unknown = {kNoLimit, kNoLimit, kNoLimit, kNoLimit};
    limits.skew.max_ms = 0;
    return limits;
  }

  void report(std::string problem) { found_.problems.push_back(std::move(problem)); }

  void check(const StoredOperation& stored) {
    ++found_.operations;
    const std::string name = "operation " + to_hex(stored.hash);
    const auto operation = decode_operation(stored.bytes);
    if (!operation.ok()) {
      report(name + " cannot be read: " + operation.error().message());
      return;
    }
    const Operation& read = operation.value();
    if (blake3(stored.bytes) != stored.hash || read.id != stored.id ||
        read.timestamp != stored.at) {
      report(name + " is not what its row says");
    }
    if (stored.place == Place::log && Timestamp{clock_.wall_ms, clock_.logical, {}} <
                                          Timestamp{stored.at.wall_ms, stored.at.logical, {}}) {
      report(name + " is newer than the clock");
    }
    if (stored.place == Place::log || stored.place == Place::aside ||
        stored.place == Place::future) {
      const auto key = store_.replica().key_of(read.author());
      if (!key.has_value() || !verify_operation(read, *key)) {
        report(name + " has no valid signature");
        return;
      }
      ++found_.signatures;
      keys_.insert(*key);
      kept_.push_back({read, stored.hash, stored.place});
    }
  }

  // In the reverse order: the state must not depend on it.
  Result<void> check_rebuild() {
    for (const PublicKey& key : keys_) {
      rebuilt_.restore_key(key);
    }
    for (auto next = kept_.rbegin(); next != kept_.rend(); ++next) {
      HOLDFAST_CHECK(rebuilt_.restore(next->operation, next->hash, next->place));
    }
    rebuilt_.settle({}, 0);
    if (rebuilt_.roster().state_digest() != store_.replica().roster().state_digest()) {
      report("a rebuild gives another state than the one in memory");
    }
    return {};
  }

  Result<void> check_contents() {
    HOLDFAST_TRY(const auto contents, store_.blobs().list());
    for (const Digest& hash : contents) {
      ++found_.contents;
      if (const auto content = store_.blobs().get(hash); !content.ok()) {
        report(content.error().message());
      }
    }
    return {};
  }

  struct Kept {
    Operation operation;
    Digest hash{};
    Place place{};
  };

  MeshStore& store_;
  Replica rebuilt_;
  Timestamp clock_;
  std::set<PublicKey> keys_;
  std::vector<Kept> kept_;
  MeshVerification found_;
};

}  // namespace

Result<MeshVerification> verify_mesh(MeshStore& store) { return Verifier(store).run(); }

}  // namespace holdfast::mesh
