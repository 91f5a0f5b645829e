/**
 * #model: the terms of the specification as immutable values, with their parsers and codecs.
 *
 * For: names, events, selectors, constraints, queries, transactions, their limits; their wire forms (protobuf, the log
 * entry's payload) and their JSON. A client's input becomes a value here or a list of faults; other layers do not check
 * it again.
 *
 * Not here: what happens to a transaction (#database, which finds the revision that a constraint is compared with), how
 * a query is answered (#query), any transport. Pure.
 *
 * Invariants:
 *   M1  One function checks an event: the walk over its canonical wire form. Every event passes it, and all faults of a
 *       transaction are reported at once, each by its path.
 *   M2  No accepted id, type, subject or stream is empty, blank, longer than 255 bytes, ill-formed UTF-8, or contains a
 *       control character; so none contains the byte 00 that ends a term in an index key.
 *   M3  The stream of an event is a range of its source's bytes; the source itself is never changed.
 *   M4  Canonical wire bytes are unique: decoding and encoding them gives the same bytes, and the walk accepts no other
 *       encoding.
 *   M5  Payload bytes, extension values with their types, and the spelling of time are preserved.
 *   M6  Selectors that differ only in order, shape or nesting of And and Or are deeply equal, encode to the same bytes,
 *       and match the same events as their disjunctive form does.
 *   M7  The result of a constraint depends on the constraint and one number.
 *   M8  JSON is read strictly and without loss: no number becomes a float, no name is special, duplicates are refused.
 *   M9  A definition has exactly one encoding; other bytes are refused.
 *   M10 A value filled into an open segment of a path is one segment, and is extracted from it unchanged.
 */
export {
  ALL_DATABASES,
  boundsOf,
  formatGrant,
  GRANT_RULE,
  type Grant,
  hasRight,
  hasRightOnAll,
  hasRightOnAny,
  isNamedBy,
  isPattern,
  parseGrant,
  RIGHTS_OF_ROLE,
  type Right,
  ROLES,
} from './access.ts';
export {
  API_KEY,
  type ApiKey,
  CREATED_BY_LENGTH_MAX,
  faultInKeyName,
  isKeyId,
  isStillIssued,
  KEY_GRANTS_MAX,
  KEY_ID,
  KEY_SECRETS_MAX,
  type KeySecret,
} from './api-key.ts';
export { acceptCloudEvent, acceptCloudEventParts, type CloudEventParts, eventParts } from './cloud-event.ts';
export { type AskedCommand, type Command, commandFrom, type Pairs } from './command.ts';
export { asAsked, CONSTRAINT_NAMES, type Constraint, decide } from './constraint.ts';
export { constraintsFromJson } from './constraint-json.ts';
export { checkConstraints } from './constraint-rules.ts';
export { decodeConstraint, encodeConstraint } from './constraint-wire.ts';
export {
  COMPONENT_KINDS,
  type ComponentDigest,
  type ComponentKind,
  type ComponentReference,
  type ContentSchema,
  type DefinedVersion,
  type Definition,
  type FoldOrder,
  isComponentDigest,
  isVersionNumber,
  KEY_TYPES,
  type KeyType,
  MAINTENANCE_MODES,
  type MaintenanceMode,
  NEW_VERSION_STATUS,
  PRIORITIES,
  type PresenterReference,
  type Priority,
  REDUCE_FUNCTION,
  type StateViewDefinition,
  toVersionNumber,
  type VersionNumber,
  type VersionStatus,
} from './definition.ts';
export { encodeDefinition } from './definition-bytes.ts';
export {
  BLOB_PART_BYTES,
  type ComponentTitle,
  type DefinitionEntry,
  decodeDefinitionEntry,
  decodeDefinitionHead,
  definesSomething,
  encodeDefinitionEntry,
  isBlobPart,
  partCountOf,
  stampDefinitionEntry,
  type TimedDefinitionEntry,
} from './definition-entry.ts';
export { definitionFromJson, heldSchema, typesTemplate } from './definition-json.ts';
export { bindView, canonicalNames, checkedDefinition, stateViewOf } from './definition-rules.ts';
export { DATA_KIND, type Event, type ServerFields, SPEC_VERSION } from './event.ts';
export { readEvent } from './event-decode.ts';
export { encodeEvent } from './event-encode.ts';
export { acceptJsonEvent } from './event-from-json.ts';
export { EventJsonBytes, eventToJson } from './event-json-bytes.ts';
export type { EventShape } from './event-place.ts';
export { foundBytes } from './event-place.ts';
export { type EventFacts, EventSpans, eventFacts } from './event-spans.ts';
export { acceptEvent, walkEvent } from './event-walk.ts';
export { describeFault, type FaultPlace, Faults, type Found, fieldBelow, numberAsWritten } from './faults.ts';
export {
  type JsonFault,
  type JsonNode,
  type JsonObject,
  type JsonOptions,
  type JsonRaw,
  parseJson,
  RAW_DATA,
} from './json.ts';
export type { SpareMemory } from './json-bytes.ts';
export {
  countFrom,
  describe as describeNode,
  instantFrom,
  integerFrom,
  isPresent,
  item,
  itemsFrom,
  member,
  readMember,
  refuseOthers,
  spellingIn,
  textFrom,
  textsFrom,
} from './json-read.ts';
export { isWellFormedJson } from './json-scan.ts';
export { writeJson } from './json-write.ts';
export {
  COMMAND_BODY_BYTES_MAX,
  COMPONENT_BYTES_MAX,
  CONSTRAINTS_MAX,
  MESSAGE_FIELDS_MAX,
  METADATA_BYTES_MAX,
  PRINCIPAL_ATTRIBUTES_MAX,
  QUERY_LIMIT_MAX,
  TRANSACTION_BYTES_MAX,
  TRANSACTION_EVENTS_MAX,
} from './limits.ts';
export {
  type LoggedHead,
  type LoggedTransactionView,
  readLoggedHead,
  readLoggedTransaction,
  type StoredEventId,
} from './logged-transaction.ts';
export { isJsonType, isTextType } from './media-type.ts';
export { refuseField, textField } from './message-fields.ts';
export {
  isComponentName,
  isDatabaseName,
  parseComponentName,
  parseDatabaseName,
  parseName,
  parseNamePrefix,
  parseTransactionId,
  streamOfSource,
} from './names.ts';

export {
  constraintsOf,
  encodeTransactPayload,
  PAYLOAD_FORMAT,
  readTransactPayload,
  stampPayload,
  type TransactPayload,
  type TransactPayloadView,
} from './payload.ts';
export { faultInBody, faultInTransactPayload } from './payload-check.ts';
export {
  type AskedPosition,
  checkBounds,
  comparePositions,
  type Direction,
  type EffectiveTimeBounds,
  type EventQuery,
  type Position,
  type RevisionBounds,
} from './query.ts';
export {
  collectionQueryFromJson,
  queryFromParameter,
  queryToParameter,
  type ScopedQuery,
  scopedQueryFromJson,
} from './query-json.ts';
export { integerRule, leadingZeroRule, parseRevisionText, revisionRule } from './revision-text.ts';
export {
  ALL,
  and,
  NO_SUBJECT,
  or,
  type ParameterTerm,
  parameter,
  type Selector,
  type SelectorTemplate,
  type TermKind,
  term,
} from './selector.ts';
export { selectorFromJson, selectorToJson } from './selector-json.ts';
export { type Matcher, matcherOf, storedMatcherOf } from './selector-match.ts';
export { type Conjunction, normalise, selectorOf, type TextMatch } from './selector-normal.ts';
export { parametersOf } from './selector-template.ts';
export { decodeSelection, decodeTemplateSelection, encodeSelector } from './selector-wire.ts';
export {
  instantOfTimestamp,
  mergeTimestamp,
  type SentTimestamp,
  showTimestamp,
  TIMESTAMP_RULE,
  writeTimestamp,
} from './timestamp-wire.ts';
export {
  NO_OPTIONS,
  ORIGIN,
  ORIGIN_NAMES,
  type Origin,
  type TransactionOptions,
  transactionTooLarge,
} from './transaction.ts';
export { optionsOfBody, type TransactionBodyView, transactionIdOfBody } from './transaction-body.ts';
export { OPTION_NAMES, optionsFromJson } from './transaction-json.ts';
export { decodeTransactionOptions } from './transaction-options.ts';
