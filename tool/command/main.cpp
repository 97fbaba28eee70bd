#include "tool/command/command.h"

int main(int argc, char** argv) { return coalesce::tool::command(argc, argv, COALESCE_VERSION); }
