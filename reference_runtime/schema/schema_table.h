// SPDX-License-Identifier: Apache-2.0
//
// Private. The generated table, sorted by domain, name and version, in the order of strcmp.
#ifndef RT_SCHEMA_SCHEMA_TABLE_H_
#define RT_SCHEMA_SCHEMA_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

extern const rt_schema rt_schema_table[];
extern const size_t rt_schema_table_count;
extern const rt_schema_domain rt_schema_table_domains[];
extern const size_t rt_schema_table_domains_count;

#endif  // RT_SCHEMA_SCHEMA_TABLE_H_
