// The destination of text and its form there: colour, width in columns, numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::tool {

enum class Colour { automatic, always, never };

// True if text for the file descriptor gets colours. `automatic`: only a terminal does, and not when NO_COLOR is set or
// TERM is dumb.
bool use_colour(Colour wish, int descriptor);

enum class Style { plain, bold, dim, good, bad };
std::string styled(std::string_view text, Style style, bool colour);

// "1 launch", "2 launches": the noun takes an s, or es where it ends in ch.
std::string plural(uint64_t count, std::string_view noun);

// Columns that UTF-8 text takes on a terminal. Invalid bytes count one column each.
std::size_t display_width(std::string_view text);
// `text` cut in the middle to at most `columns`, with an ellipsis in place of what is left out.
std::string fit(std::string_view text, std::size_t columns);

// `text` broken between words into lines of at most `width` columns; every line but the first begins with `indent`
// spaces. A word that is longer stands on a line of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t indent);
// Columns of the terminal that the descriptor is; 80 where it is none, and at least 40.
std::size_t terminal_width(int descriptor);

std::string grouped(uint64_t value);  // 16777216 -> 16,777,216
// At most five columns: 9999 as it is, then 16.8M, 524k, 1.07G (three digits that mean something).
std::string compact(uint64_t value);
std::string fixed(double value, int digits);  // "4.0"

// On standard error: one `error:` line, and one `hint:` line where there is a hint.
void print_error(const std::string& message, const std::string& hint, bool colour);

}  // namespace coalesce::tool
