// Runs every input of the corpus through its target, in an ordinary build, so that fixed defects
// stay fixed. HOLDFAST_FUZZ_CORPUS is the folder fuzz/corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "fuzz/target.h"

namespace holdfast::fuzz_replay_test {

namespace {

namespace fs = std::filesystem;

// Far more than any input needs, even under a sanitizer.
constexpr double kMaxSeconds = 20;

std::vector<fs::path> inputs_of(std::string_view target) {
  std::vector<fs::path> files;
  const fs::path folder = fs::path(HOLDFAST_FUZZ_CORPUS) / target;
  std::error_code missing;
  for (const auto& file : fs::directory_iterator(folder, missing)) {
    files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A copy of exactly its size, so that a sanitizer detects every read past its end.
struct Bytes {
  std::unique_ptr<char[]> data;  // NOLINT(modernize-avoid-c-arrays)
  std::size_t size;
};

Bytes read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes{std::make_unique<char[]>(text.size()), text.size()};  // NOLINT
  std::copy(text.begin(), text.end(), bytes.data.get());
  return bytes;
}

std::vector<fuzz::Target> sorted_targets() {
  std::vector<fuzz::Target> sorted = fuzz::targets();
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
  return sorted;
}

TEST(FuzzReplay, every_target_has_a_corpus_and_every_corpus_a_target) {
  std::vector<std::string> names;
  for (const fuzz::Target& target : sorted_targets()) {
    names.emplace_back(target.name);
  }
  std::vector<std::string> folders;
  for (const auto& folder : fs::directory_iterator(HOLDFAST_FUZZ_CORPUS)) {
    folders.push_back(folder.path().filename().string());
  }
  std::sort(folders.begin(), folders.end());
  EXPECT_EQ(names, folders);
  EXPECT_EQ(names.size(), std::size_t{HOLDFAST_FUZZ_TARGETS});
}

TEST(FuzzReplay, every_input_keeps_the_laws_of_its_target) {
  for (const fuzz::Target& target : sorted_targets()) {
    const auto files = inputs_of(target.name);
    EXPECT_FALSE(files.empty()) << "no corpus for " << target.name;
    for (const fs::path& file : files) {
      const Bytes bytes = read(file);
      // A failed assertion ends the process: then the last line shows the input.
      std::cerr << std::string(target.name) << ' ' << file.filename().string() << "        \r";
      const std::clock_t begin = std::clock();
      EXPECT_NO_THROW(target.check({bytes.data.get(), bytes.size})) << file;
      EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, kMaxSeconds) << file;
    }
  }
  std::cerr << '\n';
}

}  // namespace

}  // namespace holdfast::fuzz_replay_test
