// LiveScreen: lines at the end of a terminal that are drawn again and again.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace holdfast {

class LiveScreen {
 public:
  explicit LiveScreen(std::ostream& out) : out_(out) {}

  // In place of the lines drawn before.
  void draw(const std::vector<std::string>& lines);
  // Printed above, once, and left there.
  void print_above(const std::string& text);
  static std::size_t height();

 private:
  void erase();

  std::ostream& out_;
  std::vector<std::string> drawn_;
};

}  // namespace holdfast
