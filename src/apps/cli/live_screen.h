// LiveScreen: lines at the end of a terminal that are redrawn.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace holdfast::cli {

class LiveScreen {
 public:
  explicit LiveScreen(std::ostream& out) : out_(out) {}

  // Replaces the lines drawn before.
  void draw(const std::vector<std::string>& lines);
  // Prints text above the lines, once.
  void print_above(const std::string& text);
  static std::size_t height();

 private:
  void erase();

  std::ostream& out_;
  std::vector<std::string> drawn_;
};

}  // namespace holdfast::cli
