// .incbin puts the files into the executable without a copy of them in C++; CMakeLists.txt names them as what this file
// depends on.
#include "tool/present/html_assets.h"

#define COALESCE_EMBED(symbol, file)                                               \
  __asm__(                                                                         \
      ".pushsection .rodata\n"                                                     \
      ".local coalesce_" #symbol "\n.local coalesce_" #symbol                      \
      "_end\n"                                                                     \
      "coalesce_" #symbol ":\n.incbin \"" COALESCE_SOURCE_DIR "/report/dist/" file \
      "\"\n"                                                                       \
      "coalesce_" #symbol                                                          \
      "_end:\n"                                                                    \
      ".popsection\n");                                                            \
  extern "C" __attribute__((visibility("hidden"))) const char coalesce_##symbol[], coalesce_##symbol##_end[];

COALESCE_EMBED(report_script, "report.js")
COALESCE_EMBED(report_style, "report.css")

namespace coalesce::tool {
namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

}  // namespace

std::string_view report_script() { return between(coalesce_report_script, coalesce_report_script_end); }
std::string_view report_style() { return between(coalesce_report_style, coalesce_report_style_end); }

}  // namespace coalesce::tool
