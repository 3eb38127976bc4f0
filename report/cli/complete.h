// What a shell may complete a command line with. The files in scripts/completions ask by `rdmacheck complete WORD...`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rdmacheck {

// `words` are those after `rdmacheck`, the last one being typed (perhaps empty). A line for each candidate, which begins as
// that word does: the whole word, a tab, what it is. `--name=` and `name=` expect more. The last line says what may stand
// there besides: ":file", ":folder", ":command N" (a command line of its own begins at word N, from 0), or ":none".
std::string Complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace rdmacheck
