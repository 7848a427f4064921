// SPDX-License-Identifier: Apache-2.0
//
// Reading YAML nodes into structures by tables. A grammar is a table of keys; each key names
// the function that reads its value and the offset where the result belongs. The same tables
// refuse unknown keys, demand required ones, and print the grammar's documentation.
#ifndef OC_CONTRACT_READER_H_
#define OC_CONTRACT_READER_H_

#include <stdio.h>

#include "contract/contract.h"
#include "contract/nearest.h"
#include "contract/yaml_tree.h"

// The state of reading one contract (one YAML document).
typedef struct oc_reader {
  oc_arena *arena;
  const char *file;
  ops_error *error;
  oc_contract *contract;  // what has been read so far; names resolve against it
  // What evaluating a name of `let` costs, since lets may use lets; and how deep that goes.
  uint32_t let_cost[OC_CONTRACT_MAX_PARAMS];
  uint32_t let_depth[OC_CONTRACT_MAX_PARAMS];
  uint32_t cost;                   // of the lets named in the expression being parsed
  uint32_t depth;                  // of the deepest of them
  const oc_yaml_node **broken_by;  // per constraint: how to break it, read after the rows
} oc_reader;

struct oc_field;
typedef int32_t (*oc_read_fn)(oc_reader *reader, const oc_yaml_node *node,
                              const struct oc_field *field, void *out);

typedef struct oc_field {
  const char *name;
  const char *form;  // for the documentation: "text", "integer", "one of …"
  bool required;
  oc_read_fn read;
  size_t offset;      // of the result in the target structure
  const void *extra;  // what `read` wants to know: a word table, a nested grammar
  const char *help;
} oc_field;

typedef struct oc_grammar {
  const char *name;
  const char *help;
  const oc_field *fields;
  size_t count;
} oc_grammar;

typedef struct oc_word {
  const char *name;
  int value;
} oc_word;
typedef struct oc_words {
  const char *what;  // "judge": for messages
  const oc_word *items;
  size_t count;
} oc_words;

// The word tables of the enumerations of contract.h; defined in words.c.
extern const oc_words oc_words_kind, oc_words_judge, oc_words_fill, oc_words_profile,
    oc_words_attr, oc_words_class, oc_words_determinism, oc_words_strides, oc_words_threads,
    oc_words_async, oc_words_dynamic, oc_words_nan, oc_words_infinity, oc_words_signed_zero,
    oc_words_denormal, oc_words_invariant, oc_words_law, oc_words_type, oc_words_status;

// Sets the error "file:line:column: …" for a node, its key, or a byte within its text.
int32_t oc_reader_fail(const oc_reader *reader, const oc_yaml_node *node, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
int32_t oc_reader_fail_key(const oc_reader *reader, const oc_yaml_node *node,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));
int32_t oc_reader_no_memory(const oc_reader *reader);
oc_position oc_reader_position(const oc_reader *reader, const oc_yaml_node *node);

// Checks the kind of a node; `what` completes "expected …".
int32_t oc_reader_expect(const oc_reader *reader, const oc_yaml_node *node, oc_yaml_kind kind,
                         const char *what);

// Reads a mapping by its grammar. Fields are read in the order of the table, not of the file,
// so a field may rely on those before it.
int32_t oc_read_record(oc_reader *reader, const oc_yaml_node *node, const oc_grammar *grammar,
                       void *target);
// Reads a list of mappings into an array of `size`-byte items.
int32_t oc_read_records(oc_reader *reader, const oc_yaml_node *node, const oc_grammar *grammar,
                        size_t size, size_t max, void **out_items, size_t *out_count);

// Field readers. `out` is what the comment says.
int32_t oc_read_text(oc_reader *, const oc_yaml_node *, const oc_field *,
                     void *);  // const char *
int32_t oc_read_name(oc_reader *, const oc_yaml_node *, const oc_field *,
                     void *);  // const char *
int32_t oc_read_bool(oc_reader *, const oc_yaml_node *, const oc_field *, void *);   // bool
int32_t oc_read_count(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // uint32_t
int32_t oc_read_real(oc_reader *, const oc_yaml_node *, const oc_field *, void *);   // double
int32_t oc_read_share(oc_reader *, const oc_yaml_node *, const oc_field *,
                      void *);  // double, "5%"
int32_t oc_read_word(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // enum
int32_t oc_read_type(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // int32_t
int32_t oc_read_expr(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // oc_expr *
int32_t oc_read_range(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // oc_range
int32_t oc_read_nested(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // extra
int32_t oc_read_fills(oc_reader *, const oc_yaml_node *, const oc_field *, void *);  // uint32_t

// Plain helpers.
int32_t oc_reader_word(oc_reader *reader, const oc_yaml_node *node, const oc_words *words,
                       int *out_value);
int32_t oc_reader_int(oc_reader *reader, const oc_yaml_node *node, int64_t *out_value);
bool oc_text_to_int(const char *text, int64_t *out_value);
bool oc_text_to_real(const char *text, double *out_value);
int32_t oc_reader_texts(oc_reader *reader, const oc_yaml_node *node,
                        const char *const **out_texts, size_t *out_count);
int32_t oc_reader_types(oc_reader *reader, const oc_yaml_node *node, uint64_t *out_types);
// "unknown input "Y" …": the error for a key that is no name of `items`.
int32_t oc_reader_unknown(oc_reader *reader, const oc_yaml_node *node, bool key,
                          const char *what, const char *text, const oc_nearest *near);
// The index of the input or attribute that the child's key names.
int32_t oc_reader_key_input(oc_reader *reader, const oc_yaml_node *node, uint32_t *out_index);
int32_t oc_reader_key_attribute(oc_reader *reader, const oc_yaml_node *node,
                                uint32_t *out_index);
int32_t oc_reader_param(oc_reader *reader, const oc_yaml_node *node, bool output,
                        uint32_t *out_index);
int32_t oc_reader_type_var(oc_reader *reader, const oc_yaml_node *node, bool key,
                           const char *text, int32_t *out_index);

// Sections, one file each.
int32_t oc_read_semantic(oc_reader *, const oc_yaml_node *, const oc_field *, void *contract);
int32_t oc_read_cases(oc_reader *, const oc_yaml_node *, const oc_field *, void *contract);
int32_t oc_read_performance(oc_reader *, const oc_yaml_node *, const oc_field *,
                            void *contract);
int32_t oc_read_record_section(oc_reader *, const oc_yaml_node *, const oc_field *,
                               void *contract);
extern const oc_grammar oc_grammar_execution, oc_grammar_scheduling, oc_grammar_precision,
    oc_grammar_judging;

// The value of an attribute as its type asks; `keywords` allows `absent` and `each`,
// `expressions` allows quoted expressions for numbers.
int32_t oc_reader_attribute_value(oc_reader *reader, const oc_yaml_node *node,
                                  const oc_attribute *attribute, bool keywords,
                                  bool expressions, oc_value *out_value);
// Ranges of inputs that replace the parameters', of a row or a performance point; `node` NULL:
// none.
int32_t oc_reader_row_ranges(oc_reader *reader, const oc_yaml_node *node, oc_row_input *inputs);
// Inputs (shapes) and values (contents) of a row, an error case or a performance point.
int32_t oc_reader_row_inputs(oc_reader *reader, const oc_yaml_node *inputs,
                             const oc_yaml_node *values, oc_row_input *rows);
// A shape such as [2, 3, 5].
int32_t oc_reader_shape(oc_reader *reader, const oc_yaml_node *node, oc_shape *out_shape);
int32_t oc_reader_fixed_attributes(oc_reader *reader, const oc_yaml_node *node,
                                   bool expressions, oc_value *out_values);

// Reads a whole contract from a document, and checks what no single key can say.
int32_t oc_read_contract(oc_reader *reader, const oc_yaml_node *document);
int32_t oc_check_contract(const oc_reader *reader, const oc_yaml_node *document);

// Prints the tables of all grammars of contracts, of provider clauses, or those given, as
// Markdown.
void oc_grammar_print(FILE *stream);
void oc_clauses_grammar_print(FILE *stream);
void oc_grammar_print_tables(FILE *stream, const oc_grammar *const *tables, size_t count);

#endif  // OC_CONTRACT_READER_H_
