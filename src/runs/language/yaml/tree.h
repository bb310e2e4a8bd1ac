// YamlTree: a document as written, with its aliases. A node comes after the nodes
// it holds, and an alias after its target; the last node is the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "runs/language/yaml/source_text.h"

namespace holdfast {

inline constexpr std::size_t kMaxYamlNodes = 100'000;
inline constexpr std::size_t kMaxYamlDepth = 64;
// Of all scalars and names, where each alias counts as what it stands for.
inline constexpr std::size_t kMaxYamlBytes = 4 * kMaxSourceBytes;

struct YamlMember {
  std::string name;        // empty in a list
  std::size_t offset = 0;  // of the name; in a list of the item
  std::size_t node = 0;
};

struct YamlNode {
  enum class Kind : std::uint8_t { scalar, list, map, alias } kind = Kind::scalar;
  std::size_t offset = 0;           // where it begins
  std::string json;                 // of a scalar
  std::vector<YamlMember> members;  // of a list or map
  std::size_t target = 0;           // of an alias

  // With every alias in it replaced by its target.
  struct Size {
    std::size_t nodes = 1;
    std::size_t bytes = 0;
    std::size_t depth = 1;
  } size;
};

struct YamlTree {
  std::vector<YamlNode> nodes;
};

// An error of source_error: no YAML, several documents, names that are there twice, merge keys,
// tags that are not of the core schema, aliases inside their own anchor, or too much of anything.
Result<YamlTree> read_tree(const SourceText& source);

}  // namespace holdfast
