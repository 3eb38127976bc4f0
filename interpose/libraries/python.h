// The Python of this process, 3.9 to 3.13: its functions, found by name in the file whose code was met. Never needed.
#pragma once

#include <link.h>

#include <string_view>

#include "interpose/libraries/elf_lookup.h"

namespace rdmacheck {

// Python's own structs, which nothing here looks into.
struct PythonObject;
struct PythonThread;
struct PythonInterpreter;

// All of them public, but for the thread's state without a check: that has a public name since 3.13.
#define RDMACHECK_PYTHON_FUNCTIONS(X)                                          \
  X(int, Py_IsInitialized, ())                                                 \
  X(const char*, Py_GetVersion, ())                                            \
  X(PythonThread*, PyGILState_GetThisThreadState, ())                          \
  X(PythonInterpreter*, PyThreadState_GetInterpreter, (PythonThread*))         \
  X(int64_t, PyInterpreterState_GetID, (PythonInterpreter*))                   \
  X(PythonObject*, PyThreadState_GetFrame, (PythonThread*))                    \
  X(PythonObject*, PyFrame_GetBack, (PythonObject*))                           \
  X(PythonObject*, PyFrame_GetCode, (PythonObject*))                           \
  X(int, PyFrame_GetLineNumber, (PythonObject*))                               \
  X(PythonObject*, PyObject_GetAttr, (PythonObject*, PythonObject*))           \
  X(PythonObject*, PyObject_GetAttrString, (PythonObject*, const char*))       \
  X(PythonObject*, PyUnicode_InternFromString, (const char*))                  \
  X(ssize_t, PyUnicode_GetLength, (PythonObject*))                             \
  X(uint32_t*, PyUnicode_AsUCS4, (PythonObject*, uint32_t*, ssize_t, int))     \
  X(PythonObject*, PyErr_Occurred, ())                                         \
  X(void, PyErr_Fetch, (PythonObject**, PythonObject**, PythonObject**))       \
  X(void, PyErr_Restore, (PythonObject*, PythonObject*, PythonObject*))        \
  X(void, PyErr_Clear, ())                                                     \
  X(void, Py_DecRef, (PythonObject*))                                          \
  X(int, Py_AtExit, (void (*)()))

struct Python {
#define RDMACHECK_PYTHON_FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
  RDMACHECK_PYTHON_FUNCTIONS(RDMACHECK_PYTHON_FUNCTION)
#undef RDMACHECK_PYTHON_FUNCTION
  PythonThread* (*CurrentThread)() = nullptr;  // null: no Python thread is attached (before 3.12: holds the GIL)
  int (*IsFinalizing)() = nullptr;
  // Where the version has them.
  int (*PyGC_Disable)() = nullptr;
  int (*PyGC_Enable)() = nullptr;
  PythonObject* (*PyErr_GetRaisedException)() = nullptr;
  void (*PyErr_SetRaisedException)(PythonObject*) = nullptr;
  CodeRange eval;  // _PyEval_EvalFrameDefault
  int minor = 0;   // of 3.minor
};

// Null: none was met. Once there, always the same.
const Python* ThePython();

// Looks in a loaded file; the range of its interpreter's loop, or nothing if it is no Python.
CodeRange SeePython(uintptr_t base, const ElfW(Dyn)* dynamic);
// Looks in the program and what it is linked with. dlsym() is not asked: it takes memory from the program where it finds nothing.
void LookForPython();

// Is a file of this name nothing but a Python: "python3.11", "libpython3.11.so.1.0"?
bool IsPythonFile(std::string_view path);

}  // namespace rdmacheck
