// A program that was built with ThreadSanitizer brings functions of its own in place of the C library's, and they watch
// the memory of whoever calls them: also ours, whose locks they do not know.
#pragma once

namespace rdmacheck {

// Where a ThreadSanitizer is in the process: this library's calls of the C library go to the C library from now on, past the
// sanitizer's interceptors. Else nothing. At load, before other threads can be in our code.
void CallPastSanitizer();

}  // namespace rdmacheck
