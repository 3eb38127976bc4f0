// What is asked of /proc in the middle of somebody else's call: by plain system calls into small buffers, for the C
// library's own readers (fopen, opendir) take memory of the program's malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

// The mapping that an address lies in. False: none, or /proc cannot be read.
bool FindMapping(uintptr_t address, uintptr_t* low, uintptr_t* high);

// How many threads the process has; 0 if it cannot be told.
int CountTasks();

// Is a file open whose name begins so? /proc says the name that it was opened by.
bool HasOpenFile(const char* beginning);
// Is the file that this descriptor was opened by one with `part` in its name?
bool IsOpenFile(int fd, const char* part);

// The beginning of one of a thread's files ("comm": its name and a newline). Bytes read; 0: the thread has exited, or cannot
// be asked.
size_t ReadTaskFile(int32_t tid, const char* file, char* text, size_t size);

// What a thread is doing, as the kernel sees it. `stack` and `pc` are there unless it runs.
struct TaskCall {
  enum State : uint8_t { kUnknown, kRuns, kWaits } state = kUnknown;
  long number = -1;  // of the system call that it waits in; -1: in none (a page fault)
  unsigned long arguments[6] = {};
  uintptr_t stack = 0, pc = 0;

  bool operator==(const TaskCall& other) const;
};
TaskCall ReadTaskCall(int32_t tid);

}  // namespace rdmacheck
