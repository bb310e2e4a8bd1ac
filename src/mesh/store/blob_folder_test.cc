#include "mesh/store/blob_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/blake3.h"
#include "base/encoding.h"
#include "tests/support/mesh_samples.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::mesh::blob_folder_test {
namespace {

struct Folder {
  TempDir dir;
  BlobFolder blobs = must(BlobFolder::open(dir.path() + "/blobs"));
  std::string file_of(const Digest& hash) const { return dir.path() + "/blobs/" + to_hex(hash); }
};

TEST(BlobFolder, a_content_is_found_by_its_hash) {
  Folder folder;
  const std::vector<std::byte> content(100'000, std::byte{7});
  const Digest hash = must(folder.blobs.put(content));
  EXPECT_EQ(hash, blake3(content));
  EXPECT_TRUE(folder.blobs.has(hash));
  EXPECT_EQ(must(folder.blobs.get(hash)), content);
  EXPECT_EQ(must(folder.blobs.put(content)), hash);
  EXPECT_EQ(must(folder.blobs.list()), std::vector{hash});
  must(folder.blobs.remove(hash));
  must(folder.blobs.remove(hash));
  EXPECT_EQ(folder.blobs.get(hash).error().code(), ErrorCode::not_found);
}

TEST(BlobFolder, a_changed_file_is_damage_and_never_content) {
  Folder folder;
  const Digest hash = must(folder.blobs.put(bytes_of("content")));
  std::ofstream(folder.file_of(hash)) << "kontent";
  EXPECT_EQ(folder.blobs.get(hash).error().code(), ErrorCode::corrupt_log);
  std::filesystem::resize_file(folder.file_of(hash), 3);
  EXPECT_EQ(folder.blobs.get(hash).error().code(), ErrorCode::corrupt_log);
}

TEST(BlobFolder, what_an_interrupted_write_left_is_removed) {
  TempDir dir;
  const BlobFolder::Fault fault = [](BlobFault at) -> Result<void> {
    return at == BlobFault::written ? Error{ErrorCode::io_error, "planned"} : Result<void>();
  };
  BlobFolder failing = must(BlobFolder::open(dir.path() + "/blobs", fault));
  EXPECT_FALSE(failing.put(bytes_of("content")).ok());
  EXPECT_FALSE(failing.has(blake3("content")));
  EXPECT_FALSE(std::filesystem::is_empty(dir.path() + "/blobs"));
  const BlobFolder again = must(BlobFolder::open(dir.path() + "/blobs"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path() + "/blobs"));
  EXPECT_TRUE(must(again.list()).empty());
}

}  // namespace
}  // namespace holdfast::mesh::blob_folder_test
