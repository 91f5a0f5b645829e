/**
 * All limits of the model. Some are in the specification, as noted; the others bound index keys, answers and parser
 * stacks.
 */

/** Specification, Limits: more events are `too_large`. */
export const TRANSACTION_EVENTS_MAX = 1000;
/** Specification, Limits (1 MB): the sum of the canonical bytes of the events. */
export const TRANSACTION_BYTES_MAX = 1_000_000;

/** Events of one page over HTTP, where queries are JSON. */
export const QUERY_LIMIT_MAX = 1000;

export const CONSTRAINTS_MAX = 1000;
/** Maximum alternatives of the selectors of all constraints of a transaction: apply checks each of them. */
export const CONSTRAINT_CONJUNCTIONS_MAX = 4096;

/** Bytes of id, type and subject (SPEC-EVENT-TEXT), and of a stream, which is an index key too. */
export const NAME_BYTES_MAX = 255;

/** `source` and `dataschema`. */
export const URI_BYTES_MAX = 2048;
export const CONTENT_TYPE_BYTES_MAX = 255;
export const EXTENSION_NAME_BYTES_MAX = 64;
export const EXTENSIONS_MAX = 128;

/** Nesting of And and Or in one selector. */
export const SELECTOR_DEPTH_MAX = 16;
/** Selectors inside one selector, itself included. */
export const SELECTOR_NODES_MAX = 256;
/** Conjunctions in the disjunctive form of one selector. */
export const SELECTOR_CONJUNCTIONS_MAX = 256;

/**
 * Fields of a message over gRPC, and of a selector with its nested ones: many times the largest meaningful number. A
 * field takes two bytes, so a request could have millions. Transactions count their events instead.
 */
export const MESSAGE_FIELDS_MAX = 4096;

export const PRINCIPAL_ATTRIBUTES_MAX = 64;
export const PRINCIPAL_VALUE_BYTES_MAX = 4096;
export const COMMIT_MESSAGE_BYTES_MAX = 65_536;

export const DESCRIPTION_BYTES_MAX = 4096;
/** Size of a schema inside a definition. */
export const SCHEMA_BYTES_MAX = 65_536;
/** State Views of a State Change. */
export const STATE_VIEW_NAMES_MAX = 64;
/** Content types of a presenter. */
export const OFFERS_MAX = 64;
export const PRESENTER_SETTINGS_MAX = 64;
export const PRESENTER_SETTING_BYTES_MAX = 4096;
/** Metadata of a component, parsed at once. The largest definition has 300 KiB of its own bytes. */
export const METADATA_BYTES_MAX = 524_288;
/** Size of a component in a definition; the host's own limit is lower (docs/components.md). */
export const COMPONENT_BYTES_MAX = 67_108_864;

/** Number of query parameters of a command, and of headers. */
export const COMMAND_PAIRS_MAX = 128;
export const COMMAND_VALUE_BYTES_MAX = 8192;
export const COMMAND_BODY_BYTES_MAX = 1_000_000;

/** Maximum nesting of objects and arrays in JSON. */
export const JSON_DEPTH_MAX = 256;
/**
 * Values in one JSON text, each payload counted as one: twice those of the largest transaction. A body of brackets
 * alone would otherwise take hundreds of megabytes and seconds.
 */
export const JSON_VALUES_MAX = 300_000;

/** Described faults of one request; further ones are only counted. */
export const FAULTS_MAX = 100;
/** Characters of an offending value that a fault shows. */
export const FAULT_VALUE_LENGTH_MAX = 64;
/** Characters of the path to an offending field, which may contain names chosen by the client, of any length. */
export const FAULT_FIELD_LENGTH_MAX = 256;
