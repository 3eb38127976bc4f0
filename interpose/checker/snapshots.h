// snapshot_signal: JSON reports on demand, written by a thread that exists only when asked for.
#pragma once

namespace rdmacheck {

class Reporter;

void StartSnapshots(int signal_number, Reporter& reporter);
// For `rdmacheck run`, at the first verb; does nothing if the program uses that signal.
void StartRunSnapshots(Reporter& reporter);
// At the end of the process. The signal may have come a moment before, and who sent it waits for the file: what nobody has
// begun is written here, what our thread is writing is waited for, a second at most.
void WriteSnapshotsDue();
// In the main thread, before any of the above: when it leaves by pthread_exit the process ends with the program's last
// thread, although ours stays.
void WatchMainThread();
void SnapshotsForkChild();

}  // namespace rdmacheck
