#include "mesh/store/mesh_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <utility>

#include "storage/sqlite/sqlite_path.h"

namespace holdfast::mesh {

namespace {

Result<OwnedFd> lock_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return file_error(folder, errno);
  }
  const std::string path = folder + "/lock";
  OwnedFd held(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!held.is_open()) {
    return file_error(path, errno);
  }
  if (::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? Error{ErrorCode::busy, "another process has the store in " + folder + " open"}
               : file_error(path, errno);
  }
  return held;
}

// Only the last change of an operation counts, in the place of that one.
std::vector<PlaceChange> last_changes(const std::vector<PlaceChange>& changes) {
  std::map<Digest, std::size_t> last;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    last[changes[i].hash] = i;
  }
  std::vector<PlaceChange> kept;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (last.at(changes[i].hash) == i) {
      kept.push_back(changes[i]);
    }
  }
  return kept;
}

}  // namespace

MeshStore::MeshStore(const MeshIdentity& identity, OwnedFd lock, std::unique_ptr<MeshFile> file,
                     BlobFolder blobs, MeshStoreOptions options)
    : identity_(identity),
      lock_(std::move(lock)),
      file_(std::move(file)),
      blobs_(std::move(blobs)),
      options_(std::move(options)),
      replica_(identity.user, identity.node, options_.limits) {}

Result<std::unique_ptr<MeshStore>> MeshStore::open(const std::string& folder,
                                                   const MeshIdentity& identity,
                                                   std::uint64_t wall_now_ms,
                                                   MeshStoreOptions options) {
  HOLDFAST_TRY(OwnedFd lock, lock_folder(folder));
  HOLDFAST_TRY(auto file,
               MeshFile::open(folder + "/mesh.db", identity, options.vfs, options.busy_timeout));
  HOLDFAST_TRY(BlobFolder blobs, BlobFolder::open(folder + "/blobs", options.blob_fault));
  std::unique_ptr<MeshStore> store(new MeshStore(identity, std::move(lock), std::move(file),
                                                 std::move(blobs), std::move(options)));
  HOLDFAST_CHECK(store->load(wall_now_ms));
  return store;
}

Result<void> MeshStore::load(std::uint64_t wall_now_ms) {
  HOLDFAST_TRY(const auto keys, file_->keys());
  for (const PublicKey& key : keys) {
    replica_.restore_key(key);
    stored_keys_.insert(node_id_of(key));
  }
  HOLDFAST_CHECK(file_->each([&](StoredOperation& stored) -> Result<void> {
    auto operation = decode_stored_operation(stored.bytes);
    if (!operation.ok()) {
      return Error{ErrorCode::corrupt_log,
                   "mesh.db has an operation that cannot be read: " + operation.error().message()};
    }
    return replica_.restore(std::move(operation).value(), stored.hash, stored.place);
  }));
  HOLDFAST_TRY(stored_clock_, file_->clock());
  stored_clock_.node = identity_.node;
  HOLDFAST_TRY(last_arrival_, file_->last_arrival());
  replica_.settle(stored_clock_, wall_now_ms);
  return commit(std::nullopt);
}

Result<void> MeshStore::check_running() const {
  return stopped_ ? Error{ErrorCode::log_stopped,
                          "a commit of this store failed before; open the store again"}
                  : Result<void>();
}

Result<std::vector<IntakeResult>> MeshStore::ingest(const Received& received,
                                                    std::uint64_t wall_now_ms) {
  HOLDFAST_CHECK(check_running());
  std::vector<IntakeResult> results;
  results.reserve(received.operations.size());
  for (const auto& bytes : received.operations) {
    results.push_back(replica_.ingest(bytes, wall_now_ms, received.source));
  }
  HOLDFAST_CHECK(commit(received.cursor));
  return results;
}

Result<Operation> MeshStore::author(Draft draft, const SigningKey& key, std::uint64_t wall_now_ms) {
  HOLDFAST_CHECK(check_running());
  HOLDFAST_TRY(Operation operation, replica_.author(std::move(draft), key, wall_now_ms));
  HOLDFAST_CHECK(commit(std::nullopt));
  return operation;
}

Result<std::size_t> MeshStore::release(std::uint64_t wall_now_ms) {
  HOLDFAST_CHECK(check_running());
  const std::size_t released = replica_.release(wall_now_ms);
  HOLDFAST_CHECK(commit(std::nullopt));
  return released;
}

Result<Digest> MeshStore::put_content(std::span<const std::byte> content) {
  HOLDFAST_CHECK(check_running());
  return blobs_.put(content);
}

Result<void> MeshStore::commit(const std::optional<Received::Cursor>& cursor) {
  const auto changes = last_changes(replica_.take_changes());
  if (changes.empty() && !cursor.has_value() && replica_.local_time().state() == stored_clock_) {
    return {};
  }
  auto done = file_->begin();
  if (done.ok()) {
    done = write(changes, cursor);
  }
  if (done.ok()) {
    done = file_->commit();
  }
  if (!done.ok()) {
    stopped_ = true;
    file_->rollback();
    return done;
  }
  stored_clock_ = replica_.local_time().state();
  // What is left in the write-ahead log is durable; the next commit tries again.
  static_cast<void>(file_->checkpoint());
  return reach(StoreFault::committed);
}

Result<void> MeshStore::write(const std::vector<PlaceChange>& changes,
                              const std::optional<Received::Cursor>& cursor) {
  HOLDFAST_CHECK(reach(StoreFault::begun));
  for (const PlaceChange& change : changes) {
    HOLDFAST_CHECK(write_change(change));
  }
  HOLDFAST_CHECK(file_->put_clock(replica_.local_time().state()));
  HOLDFAST_CHECK(reach(StoreFault::clock_written));
  if (cursor.has_value()) {
    HOLDFAST_CHECK(file_->put_cursor(cursor->peer, cursor->bytes));
  }
  return reach(StoreFault::cursor_written);
}

Result<void> MeshStore::write_change(const PlaceChange& change) {
  const auto key = replica_.key_of(change.author);
  if (change.place == Place::gone) {
    HOLDFAST_CHECK(file_->erase(change.hash));
    if (!key.has_value() && stored_keys_.erase(change.author) > 0) {
      HOLDFAST_CHECK(file_->erase_key(change.author));
    }
    return reach(StoreFault::operation_erased);
  }
  const Operation* operation = replica_.find(change.hash);
  HOLDFAST_ASSERT(operation != nullptr);
  const std::uint64_t arrival = change.place == Place::log ? ++last_arrival_ : 0;
  HOLDFAST_CHECK(file_->put(*operation, change.hash, change.place, arrival));
  HOLDFAST_CHECK(reach(StoreFault::operation_written));
  if (key.has_value() && stored_keys_.insert(change.author).second) {
    HOLDFAST_CHECK(file_->put_key(*key));
    HOLDFAST_CHECK(reach(StoreFault::keys_written));
  }
  return {};
}

}  // namespace holdfast::mesh
