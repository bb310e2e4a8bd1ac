// DataPath: the path to a value inside a JSON object: names of members and indexes of lists,
// separated by dots ("order.lines.0.sku"). Dots and backslashes in names are escaped with a
// backslash. "$" or nothing is the object itself, "$." in front is allowed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

class DataPath {
 public:
  // invalid_argument: an empty part, a backslash before anything but a dot or a backslash, more
  // than 64 parts, more than 1024 bytes.
  static Result<DataPath> parse(std::string_view text);

  [[nodiscard]] const std::vector<std::string>& parts() const { return parts_; }
  [[nodiscard]] std::string text() const;  // parse(text()) is the same path
  friend bool operator==(const DataPath&, const DataPath&) = default;

 private:
  std::vector<std::string> parts_;
};

// Values that have a name: a JSON object, or several on top of each other. What is looked up is
// found by its name without building a document.
class DataView {
 public:
  DataView() = default;
  virtual ~DataView() = default;
  // The slice of a member; empty when there is none. The name is not escaped.
  [[nodiscard]] virtual std::optional<std::string_view> member(std::string_view name) const = 0;
  // All members as one JSON object.
  [[nodiscard]] virtual std::string whole() const = 0;
};

// One JSON object as text. Of names that are there twice the last counts.
class ObjectView final : public DataView {
 public:
  // The text must outlive the view.
  explicit ObjectView(std::string_view object) : object_(object) {}
  [[nodiscard]] std::optional<std::string_view> member(std::string_view name) const override;
  [[nodiscard]] std::string whole() const override { return std::string(object_); }

 private:
  std::string_view object_;
};

// The slice of the value at the path, compact JSON; empty when there is nothing. The path of no
// parts is everything, and then the text is kept in `storage`.
std::optional<std::string_view> find_value(const DataView& data, const DataPath& path,
                                           std::string& storage);
// How many parts of the path exist.
std::size_t found_parts(const DataView& data, const DataPath& path);

}  // namespace holdfast
