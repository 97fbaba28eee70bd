#include "tool/command/banks.h"

#include <unistd.h>

#include <iostream>

#include "tool/present/banks.h"

namespace coalesce::tool {

int banks(const BankOptions& options) {
  const BankPicture picture = bank_picture({options.stride, options.width, options.pad, options.lanes});
  if (options.json) {
    std::cout << banks_json(picture);
  } else {
    print_banks(std::cout, picture, use_colour(options.colour, STDOUT_FILENO), terminal_width(STDOUT_FILENO));
  }
  return 0;
}

}  // namespace coalesce::tool
