// BlobFolder: contents that are too large for an operation, each in a file named by its hash.
//
// A file is written under another name, synced and renamed, so a file with the name of a hash is
// complete. A file that does not have its hash is reported as damaged, never returned.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "holdfast/result.h"

namespace holdfast::mesh {

// Contents up to this size travel in their operation.
inline constexpr std::size_t kMaxInlineBytes = 64 * 1024;
inline constexpr std::size_t kMaxBlobBytes = 1ULL << 30U;

// Where tests stop or kill the process.
enum class BlobFault : std::uint8_t { created, written, synced, renamed };

class BlobFolder {
 public:
  using Fault = std::function<Result<void>(BlobFault)>;

  // Creates the folder if it is not there, and removes what an interrupted write has left.
  static Result<BlobFolder> open(std::string path, Fault fault = {});

  // On disk when it returns; nothing happens when it is there. too_large, disk_full, io_error.
  Result<Digest> put(std::span<const std::byte> content);
  // not_found; corrupt_log when the file does not have that hash.
  [[nodiscard]] Result<std::vector<std::byte>> get(const Digest& hash) const;
  [[nodiscard]] bool has(const Digest& hash) const;
  // Nothing happens when it is not there.
  Result<void> remove(const Digest& hash);
  // In ascending order.
  [[nodiscard]] Result<std::vector<Digest>> list() const;

 private:
  BlobFolder(std::string path, Fault fault) : path_(std::move(path)), fault_(std::move(fault)) {}
  [[nodiscard]] std::string file_of(const Digest& hash) const;
  [[nodiscard]] Result<void> reach(BlobFault point) const {
    return fault_ ? fault_(point) : Result<void>();
  }

  std::string path_;
  Fault fault_;
};

}  // namespace holdfast::mesh
