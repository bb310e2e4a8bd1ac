#include "mesh/store/mesh_file.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "holdfast/assert.h"

namespace holdfast::mesh {

namespace {

std::string_view chars_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::int64_t signed_of(std::uint64_t value) { return std::bit_cast<std::int64_t>(value); }
std::uint64_t unsigned_of(std::int64_t value) { return std::bit_cast<std::uint64_t>(value); }

template <std::size_t kSize>
bool read_array(std::array<std::byte, kSize>& to, std::string_view from) {
  if (from.size() != kSize) {
    return false;
  }
  std::transform(from.begin(), from.end(), to.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return true;
}

std::vector<std::byte> bytes_in(std::string_view from) {
  const auto* first = reinterpret_cast<const std::byte*>(from.data());
  return {first, first + from.size()};
}

Error damaged_row(std::string_view what) {
  return Error{ErrorCode::corrupt_log, "mesh.db has a damaged row: " + std::string(what)};
}

constexpr const char* kEach =
    "SELECT hash, place, arrival, id, author, wall, logical, bytes FROM operations ORDER BY row";
constexpr const char* kById =
    "SELECT hash, place, arrival, id, author, wall, logical, bytes FROM operations WHERE id = ?1 "
    "ORDER BY wall, logical, author, hash";
constexpr const char* kByTime =
    "SELECT hash, place, arrival, id, author, wall, logical, bytes FROM operations "
    "WHERE author = ?1 AND wall = ?2 AND logical = ?3 ORDER BY hash";
constexpr const char* kNewer =
    "SELECT hash, place, arrival, id, author, wall, logical, bytes FROM operations "
    "WHERE author = ?1 AND (wall, logical) > (?2, ?3) AND place = 0 "
    "ORDER BY wall, logical, hash LIMIT ?4";
constexpr const char* kArrived =
    "SELECT hash, place, arrival, id, author, wall, logical, bytes FROM operations "
    "WHERE arrival > ?1 ORDER BY arrival LIMIT ?2";

Result<StoredOperation> row_of(const SqliteStatement& row) {
  StoredOperation stored;
  stored.place = static_cast<Place>(row.column_integer(1));
  stored.arrival = row.is_null(2) ? 0 : unsigned_of(row.column_integer(2));
  stored.at = {unsigned_of(row.column_integer(5)),
               static_cast<std::uint32_t>(row.column_integer(6)),
               {unsigned_of(row.column_integer(4))}};
  if (!read_array(stored.hash, row.column_bytes(0)) ||
      !read_array(stored.id.bytes, row.column_bytes(3)) || stored.place >= Place::gone) {
    return damaged_row("an operation");
  }
  stored.bytes = bytes_in(row.column_bytes(7));
  return stored;
}

}  // namespace

Result<std::unique_ptr<MeshFile>> MeshFile::open(const std::string& path,
                                                 const MeshIdentity& identity,
                                                 const std::string& vfs,
                                                 std::chrono::milliseconds busy_timeout) {
  HOLDFAST_TRY(auto db, open_mesh_db(path, vfs, busy_timeout));
  std::unique_ptr<MeshFile> file(new MeshFile(std::move(db)));
  HOLDFAST_CHECK(file->claim(identity));
  HOLDFAST_CHECK(file->prepare());
  return file;
}

Result<void> MeshFile::claim(const MeshIdentity& identity) {
  HOLDFAST_TRY(auto insert, db_->prepare("INSERT INTO identity(one, user_key, node) "
                                         "VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING"));
  HOLDFAST_CHECK(insert.bind_blob(1, chars_of(identity.user.bytes))
                     .bind(2, signed_of(identity.node.value))
                     .run());
  HOLDFAST_TRY(auto select, db_->prepare("SELECT user_key, node FROM identity"));
  HOLDFAST_TRY(const bool found, select.step());
  PublicKey user;
  if (!found || !read_array(user.bytes, select.column_bytes(0))) {
    return damaged_row("the identity");
  }
  const bool same =
      user == identity.user && unsigned_of(select.column_integer(1)) == identity.node.value;
  select.reset();
  return same ? Result<void>()
              : Error{ErrorCode::conflict, "the store belongs to another node or another user"};
}

Result<void> MeshFile::prepare() {
  HOLDFAST_TRY(auto put, db_->prepare("INSERT INTO operations(hash, place, arrival, id, author, "
                                      "wall, logical, bytes) "
                                      "VALUES (?1, ?2, NULLIF(?3, 0), ?4, ?5, ?6, ?7, ?8) "
                                      "ON CONFLICT(hash) DO UPDATE SET place = excluded.place, "
                                      "arrival = excluded.arrival"));
  HOLDFAST_TRY(auto erase, db_->prepare("DELETE FROM operations WHERE hash = ?1 AND place <> 0"));
  HOLDFAST_TRY(auto put_key, db_->prepare("INSERT INTO keys(author, public_key) VALUES (?1, ?2) "
                                          "ON CONFLICT DO NOTHING"));
  HOLDFAST_TRY(auto erase_key, db_->prepare("DELETE FROM keys WHERE author = ?1"));
  HOLDFAST_TRY(auto put_clock,
               db_->prepare("INSERT INTO clock(one, wall, logical) VALUES (1, ?1, ?2) "
                            "ON CONFLICT(one) DO UPDATE SET wall = ?1, logical = ?2"));
  HOLDFAST_TRY(auto put_cursor, db_->prepare("INSERT INTO cursors(peer, cursor) VALUES (?1, ?2) "
                                             "ON CONFLICT(peer) DO UPDATE SET cursor = ?2"));
  statements_.emplace(Statements{std::move(put), std::move(erase), std::move(put_key),
                                 std::move(erase_key), std::move(put_clock),
                                 std::move(put_cursor)});
  return {};
}

Result<void> MeshFile::put(const Operation& operation, const Digest& hash, Place place,
                           std::uint64_t arrival) {
  HOLDFAST_ASSERT((place == Place::log) == (arrival > 0));
  const auto bytes = encode_operation(operation);
  return statements_->put.bind_blob(1, chars_of(hash))
      .bind(2, static_cast<std::int64_t>(place))
      .bind(3, signed_of(arrival))
      .bind_blob(4, chars_of(operation.id.bytes))
      .bind(5, signed_of(operation.timestamp.node.value))
      .bind(6, signed_of(operation.timestamp.wall_ms))
      .bind(7, std::int64_t{operation.timestamp.logical})
      .bind_blob(8, chars_of(bytes))
      .run();
}

Result<void> MeshFile::erase(const Digest& hash) {
  return statements_->erase.bind_blob(1, chars_of(hash)).run();
}

Result<void> MeshFile::put_key(const PublicKey& key) {
  return statements_->put_key.bind(1, signed_of(node_id_of(key).value))
      .bind_blob(2, chars_of(key.bytes))
      .run();
}

Result<void> MeshFile::erase_key(NodeId author) {
  return statements_->erase_key.bind(1, signed_of(author.value)).run();
}

Result<void> MeshFile::put_clock(const Timestamp& at) {
  return statements_->put_clock.bind(1, signed_of(at.wall_ms))
      .bind(2, std::int64_t{at.logical})
      .run();
}

Result<void> MeshFile::put_cursor(NodeId peer, std::span<const std::byte> cursor) {
  return statements_->put_cursor.bind(1, signed_of(peer.value))
      .bind_blob(2, chars_of(cursor))
      .run();
}

Result<std::vector<PublicKey>> MeshFile::keys() {
  HOLDFAST_TRY(auto select, db_->prepare("SELECT author, public_key FROM keys ORDER BY author"));
  std::vector<PublicKey> keys;
  for (;;) {
    HOLDFAST_TRY(const bool more, select.step());
    if (!more) {
      return keys;
    }
    PublicKey& key = keys.emplace_back();
    if (!read_array(key.bytes, select.column_bytes(1)) ||
        node_id_of(key).value != unsigned_of(select.column_integer(0))) {
      return damaged_row("a key");
    }
  }
}

Result<Timestamp> MeshFile::clock() {
  HOLDFAST_TRY(auto select, db_->prepare("SELECT wall, logical FROM clock"));
  HOLDFAST_TRY(const bool found, select.step());
  if (!found) {
    return Timestamp{};
  }
  return Timestamp{unsigned_of(select.column_integer(0)),
                   static_cast<std::uint32_t>(select.column_integer(1)),
                   {}};
}

Result<std::optional<std::vector<std::byte>>> MeshFile::cursor(NodeId peer) {
  HOLDFAST_TRY(auto select, db_->prepare("SELECT cursor FROM cursors WHERE peer = ?1"));
  select.bind(1, signed_of(peer.value));
  HOLDFAST_TRY(const bool found, select.step());
  return found ? std::optional(bytes_in(select.column_bytes(0))) : std::nullopt;
}

Result<std::uint64_t> MeshFile::last_arrival() {
  HOLDFAST_TRY(auto select, db_->prepare("SELECT max(arrival) FROM operations"));
  HOLDFAST_TRY(const bool found, select.step());
  HOLDFAST_ASSERT(found);
  return unsigned_of(select.column_integer(0));
}

Result<void> MeshFile::each(const Visit& visit) {
  HOLDFAST_TRY(auto select, db_->prepare(kEach));
  for (;;) {
    HOLDFAST_TRY(const bool more, select.step());
    if (!more) {
      return {};
    }
    HOLDFAST_TRY(StoredOperation stored, row_of(select));
    HOLDFAST_CHECK(visit(stored));
  }
}

Result<std::vector<StoredOperation>> MeshFile::collect(SqliteStatement& statement) {
  std::vector<StoredOperation> found;
  for (;;) {
    HOLDFAST_TRY(const bool more, statement.step());
    if (!more) {
      return found;
    }
    HOLDFAST_TRY(StoredOperation stored, row_of(statement));
    found.push_back(std::move(stored));
  }
}

Result<std::vector<StoredOperation>> MeshFile::find(const OpId& id) {
  HOLDFAST_TRY(auto select, db_->prepare(kById));
  select.bind_blob(1, chars_of(id.bytes));
  return collect(select);
}

Result<std::vector<StoredOperation>> MeshFile::find_at(const Timestamp& at) {
  HOLDFAST_TRY(auto select, db_->prepare(kByTime));
  select.bind(1, signed_of(at.node.value))
      .bind(2, signed_of(at.wall_ms))
      .bind(3, std::int64_t{at.logical});
  return collect(select);
}

Result<std::vector<StoredOperation>> MeshFile::newer_than(const Frontier& frontier,
                                                          std::size_t limit) {
  HOLDFAST_TRY(auto authors, db_->prepare("SELECT DISTINCT author FROM operations"));
  HOLDFAST_TRY(auto select, db_->prepare(kNewer));
  std::vector<StoredOperation> found;
  while (found.size() < limit) {
    HOLDFAST_TRY(const bool more, authors.step());
    if (!more) {
      break;
    }
    const NodeId author{unsigned_of(authors.column_integer(0))};
    const auto known = frontier.find(author);
    const bool any = known != frontier.end();
    select.bind(1, signed_of(author.value))
        .bind(2, any ? signed_of(known->second.wall_ms) : -1)
        .bind(3, any ? std::int64_t{known->second.logical} : -1)
        .bind(4, static_cast<std::int64_t>(limit - found.size()));
    HOLDFAST_TRY(auto of_author, collect(select));
    select.reset();
    std::move(of_author.begin(), of_author.end(), std::back_inserter(found));
  }
  return found;
}

Result<std::vector<StoredOperation>> MeshFile::arrived_after(std::uint64_t arrival,
                                                             std::size_t limit) {
  HOLDFAST_TRY(auto select, db_->prepare(kArrived));
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  select.bind(1, signed_of(std::min(arrival, kMost))).bind(2, static_cast<std::int64_t>(limit));
  return collect(select);
}

}  // namespace holdfast::mesh
