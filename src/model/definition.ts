/**
 * Definitions: the metadata published with the bytes of a component, and the stored facts of each version.
 *
 * ```
 * definition        as published, immutable                       \ Definition
 * component         its bytes, by digest                           |
 * version           1, 2, 3 … of a kind and name                   > DefinedVersion
 * active, mode      set by an operator                             |
 * fold epoch        of the name: incremented by expiring states   /
 * ```
 * Parsers build definitions (definition-json.ts, definition-bytes.ts) under the rules of definition-rules.ts. A
 * definition has one canonical form, with the same bytes, so that publishing it again is recognised (M9).
 */
import { assert, type Brand, type Revision } from '#base';
import type { ComponentName } from './names.ts';
import type { SelectorTemplate } from './selector.ts';

/** In canonical order. */
export const COMPONENT_KINDS = ['state-view', 'state-change', 'presenter'] as const;
export type ComponentKind = (typeof COMPONENT_KINDS)[number];

export const FOLD_ORDERS = ['revision', 'effective-time'] as const;
/** Order in which a State View folds events. */
export type FoldOrder = (typeof FOLD_ORDERS)[number];

export const KEY_TYPES = ['none', 'string', 'int64'] as const;
/**
 * Number of states: one, or one for each key. A key is the parameter `key` of the subject; with `int64` it is a 64-bit
 * integer in decimal.
 */
export type KeyType = (typeof KEY_TYPES)[number];

export const PRIORITIES = ['low', 'normal', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

export const MAINTENANCE_MODES = ['lazy', 'eager', 'scheduled'] as const;
/** When the states of an active version are folded: on reads, when events arrive, on a schedule. */
export type MaintenanceMode = (typeof MAINTENANCE_MODES)[number];

/** SHA-256 of a component's bytes, 64 lowercase hexadecimal digits. */
export type ComponentDigest = Brand<string, 'ComponentDigest'>;

/** Number of a version of one kind and name: counts from 1, never reused. */
export type VersionNumber = Brand<number, 'VersionNumber'>;

/** Digest and size of the bytes of a version. */
export interface ComponentReference {
  readonly digest: ComponentDigest;
  readonly size: number;
}

export type Definition = StateViewDefinition | StateChangeDefinition | PresenterDefinition;

interface DefinitionHead {
  readonly name: ComponentName;
  readonly description: string | undefined;
  readonly sourceCodeUri: string | undefined;
}

export interface StateViewDefinition extends DefinitionHead {
  readonly kind: 'state-view';
  /** Selects the events that it folds; each read binds its parameters. */
  readonly selector: SelectorTemplate;
  readonly order: FoldOrder;
  readonly keyType: KeyType;
  /** The exported function that folds. */
  readonly reduceFunction: string;
  /** Content type of the rendered state. */
  readonly contentType: string;
  readonly schema: ContentSchema | undefined;
  readonly priority: Priority;
  /** The component that renders the state for readers. */
  readonly presenter: PresenterReference | undefined;
}

export interface StateChangeDefinition extends DefinitionHead {
  readonly kind: 'state-change';
  /** The State Views that it declares to read, in canonical order. */
  readonly stateViews: readonly ComponentName[];
}

export interface PresenterDefinition extends DefinitionHead {
  readonly kind: 'presenter';
  /** Most preferred first; at least one. */
  readonly offers: readonly OfferedContent[];
  /** Passed to it with every presentation. */
  readonly settings: ReadonlyMap<string, string>;
}

export interface OfferedContent {
  readonly contentType: string;
  /** A URI. */
  readonly schema: string | undefined;
}

/** A schema by its URI or id, or the schema itself. */
export type ContentSchema =
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'held'; readonly bytes: Uint8Array };

/** Without a version: the latest one at the revision of the read. */
export interface PresenterReference {
  readonly name: ComponentName;
  readonly version: VersionNumber | undefined;
}

/** Status of a version. Versions of State Changes and presenters are always lazy. */
export interface VersionStatus {
  readonly active: boolean;
  readonly mode: MaintenanceMode;
}

/** A version in the database. */
export interface DefinedVersion {
  readonly definition: Definition;
  readonly component: ComponentReference;
  readonly version: VersionNumber;
  /** Revision of the database when it was published: listings at or above it show the version. */
  readonly definedAt: Revision;
  readonly definedAtMs: number;
  readonly status: VersionStatus;
  /** Epoch of all versions of the name; states folded in an earlier epoch are invalid. */
  readonly foldEpoch: number;
}

export const NEW_VERSION_STATUS: VersionStatus = Object.freeze({ active: true, mode: 'lazy' });
export const REDUCE_FUNCTION = 'reduce';

const DIGEST = /^[0-9a-f]{64}$/;

export function isComponentDigest(text: string): text is ComponentDigest {
  return DIGEST.test(text);
}

export function isVersionNumber(value: number): value is VersionNumber {
  return Number.isSafeInteger(value) && value >= 1;
}

export function toVersionNumber(value: number): VersionNumber {
  assert(isVersionNumber(value), 'A version is an integer from 1 to 2^53 - 1', value);
  return value;
}
