/**
 * The definitions of one database by its log: the changes of each entry, and the definitions at a revision.
 *
 * ```
 *   part 0 ─► part 1 ─► … ─► complete ─► named by 1, 2 … versions ─► by none: it is forgotten
 *     └──── dropped, when other components begin and too many are incomplete ──────────────┘
 * ```
 * It holds no bytes of components and has no rows: its owner builds it from the entries that changed something, in log
 * order. A forgotten component must be sent again; the history keeps its bytes.
 *
 *   D22  Definitions, versions and fold epochs follow from the entries that changed something and nothing else; a
 *        version number is given once, and a component stays while a version names it.
 */
import { assert, compareBytes, encodeUtf8, type Revision } from '#base';
import {
  COMPONENT_KINDS,
  type ComponentDigest,
  type ComponentKind,
  type ComponentReference,
  type ComponentTitle,
  type DefinedVersion,
  type DefinitionEntry,
  decodeDefinitionEntry,
  encodeDefinition,
  NEW_VERSION_STATUS,
  partCountOf,
  type TimedDefinitionEntry,
  toVersionNumber,
  type VersionNumber,
} from '#model';

export type DefinitionOutcome =
  /** The part was accepted. `next` equals the number of parts when the blob is complete. */
  | { readonly kind: 'part-taken'; readonly next: number }
  /** It is not the part that comes next, or the digest has another size here. Nothing changed. */
  | { readonly kind: 'part-refused'; readonly next: number }
  | { readonly kind: 'defined'; readonly version: VersionNumber; readonly isNew: boolean }
  /** The bytes of the component are not here, or not all of them. */
  | { readonly kind: 'no-component'; readonly next: number }
  /** The database has the maximum of versions or names; a name counts also after its deletion. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'status-set'; readonly isNew: boolean }
  | { readonly kind: 'deleted' }
  /** One of the versions is active, and inactive ones alone were to be deleted. Nothing changed. */
  | { readonly kind: 'still-active'; readonly version: VersionNumber }
  | { readonly kind: 'expired'; readonly foldEpoch: number }
  /** There is no such version, or none of the name. */
  | { readonly kind: 'absent' };

export interface LedgerLimits {
  readonly versionsMax: number;
  /** With those of which every version is deleted. */
  readonly namesMax: number;
  /** Blobs that no version has named yet. */
  readonly unnamedMax: number;
}

/** Replicas with other limits would decide otherwise. */
export const LEDGER_LIMITS: LedgerLimits = { versionsMax: 4096, namesMax: 4096, unnamedMax: 4 };

interface Blob {
  readonly size: number;
  partCount: number;
  versionCount: number;
}

interface Name {
  readonly title: ComponentTitle;
  readonly versions: Map<VersionNumber, Omit<DefinedVersion, 'foldEpoch'>>;
  /** The highest version number so far, deleted ones included. */
  last: number;
  foldEpoch: number;
}

export class DefinitionLedger {
  readonly #limits: LedgerLimits;
  readonly #names = new Map<string, Name>();
  /** In the order in which they began. */
  readonly #blobs = new Map<ComponentDigest, Blob>();
  #versionCount = 0;

  constructor(limits: LedgerLimits = LEDGER_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Carries out an entry at a revision of the database, which it does not raise. Throws for a payload that is none:
   * guessing would make replicas differ.
   */
  apply(payload: Uint8Array, revision: Revision): DefinitionOutcome {
    const timed = decodeDefinitionEntry(payload);
    assert(timed !== undefined, 'An entry of a definition is one that this release knows', payload.subarray(0, 2));
    return this.take(timed, revision);
  }

  /** The same for a decoded entry; the bytes of a part are not read. */
  take({ entry, recordedTimeMs }: TimedDefinitionEntry, revision: Revision): DefinitionOutcome {
    switch (entry.kind) {
      case 'part':
        return this.#takePart(entry);
      case 'define':
        return this.#define(entry, revision, recordedTimeMs);
      case 'set-status':
        return this.#setStatus(entry);
      case 'delete':
        return this.#delete(entry);
      case 'expire':
        return this.#expire(entry);
    }
  }

  /** The versions that had been defined at the revision and are not deleted, by kind, name and version. */
  list(revision: Revision, kind?: ComponentKind): readonly DefinedVersion[] {
    const names = [...this.#names.values()].filter(({ title }) => kind === undefined || title.component === kind);
    const sorted = names.toSorted((one, other) => compareTitles(one.title, other.title));
    return sorted.flatMap((name) => shownAt(name, revision));
  }

  /** The versions of one name that had been defined at the revision and are not deleted, from the first on. */
  versions(title: ComponentTitle, revision: Revision): readonly DefinedVersion[] {
    const name = this.#names.get(keyOf(title));
    return name === undefined ? [] : shownAt(name, revision);
  }

  /** The highest version number of the name, deleted ones included; 0: none. */
  lastVersion(title: ComponentTitle): number {
    return this.#names.get(keyOf(title))?.last ?? 0;
  }

  /** Number of parts that are stored; the blob is complete when they have its size. */
  partsOf(digest: ComponentDigest): number {
    return this.#blobs.get(digest)?.partCount ?? 0;
  }

  #takePart({ blob, part }: DefinitionEntry & { readonly kind: 'part' }): DefinitionOutcome {
    const known = this.#blobs.get(blob.digest);
    const next = known?.partCount ?? 0;
    if (part !== next || (known !== undefined && known.size !== blob.size)) return { kind: 'part-refused', next };
    if (known === undefined) {
      this.#giveUpUnnamed();
      this.#blobs.set(blob.digest, { size: blob.size, partCount: 1, versionCount: 0 });
    } else known.partCount += 1;
    return { kind: 'part-taken', next: next + 1 };
  }

  /** Makes room for another blob by removing the oldest one that no version has named yet. */
  #giveUpUnnamed(): void {
    const unnamed = [...this.#blobs].filter(([, { versionCount }]) => versionCount === 0);
    const givenUp = unnamed.slice(0, Math.max(0, unnamed.length + 1 - this.#limits.unnamedMax));
    for (const [digest] of givenUp) this.#blobs.delete(digest);
  }

  #define(
    { blob, definition, isInactive }: DefinitionEntry & { readonly kind: 'define' },
    revision: Revision,
    timeMs: number,
  ): DefinitionOutcome {
    const held = this.#blobs.get(blob.digest);
    if (held === undefined || held.size !== blob.size || held.partCount < partCountOf(blob)) {
      return { kind: 'no-component', next: held?.partCount ?? 0 };
    }
    const title = { component: definition.kind, name: definition.name };
    const bytes = encodeDefinition(definition);
    const name: Name = this.#names.get(keyOf(title)) ?? { title, versions: new Map(), last: 0, foldEpoch: 0 };
    const same = [...name.versions.values()].find(
      (each) => each.component.digest === blob.digest && compareBytes(encodeDefinition(each.definition), bytes) === 0,
    );
    if (same !== undefined) return { kind: 'defined', version: same.version, isNew: false };
    const isNamed = name.last > 0 || this.#names.size < this.#limits.namesMax;
    if (!isNamed || this.#versionCount >= this.#limits.versionsMax) return { kind: 'too-many' };
    name.last += 1;
    const version = toVersionNumber(name.last);
    const at = { definedAt: revision, definedAtMs: timeMs };
    const status = { ...NEW_VERSION_STATUS, active: !isInactive };
    name.versions.set(version, { definition, component: blob, version, ...at, status });
    this.#names.set(keyOf(title), name);
    held.versionCount += 1;
    this.#versionCount += 1;
    return { kind: 'defined', version, isNew: true };
  }

  #setStatus({ version, status, ...title }: DefinitionEntry & { readonly kind: 'set-status' }): DefinitionOutcome {
    const name = this.#names.get(keyOf(title));
    const before = name?.versions.get(version);
    if (name === undefined || before === undefined) return { kind: 'absent' };
    const isNew = before.status.active !== status.active || before.status.mode !== status.mode;
    if (isNew) name.versions.set(version, { ...before, status });
    return { kind: 'status-set', isNew };
  }

  #delete({ version, onlyInactive, ...title }: DefinitionEntry & { readonly kind: 'delete' }): DefinitionOutcome {
    const name = this.#names.get(keyOf(title));
    const all = [...(name?.versions.values() ?? [])];
    const gone = version === undefined ? all : all.filter((each) => each.version === version);
    if (name === undefined || gone.length === 0) return { kind: 'absent' };
    const active = onlyInactive ? gone.find(({ status }) => status.active) : undefined;
    if (active !== undefined) return { kind: 'still-active', version: active.version };
    // The name stays, with its last number and its epoch: neither is given again.
    for (const each of gone) name.versions.delete(each.version);
    this.#versionCount -= gone.length;
    for (const { component } of gone) this.#release(component);
    return { kind: 'deleted' };
  }

  #release({ digest }: ComponentReference): void {
    const blob = this.#blobs.get(digest);
    assert(blob !== undefined, 'A component is here as long as a version names it', digest);
    blob.versionCount -= 1;
    if (blob.versionCount === 0) this.#blobs.delete(digest);
  }

  #expire({ name }: DefinitionEntry & { readonly kind: 'expire' }): DefinitionOutcome {
    const known = this.#names.get(keyOf({ component: 'state-view', name }));
    if (known === undefined || known.versions.size === 0) return { kind: 'absent' };
    known.foldEpoch += 1;
    return { kind: 'expired', foldEpoch: known.foldEpoch };
  }
}

/** True when the entry changed something, so that a ledger needs it. */
export function isChange(outcome: DefinitionOutcome): boolean {
  switch (outcome.kind) {
    case 'part-taken':
    case 'deleted':
    case 'expired':
      return true;
    case 'defined':
    case 'status-set':
      return outcome.isNew;
    case 'part-refused':
    case 'no-component':
    case 'too-many':
    case 'still-active':
    case 'absent':
      return false;
  }
}

function shownAt({ versions, foldEpoch }: Name, revision: Revision): readonly DefinedVersion[] {
  const defined = [...versions.values()].filter(({ definedAt }) => definedAt <= revision);
  return defined.map((each) => ({ ...each, foldEpoch }));
}

/** No name has a slash. */
function keyOf({ component, name }: ComponentTitle): string {
  return `${component}/${name}`;
}

/** Compares by kind, then by the bytes of the name, which are ASCII. */
function compareTitles(one: ComponentTitle, other: ComponentTitle): number {
  const order = COMPONENT_KINDS.indexOf(one.component) - COMPONENT_KINDS.indexOf(other.component);
  return order === 0 ? compareBytes(encodeUtf8(one.name), encodeUtf8(other.name)) : order;
}
