// MeshStore: a replica on disk. Every call commits what it changed, in one transaction, before it
// returns: operations, keys, the clock and the cursor of the peer.
//
// Guarantees: what a call has answered is there after a kill; a timestamp is on disk before any
// other process can see it; a store is open in one process at a time. After a commit that failed
// the store is stopped: every call returns log_stopped, and the caller opens it again.
//
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "mesh/store/blob_folder.h"
#include "mesh/store/mesh_file.h"

namespace holdfast::mesh {

// Where tests stop or kill the process.
enum class StoreFault : std::uint8_t {
  begun,
  operation_written,
  operation_erased,
  keys_written,
  clock_written,
  cursor_written,  // the transaction is complete but for its commit
  committed,
};

struct MeshStoreOptions {
  ReplicaLimits limits = {};
  std::chrono::milliseconds busy_timeout{5'000};
  std::string vfs = {};
  std::function<Result<void>(StoreFault)> fault = {};
  BlobFolder::Fault blob_fault = {};
};

// What a peer has sent, and where to continue with it.
struct Received {
  std::vector<std::vector<std::byte>> operations;  // the wire bytes of each
  IngestSource source = IngestSource::pushed;
  struct Cursor {
    NodeId peer;
    std::vector<std::byte> bytes;
  };
  std::optional<Cursor> cursor = {};
};

class MeshStore {
 public:
  // Creates the folder if it is not there. busy: another process has it open. conflict: it is of
  // another node or user.
  static Result<std::unique_ptr<MeshStore>> open(const std::string& folder,
                                                 const MeshIdentity& identity,
                                                 std::uint64_t wall_now_ms,
                                                 MeshStoreOptions options = {});
  MeshStore(const MeshStore&) = delete;
  MeshStore& operator=(const MeshStore&) = delete;

  // One result for each operation. The cursor moves with them or not at all.
  Result<std::vector<IntakeResult>> ingest(const Received& received, std::uint64_t wall_now_ms);
  // As Replica::author.
  Result<Operation> author(Draft draft, const SigningKey& key, std::uint64_t wall_now_ms);
  // As Replica::release.
  Result<std::size_t> release(std::uint64_t wall_now_ms);
  // On disk when it returns; for content of more than kMaxInlineBytes.
  Result<Digest> put_content(std::span<const std::byte> content);

  [[nodiscard]] const Replica& replica() const { return replica_; }
  [[nodiscard]] std::vector<JobRegressed> take_regressed() {
    return replica_.roster().take_regressed();
  }
  [[nodiscard]] const BlobFolder& blobs() const { return blobs_; }
  [[nodiscard]] MeshFile& file() { return *file_; }
  [[nodiscard]] const MeshIdentity& identity() const { return identity_; }
  [[nodiscard]] const MeshStoreOptions& options() const { return options_; }
  // The arrival number of the newest operation on the log.
  [[nodiscard]] std::uint64_t last_arrival() const { return last_arrival_; }

 private:
  MeshStore(const MeshIdentity& identity, OwnedFd lock, std::unique_ptr<MeshFile> file,
            BlobFolder blobs, MeshStoreOptions options);
  Result<void> load(std::uint64_t wall_now_ms);
  Result<void> commit(const std::optional<Received::Cursor>& cursor);
  Result<void> write(const std::vector<PlaceChange>& changes,
                     const std::optional<Received::Cursor>& cursor);
  Result<void> write_change(const PlaceChange& change);
  [[nodiscard]] Result<void> check_running() const;
  [[nodiscard]] Result<void> reach(StoreFault point) const {
    return options_.fault ? options_.fault(point) : Result<void>();
  }

  MeshIdentity identity_;
  OwnedFd lock_;
  std::unique_ptr<MeshFile> file_;
  BlobFolder blobs_;
  MeshStoreOptions options_;
  Replica replica_;
  std::set<NodeId> stored_keys_;
  Timestamp stored_clock_;
  std::uint64_t last_arrival_ = 0;
  bool stopped_ = false;
};

}  // namespace holdfast::mesh
