// MeshFile: the rows of mesh.db. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/ops/frontier.h"
#include "mesh/ops/node_key.h"
#include "mesh/roster/replica.h"
#include "mesh/store/mesh_schema.h"

namespace holdfast::mesh {

struct StoredOperation {
  Digest hash{};
  Place place{};
  std::uint64_t arrival = 0;  // on the log only
  OpId id;
  Timestamp at;
  std::vector<std::byte> bytes;
};

// The node whose store it is, and the user whose mesh it is in.
struct MeshIdentity {
  PublicKey user;
  NodeId node;
};

class MeshFile {
 public:
  // conflict when the file belongs to another node or user. Otherwise as open_mesh_db.
  static Result<std::unique_ptr<MeshFile>> open(const std::string& path,
                                                const MeshIdentity& identity,
                                                const std::string& vfs,
                                                std::chrono::milliseconds busy_timeout);

  // All writes happen between begin and commit; rollback undoes them.
  Result<void> begin() { return db_->exec("BEGIN IMMEDIATE"); }
  Result<void> commit() { return db_->exec("COMMIT"); }
  void rollback() { static_cast<void>(db_->exec("ROLLBACK")); }
  Result<void> checkpoint() { return db_->checkpoint_if_longer(kWalPages); }

  // Inserts the operation, or moves it. `arrival` is for the log only.
  Result<void> put(const Operation& operation, const Digest& hash, Place place,
                   std::uint64_t arrival);
  Result<void> erase(const Digest& hash);
  Result<void> put_key(const PublicKey& key);
  Result<void> erase_key(NodeId author);
  Result<void> put_clock(const Timestamp& at);
  Result<void> put_cursor(NodeId peer, std::span<const std::byte> cursor);

  [[nodiscard]] Result<std::vector<PublicKey>> keys();
  [[nodiscard]] Result<Timestamp> clock();
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> cursor(NodeId peer);
  [[nodiscard]] Result<std::uint64_t> last_arrival();

  using Visit = std::function<Result<void>(StoredOperation&)>;
  // In the order in which they were stored first.
  Result<void> each(const Visit& visit);
  [[nodiscard]] Result<std::vector<StoredOperation>> find(const OpId& id);
  // The operations of that author with that timestamp.
  [[nodiscard]] Result<std::vector<StoredOperation>> find_at(const Timestamp& at);
  // On the log and after the frontier of their author, by author and time.
  [[nodiscard]] Result<std::vector<StoredOperation>> newer_than(const Frontier& frontier,
                                                                std::size_t limit);
  // On the log and with a larger arrival, in the order of arrival.
  [[nodiscard]] Result<std::vector<StoredOperation>> arrived_after(std::uint64_t arrival,
                                                                   std::size_t limit);
  // A problem that SQLite finds in the file; "ok" when there is none.
  [[nodiscard]] Result<std::string> check_pages() {
    return db_->query_text("PRAGMA integrity_check(1)");
  }

 private:
  static constexpr int kWalPages = 4000;

  struct Statements {
    SqliteStatement put, erase, put_key, erase_key, put_clock, put_cursor;
  };
  explicit MeshFile(std::unique_ptr<SqliteDb> db) : db_(std::move(db)) {}
  Result<void> claim(const MeshIdentity& identity);
  Result<void> prepare();
  Result<std::vector<StoredOperation>> collect(SqliteStatement& statement);

  std::unique_ptr<SqliteDb> db_;
  std::optional<Statements> statements_;
};

}  // namespace holdfast::mesh
