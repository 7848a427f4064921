// SPDX-License-Identifier: Apache-2.0
//
// The catalogue of errors: what went wrong, more precisely than a status says it, and what to
// do. The code that people see is "OPS-E" and the number in four digits: OPS-E0050.
//
// Numbers are stable: new causes are appended to their group, none is ever used again. A cause
// below 20 has the number of the status that it stands for, where nothing more precise is
// known. A reader treats a number that it does not know like the status beside it.
#ifndef OPS_CAUSE_H_
#define OPS_CAUSE_H_

#include <ops/status.h>

// What may stand beside several statuses, which then say how the call failed.
#define OPS_CAUSE_ANY_STATUS (-1)

// Models.
#define OPS_CAUSE_MALFORMED_FILE 20
#define OPS_CAUSE_CYCLE 21
#define OPS_CAUSE_WRONG_OPSET 22
#define OPS_CAUSE_WRONG_RANK 23
#define OPS_CAUSE_TYPES_DISAGREE 24
#define OPS_CAUSE_WRONG_ATTRIBUTE 25
#define OPS_CAUSE_WRONG_ARITY 26
#define OPS_CAUSE_UNDEFINED_NAME 27
#define OPS_CAUSE_DUPLICATE_NAME 28
#define OPS_CAUSE_LIMIT_EXCEEDED 29
#define OPS_CAUSE_EXTERNAL_OUTSIDE 30
#define OPS_CAUSE_EXTERNAL_UNREADABLE 31
#define OPS_CAUSE_EXTERNAL_SIZE 32
#define OPS_CAUSE_MALFORMED_TENSOR 33
#define OPS_CAUSE_RECURSIVE_FUNCTION 34
#define OPS_CAUSE_BODY_MISMATCH 35
#define OPS_CAUSE_NO_DERIVATIVE 36
// Inputs of a run.
#define OPS_CAUSE_UNKNOWN_INPUT 40
#define OPS_CAUSE_MISSING_INPUT 41
#define OPS_CAUSE_INPUT_SHAPE 42
#define OPS_CAUSE_INPUT_RANK 43
#define OPS_CAUSE_INPUT_TYPE 44
#define OPS_CAUSE_INPUT_TWICE 45
#define OPS_CAUSE_INPUT_DATA 46
// Kernels and placement.
#define OPS_CAUSE_NO_KERNEL 50
#define OPS_CAUSE_TYPE_UNSUPPORTED 51
#define OPS_CAUSE_CANNOT_FUSE 52
#define OPS_CAUSE_NOT_CONTIGUOUS 53
#define OPS_CAUSE_BROKEN_PROMISE 54
// Providers.
#define OPS_CAUSE_LIBRARY_MISSING 60
#define OPS_CAUSE_NOT_A_PROVIDER 61
#define OPS_CAUSE_ABI_MISMATCH 62
#define OPS_CAUSE_DRIVER_TOO_OLD 63
#define OPS_CAUSE_UNKNOWN_OPTION 64
#define OPS_CAUSE_NO_SUCH_DEVICE 65
// Execution.
#define OPS_CAUSE_ASYNC_FAILURE 70
#define OPS_CAUSE_DEADLINE 71
#define OPS_CAUSE_WRONG_VALUE 72
// Files and commands.
#define OPS_CAUSE_FILE_UNREADABLE 80
#define OPS_CAUSE_FILE_UNWRITABLE 81
#define OPS_CAUSE_USAGE 82
#define OPS_CAUSE_UNKNOWN_PASS 83

// X(constant, status, name, cause, how to find it, how to fix it)
#define OPS_CAUSE_LIST(X)                                                                      \
  X(OPS_ERROR_INVALID_ARGUMENT, OPS_ERROR_INVALID_ARGUMENT, "invalid argument",                \
    "A caller broke a rule of the call, or data lie outside of what an operator defines.",     \
    "The message names the argument or the node, with what was expected and found.",           \
    "Correct the argument; if a node is named, look at the data that reach it.")               \
  X(OPS_ERROR_OUT_OF_MEMORY, OPS_ERROR_OUT_OF_MEMORY, "out of memory",                         \
    "A memory has no room for what was asked for, or --memory-maximum allows no more.",        \
    "The message says how much was asked for, is free, and is the largest free block; "        \
    "--memory shows peaks, opsrun profile which values are live when.",                        \
    "Use smaller batches or another device; --shrink-after-run gives memory back; a largest "  \
    "block far below what is free is fragmentation: set --arena-initial.")                     \
  X(OPS_ERROR_UNSUPPORTED, OPS_ERROR_UNSUPPORTED, "not supported",                             \
    "The thing is legal, and this implementation lacks it.", "The message names the thing.",   \
    "Use another form of it, or a provider that has it; docs/operators.md lists what each "    \
    "takes.")                                                                                  \
  X(OPS_ERROR_UNSUPPORTED_VERSION, OPS_ERROR_UNSUPPORTED_VERSION, "version not supported",     \
    "Versions or sizes of structs of two parts cannot be reconciled.",                         \
    "The message names both versions.", "Build both parts against versions that meet.")        \
  X(OPS_ERROR_DEVICE_LOST, OPS_ERROR_DEVICE_LOST, "device lost",                               \
    "The device stopped answering: it was reset, unplugged, or its driver gave it up.",        \
    "The message names the device and the node that ran; the system's log has the driver's "   \
    "reason.",                                                                                 \
    "Make a new session. If it happens again at the same node, that kernel is the suspect: "   \
    "run it alone, or on another provider.")                                                   \
  X(OPS_ERROR_CANCELLED, OPS_ERROR_CANCELLED, "cancelled",                                     \
    "The work was cancelled before it was complete.",                                          \
    "The message says at which node; whoever holds the token of the run cancelled it.",        \
    "Nothing is broken: run again.")                                                           \
  X(OPS_ERROR_DECLINED, OPS_ERROR_DECLINED, "declined",                                        \
    "A provider claimed a group of nodes and then found that compiling it would be unwise.",   \
    "--placement shows who runs the nodes instead.",                                           \
    "None is needed; to keep the group, see the provider's reason.")                           \
  X(OPS_ERROR_INTERNAL, OPS_ERROR_INTERNAL, "internal error",                                  \
    "The runtime or a provider broke a rule of its own: a defect.",                            \
    "The message names the node and the provider; run the node on the provider reference to "  \
    "see which of the two it is, and with --no-memory-reuse.",                                 \
    "Report it with the model; until it is repaired, use another provider or --level 0.")      \
  X(OPS_ERROR_NOT_FOUND, OPS_ERROR_NOT_FOUND, "not found",                                     \
    "A thing of this name does not exist.", "The message says where it was looked for.",       \
    "Correct the name.")                                                                       \
  X(OPS_ERROR_IO, OPS_ERROR_IO, "input or output failed",                                      \
    "A file or a stream of bytes could not be read or written.",                               \
    "The message has the system's reason.",                                                    \
    "Correct the path, its permissions, or free "                                              \
    "space.")                                                                                  \
  X(OPS_ERROR_PRECONDITION, OPS_ERROR_PRECONDITION, "wrong state",                             \
    "The object is in the wrong state for the call.",                                          \
    "The message says which state it needs.",                                                  \
    "Make the calls in their order; see the header of the call.")                              \
  X(OPS_ERROR_NOT_READY, OPS_ERROR_NOT_READY, "not ready", "The work is still in progress.",   \
    "A query returns it; it is no failure.", "Ask again, or wait.")                            \
  X(OPS_ERROR_RECOMPILE, OPS_ERROR_RECOMPILE, "compiled code is outdated",                     \
    "A compiled blob can be used only after compiling again.", "The message names the blob.",  \
    "Compile again.")                                                                          \
  X(OPS_ERROR_INCOMPATIBLE, OPS_ERROR_INCOMPATIBLE, "incompatible",                            \
    "Something compiled belongs to another device, version or kind of build.",                 \
    "The message names what differs.", "Build or compile it for this device and host.")        \
  X(OPS_ERROR_INVALID_MODEL, OPS_ERROR_INVALID_MODEL, "invalid model",                         \
    "The model breaks the specification of ONNX.",                                             \
    "The message names the place; opsrun check MODEL says the same without running.",          \
    "Correct the exporter; onnx.checker judges models independently.")                         \
  X(OPS_ERROR_TIMEOUT, OPS_ERROR_TIMEOUT, "deadline passed",                                   \
    "A wait had a deadline, and it passed.", "The message says what was waited for.",          \
    "Allow more time, or find what takes so long with opsrun profile.")                        \
  X(OPS_CAUSE_MALFORMED_FILE, OPS_ERROR_INVALID_MODEL, "malformed file",                       \
    "The bytes are not what the file should hold: cut off, damaged, or of another format.",    \
    "The message names the byte or the field.",                                                \
    "Fetch or write the file again; compare its size and its checksum with the source.")       \
  X(OPS_CAUSE_CYCLE, OPS_ERROR_INVALID_MODEL, "graph has a cycle",                             \
    "Nodes need each other's outputs, so that none of them can run first, or a node reads "    \
    "what a later one makes.",                                                                 \
    "The message lists the nodes of the cycle.",                                               \
    "Break the cycle in the exporter, or sort the nodes; a recurrence belongs into a Loop or " \
    "Scan.")                                                                                   \
  X(OPS_CAUSE_WRONG_OPSET, OPS_CAUSE_ANY_STATUS, "wrong domain or opset",                      \
    "The operator does not exist in the domain and opset that the model imports.",             \
    "The message names the operator, the opset and the nearest operator that exists.",         \
    "Import the opset that has the operator, or correct the node's domain; custom operators "  \
    "come with the provider that has their schema.")                                           \
  X(OPS_CAUSE_WRONG_RANK, OPS_ERROR_INVALID_MODEL, "wrong rank",                               \
    "A tensor has another number of dimensions than is possible at its place.",                \
    "The message names the tensor, its rank and the expected one.",                            \
    "Reshape, Squeeze or Unsqueeze before the node, or correct the declared shape.")           \
  X(OPS_CAUSE_TYPES_DISAGREE, OPS_ERROR_INVALID_MODEL, "types or shapes do not fit",           \
    "The types or shapes of a node's operands break the operator's rule.",                     \
    "The message names the node and the rule.",                                                \
    "Look at the shapes that enter the node: opsrun check says the first place that is "       \
    "wrong.")                                                                                  \
  X(OPS_CAUSE_WRONG_ATTRIBUTE, OPS_ERROR_INVALID_MODEL, "wrong attribute",                     \
    "An attribute is unknown to the operator's version, missing, or of the wrong kind.",       \
    "The message names the node and the attribute.",                                           \
    "Correct the exporter, or the opset that the model imports.")                              \
  X(OPS_CAUSE_WRONG_ARITY, OPS_ERROR_INVALID_MODEL, "wrong number of inputs or outputs",       \
    "A node has more or fewer inputs or outputs than its operator, or leaves out one that is " \
    "required.",                                                                               \
    "The message names the node, with how many are possible.",                                 \
    "Correct the exporter, or the opset that the model imports.")                              \
  X(OPS_CAUSE_UNDEFINED_NAME, OPS_ERROR_INVALID_MODEL, "undefined name",                       \
    "Something is read, or listed as an output, that nothing defines.",                        \
    "The message names who reads it.", "Correct the name, or add what makes it.")              \
  X(OPS_CAUSE_DUPLICATE_NAME, OPS_ERROR_INVALID_MODEL, "name is used twice",                   \
    "Two things that share a space of names have the same name.",                              \
    "The message names both places.", "Rename one of them.")                                   \
  X(OPS_CAUSE_LIMIT_EXCEEDED, OPS_CAUSE_ANY_STATUS, "limit exceeded",                          \
    "The model or file is larger, deeper or longer than a limit that keeps hostile files "     \
    "from "                                                                                    \
    "taking all memory.",                                                                      \
    "The message names the limit; docs/limits.md lists them all.",                             \
    "Split the model, or raise the constant and build again.")                                 \
  X(OPS_CAUSE_EXTERNAL_OUTSIDE, OPS_ERROR_INVALID_MODEL,                                       \
    "external data outside of the folder",                                                     \
    "A tensor's data are to be read from a place outside of the model's folder, which a "      \
    "model must not do.",                                                                      \
    "The message names the location.",                                                         \
    "Put the file beside the model, and its plain name into the location.")                    \
  X(OPS_CAUSE_EXTERNAL_UNREADABLE, OPS_CAUSE_ANY_STATUS, "external data cannot be read",       \
    "The file with a tensor's data is missing or cannot be opened.",                           \
    "The message names the file and the system's reason.",                                     \
    "Copy the data files together with the model.")                                            \
  X(OPS_CAUSE_EXTERNAL_SIZE, OPS_ERROR_INVALID_MODEL, "external data have another size",       \
    "Offset and length of a tensor reach beyond the file, or do not fit its shape.",           \
    "The message names the tensor, its range and the size of the file.",                       \
    "The data file is of another version of the model, or incomplete: copy it again.")         \
  X(OPS_CAUSE_MALFORMED_TENSOR, OPS_ERROR_INVALID_MODEL, "malformed tensor",                   \
    "The data of a tensor do not fit its type and shape.",                                     \
    "The message names the tensor and the field.", "Correct what writes the tensor.")          \
  X(OPS_CAUSE_RECURSIVE_FUNCTION, OPS_ERROR_INVALID_MODEL, "function calls itself",            \
    "A model-local function contains a call of itself, perhaps through others.",               \
    "The message lists the calls.", "Write the recursion as a Loop.")                          \
  X(OPS_CAUSE_BODY_MISMATCH, OPS_ERROR_INVALID_MODEL, "body does not fit its node",            \
    "A body of If, Loop, Scan or SequenceMap has other inputs, outputs or types than its "     \
    "node "                                                                                    \
    "passes in and takes out, or a state changes its type on the way.",                        \
    "The message names the node, the value and the iteration.",                                \
    "Correct the body's inputs and outputs; insert a Cast where a state changes its type.")    \
  X(OPS_CAUSE_NO_DERIVATIVE, OPS_ERROR_UNSUPPORTED, "no derivative",                           \
    "A Gradient node leads through an operator that has no derivative rule.",                  \
    "The message names the node.",                                                             \
    "Take a path without it, or write the operator with others that have one.")                \
  X(OPS_CAUSE_UNKNOWN_INPUT, OPS_ERROR_INVALID_ARGUMENT, "unknown input name",                 \
    "A value was given for an input that the model does not have.",                            \
    "The message lists the inputs that it has.", "Correct the name.")                          \
  X(OPS_CAUSE_MISSING_INPUT, OPS_ERROR_INVALID_ARGUMENT, "input is missing",                   \
    "An input without default was not given.", "The message lists the inputs.",                \
    "Give it: --input NAME=FILE.")                                                             \
  X(OPS_CAUSE_INPUT_SHAPE, OPS_ERROR_INVALID_ARGUMENT, "input has another shape",              \
    "A dimension differs from the one that the model declares, or two that share a symbol "    \
    "differ from each other.",                                                                 \
    "The message names the input, the dimension, and both sizes.",                             \
    "Resize or pad the data, or export the model with a symbol for the dimension.")            \
  X(OPS_CAUSE_INPUT_RANK, OPS_ERROR_INVALID_ARGUMENT, "input has another rank",                \
    "The value has another number of dimensions than the input.",                              \
    "The message names the input, its type and the value's.",                                  \
    "Add or remove dimensions of size 1; a batch of one still has its dimension.")             \
  X(OPS_CAUSE_INPUT_TYPE, OPS_ERROR_INVALID_ARGUMENT, "input has another type",                \
    "The value has another element type or kind than the input.",                              \
    "The message names the input, its type and the value's.",                                  \
    "Convert the data: numpy makes double where models want float.")                           \
  X(OPS_CAUSE_INPUT_TWICE, OPS_ERROR_INVALID_ARGUMENT, "input is given twice",                 \
    "Two values were given for one input.", "The message names it.", "Give one of them.")      \
  X(OPS_CAUSE_INPUT_DATA, OPS_ERROR_INVALID_ARGUMENT, "input has no data, or too few",         \
    "The value has no data, or another number of bytes than its type and shape need.",         \
    "The message names the input and both sizes.", "Give row-major data without gaps.")        \
  X(OPS_CAUSE_NO_KERNEL, OPS_ERROR_UNSUPPORTED, "no kernel found",                             \
    "No provider of the session takes the node: the operator, its version, a type, a shape "   \
    "or "                                                                                      \
    "an attribute is beyond all of them.",                                                     \
    "The message has every provider's reason; opsrun providers LIB lists its kernels.",        \
    "Add a provider that has it (--provider), drop --no-fallback, or convert the model to an " \
    "opset whose version is there.")                                                           \
  X(OPS_CAUSE_TYPE_UNSUPPORTED, OPS_CAUSE_ANY_STATUS, "element type not supported",            \
    "The type is not known here, or cannot be held by the format or kernel at this place.",    \
    "The message names the type.", "Insert a Cast, or write another format.")                  \
  X(OPS_CAUSE_CANNOT_FUSE, OPS_ERROR_DECLINED, "cannot be fused",                              \
    "Nodes that are often fused stay apart: a condition of the fusion does not hold.",         \
    "opsrun explain MODEL lists near misses with the condition that failed.",                  \
    "Make the condition hold: constants instead of inputs, one reader, a provider that has "   \
    "the fused kernel.")                                                                       \
  X(OPS_CAUSE_NOT_CONTIGUOUS, OPS_ERROR_UNSUPPORTED, "expected contiguous data",               \
    "A tensor with gaps or other strides was given where only row-major data are taken.",      \
    "The message names the tensor.",                                                           \
    "Copy it into a contiguous one; a kernel that cannot take strides must say so in its "     \
    "definition, then the host copies.")                                                       \
  X(OPS_CAUSE_BROKEN_PROMISE, OPS_ERROR_INTERNAL, "provider broke its contract",               \
    "A provider answered a call with what the ABI forbids.",                                   \
    "The message names the provider, the call and the rule; opsconform --provider LIB finds "  \
    "where else.",                                                                             \
    "Repair the provider; until then leave it out.")                                           \
  X(OPS_CAUSE_LIBRARY_MISSING, OPS_CAUSE_ANY_STATUS, "library missing",                        \
    "The provider's shared object, or one that it needs, is not where it was looked for.",     \
    "The message lists the places; ldd LIB shows which library it misses.",                    \
    "Give the path, install the library, or set LD_LIBRARY_PATH.")                             \
  X(OPS_CAUSE_NOT_A_PROVIDER, OPS_CAUSE_ANY_STATUS, "not a provider",                          \
    "The file is no shared object for this machine, or does not export ops_provider_query "    \
    "as a provider does.",                                                                     \
    "The message says what was found; nm -D LIB lists what it exports.",                       \
    "Give the right file; build providers with the SDK's version script.")                     \
  X(OPS_CAUSE_ABI_MISMATCH, OPS_ERROR_UNSUPPORTED_VERSION, "provider ABI mismatch",            \
    "Provider and host speak versions of the ABI that do not meet, or one needs a feature "    \
    "that the other lacks.",                                                                   \
    "The message names both ranges of versions.",                                              \
    "Build the provider with the SDK of this release, or use the release that it was built "   \
    "for.")                                                                                    \
  X(OPS_CAUSE_DRIVER_TOO_OLD, OPS_ERROR_UNSUPPORTED_VERSION, "driver too old",                 \
    "The device's driver or library is older than the provider needs.",                        \
    "The message names both versions; opsrun providers LIB shows the driver's.",               \
    "Update the driver, or use an older provider.")                                            \
  X(OPS_CAUSE_UNKNOWN_OPTION, OPS_ERROR_INVALID_ARGUMENT, "unknown option of a provider",      \
    "A provider was given an option, or a value of one, that it does not have.",               \
    "The message names the option.", "Correct --option; see the provider's documentation.")    \
  X(OPS_CAUSE_NO_SUCH_DEVICE, OPS_ERROR_NOT_FOUND, "no such device",                           \
    "The provider sees fewer devices than the number asked for.",                              \
    "The message says how many it sees.",                                                      \
    "Use a smaller number; if devices are missing, look at the driver and at permissions.")    \
  X(OPS_CAUSE_ASYNC_FAILURE, OPS_CAUSE_ANY_STATUS, "asynchronous failure",                     \
    "Work on a queue of a device failed after the call that issued it had returned.",          \
    "The message names the node whose kernel failed, found by the events behind each node.",   \
    "Treat it as an error of that node: look at the data that reach it, and run it alone "     \
    "with "                                                                                    \
    "opsconform.")                                                                             \
  X(OPS_CAUSE_DEADLINE, OPS_ERROR_TIMEOUT, "kernel timed out",                                 \
    "The run's deadline passed while a node was running or before it began.",                  \
    "The message names the node.",                                                             \
    "Allow more time (--timeout), or see with opsrun profile whether that node hangs or is "   \
    "slow.")                                                                                   \
  X(OPS_CAUSE_WRONG_VALUE, OPS_ERROR_INVALID_ARGUMENT, "wrong value while running",            \
    "A value that was computed or given at run time is outside of what its reader allows.",    \
    "The message names the node and the value.",                                               \
    "Look at the inputs of the run, and at the nodes that compute the value.")                 \
  X(OPS_CAUSE_FILE_UNREADABLE, OPS_ERROR_IO, "file cannot be read",                            \
    "A file is missing, is no regular file, or may not be read.",                              \
    "The message has the path and the system's reason.", "Correct the path or permissions.")   \
  X(OPS_CAUSE_FILE_UNWRITABLE, OPS_ERROR_IO, "file cannot be written",                         \
    "A file or folder cannot be made, or the disk is full.",                                   \
    "The message has the path and the system's reason.",                                       \
    "Name a writable place with room; nothing was left half written.")                         \
  X(OPS_CAUSE_USAGE, OPS_ERROR_INVALID_ARGUMENT, "wrong command line",                         \
    "The command line is not one that the command understands.",                               \
    "The message names the argument.", "See opsrun COMMAND --help.")                           \
  X(OPS_CAUSE_UNKNOWN_PASS, OPS_ERROR_INVALID_ARGUMENT, "unknown pass or level",               \
    "The optimizer has no pass or level of this name.", "The message lists what there is.",    \
    "Correct it; opsrun optimize --list-passes lists all.")

#endif  // OPS_CAUSE_H_
