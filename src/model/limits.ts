/**
 * Every limit of the model, in one place. Those of the specification say so; the others are ours, because an index key,
 * an answer and a parser's stack must end somewhere.
 */

/** Specification, Limits: larger is `too_large`. */
export const TRANSACTION_EVENTS_MAX = 1000;
/** Specification, Limits (1 MB): the sum of the canonical bytes of the events. */
export const TRANSACTION_BYTES_MAX = 1_000_000;

/** Events of one page over HTTP, where queries are JSON. */
export const QUERY_LIMIT_MAX = 1000;

export const CONSTRAINTS_MAX = 1000;
/** Alternatives that the selectors of all constraints of a transaction come to: apply looks at each of them. */
export const CONSTRAINT_CONJUNCTIONS_MAX = 4096;

/** Decisions 2.8: id, type and subject; ours for a stream, which is a key like them. */
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
 * Fields of a message over gRPC, and of a selector with all inside it: many times what the largest has that says
 * something. Two bytes are a field, so there could be millions in one request. Transactions count their events instead.
 */
export const MESSAGE_FIELDS_MAX = 4096;

export const PRINCIPAL_ATTRIBUTES_MAX = 64;
export const PRINCIPAL_VALUE_BYTES_MAX = 4096;
export const COMMIT_MESSAGE_BYTES_MAX = 65_536;

export const DESCRIPTION_BYTES_MAX = 4096;
/** A schema that a definition holds itself. */
export const SCHEMA_BYTES_MAX = 65_536;
/** State Views that a State Change names. */
export const STATE_VIEW_NAMES_MAX = 64;
/** Contents that a presenter offers. */
export const OFFERS_MAX = 64;
export const PRESENTER_SETTINGS_MAX = 64;
export const PRESENTER_SETTING_BYTES_MAX = 4096;
/** What is sent beside a component: it is read in one turn. The largest definition has 300 KiB of bytes of its own. */
export const METADATA_BYTES_MAX = 524_288;
/** A component: what the host reads is less (docs/components.md); a definition may name no more. */
export const COMPONENT_BYTES_MAX = 67_108_864;

/** Query parameters of a command, and headers. */
export const COMMAND_PAIRS_MAX = 128;
export const COMMAND_VALUE_BYTES_MAX = 8192;
export const COMMAND_BODY_BYTES_MAX = 1_000_000;

/** Nesting of objects and arrays in JSON that is read. */
export const JSON_DEPTH_MAX = 256;
/**
 * Values in one JSON text, payloads counting as one each: twice what the largest transaction has. A body of brackets
 * alone would otherwise take hundreds of megabytes and seconds.
 */
export const JSON_VALUES_MAX = 300_000;

/** Faults of one request that are described; more are counted only. */
export const FAULTS_MAX = 100;
/** Characters of an offending value that a fault shows. */
export const FAULT_VALUE_LENGTH_MAX = 64;
/**
 * Characters of the path to an offending field; names of a client's own, such as an extension's, may be of any length.
 */
export const FAULT_FIELD_LENGTH_MAX = 256;
