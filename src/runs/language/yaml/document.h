// YamlDocument: a YAML text as JSON, and the location of each value. JSON is YAML, so this
// reads both.
//
// Values are those of the core schema of YAML 1.2 (yaml/scalar.h). Rejected are duplicate names,
// merge keys, other tags, several documents; numbers that do not fit 64 bits; more than
// 1 MiB of text, kMaxYamlNodes values or kMaxYamlDepth levels, where an alias counts as what it
// stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "runs/language/yaml/source_text.h"
#include "runs/language/yaml/tree.h"

namespace holdfast {

class YamlDocument {
 public:
  // On failure a source_error.
  static Result<YamlDocument> parse(std::string_view text);

  // Members in the order they are written.
  [[nodiscard]] const JsonText& json() const { return json_; }
  // The location of {"steps","2","retry"}: a member of an object at its name, an item of a list at
  // its value. A missing value is at the nearest one that exists; inside an alias, in its target.
  [[nodiscard]] SourceLocation location(const std::vector<std::string>& path) const;

 private:
  YamlDocument(SourceText source, YamlTree tree);

  SourceText source_;
  YamlTree tree_;
  JsonText json_;
};

}  // namespace holdfast
