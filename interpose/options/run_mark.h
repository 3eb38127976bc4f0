// What `rdmacheck run` asks of the library beyond the options: RDMACHECK_RUN names its folder. Each process image
// leaves lines in FOLDER/marks (it started, it called a verb, it ended by exit) and its JSON report in a file of its
// own there, so that the command can name a process that ended without a word. Without the variable nothing here does
// anything.
#pragma once

#include <string>

namespace rdmacheck {

inline constexpr char kRunVariable[] = "RDMACHECK_RUN";
// Set to what LD_PRELOAD was: only the command itself is watched, its children find their environment as it was.
inline constexpr char kRunAloneVariable[] = "RDMACHECK_RUN_ALONE";
// The snapshot signal of `run`, where the program chose none: no default of a program or runtime uses it.
inline constexpr int kRunSnapshotSignal = 60;

// All may be called at any time; errno stays.
void RunMarkLoaded();           // from the library's constructor
void RunMarkVerbs();            // the first verb of this image
void RunMarkForked();           // in a child of a process that called verbs
void RunMarkEnded(int status);  // exit() was called
void RunMarkSnapshot(const char* path);
bool UnderRun();
void RunMarkJournal(const char* path);
std::string RunJournalPath();  // where the journal goes if none was asked for; empty: not under run
std::string RunReportPath();  // where the JSON report also goes; empty: not under run

}  // namespace rdmacheck
