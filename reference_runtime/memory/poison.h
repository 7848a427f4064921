// SPDX-License-Identifier: Apache-2.0
//
// Memory that nobody may touch at present, told to AddressSanitizer: a kernel that reads or
// writes a value before it begins or after its end is reported where it does so. Nothing
// without the sanitizer. Only for addresses of the host.
#ifndef RT_MEMORY_POISON_H_
#define RT_MEMORY_POISON_H_

#if defined(__SANITIZE_ADDRESS__)
#define RT_POISON_WORKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RT_POISON_WORKS 1
#endif
#endif
#ifndef RT_POISON_WORKS
#define RT_POISON_WORKS 0
#endif

#if RT_POISON_WORKS
#include <sanitizer/asan_interface.h>
#define RT_POISON(address, size) ASAN_POISON_MEMORY_REGION((address), (size))
#define RT_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION((address), (size))
#else
#define RT_POISON(address, size) ((void)(address), (void)(size))
#define RT_UNPOISON(address, size) ((void)(address), (void)(size))
#endif

#endif  // RT_MEMORY_POISON_H_
