/** An oracle for the ledger of definitions: it keeps lists and scans all of them for each operation. */
import type { Revision } from '#base';
import type { DefinitionOutcome, LedgerLimits } from '#database';
import {
  COMPONENT_KINDS,
  type ComponentDigest,
  type ComponentTitle,
  type DefinedVersion,
  type DefinitionEntry,
  encodeDefinition,
  toVersionNumber,
} from '#model';

interface Held {
  readonly digest: ComponentDigest;
  readonly size: number;
  readonly parts: number[];
}

export class NaiveLedger {
  readonly #limits: LedgerLimits;
  /** In order of their creation. */
  #blobs: Held[] = [];
  /** All versions ever defined; deleted ones stay but do not count. */
  readonly #ever: { version: DefinedVersion; isDeleted: boolean }[] = [];
  readonly #expiries: string[] = [];

  constructor(limits: LedgerLimits) {
    this.#limits = limits;
  }

  partsOf(digest: ComponentDigest): number {
    return this.#blobs.find((blob) => blob.digest === digest)?.parts.length ?? 0;
  }

  list(revision: Revision): readonly DefinedVersion[] {
    const shown = this.#alive().filter(({ definedAt }) => definedAt <= revision);
    const rank = ({ definition: { kind, name }, version }: DefinedVersion): string =>
      `${COMPONENT_KINDS.indexOf(kind)} ${name}\u0000${String(version).padStart(9, '0')}`;
    const sorted = shown.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
    return sorted.map((each) => ({ ...each, foldEpoch: this.#epochOf(each) }));
  }

  apply(entry: DefinitionEntry, revision: Revision, timeMs: number): DefinitionOutcome {
    switch (entry.kind) {
      case 'part':
        return this.#part(entry);
      case 'define':
        return this.#define(entry, revision, timeMs);
      case 'set-status': {
        const at = this.#ever.findIndex(
          ({ version, isDeleted }) => !isDeleted && isOf(version, entry) && version.version === entry.version,
        );
        const found = this.#ever[at];
        if (found === undefined) return { kind: 'absent' };
        const isNew = JSON.stringify(found.version.status) !== JSON.stringify(entry.status);
        found.version = { ...found.version, status: entry.status };
        return { kind: 'status-set', isNew };
      }
      case 'delete': {
        const gone = this.#ever.filter(
          ({ version, isDeleted }) =>
            !isDeleted && isOf(version, entry) && version.version === (entry.version ?? version.version),
        );
        const active = gone.find(({ version }) => version.status.active);
        if (entry.onlyInactive && active !== undefined)
          return { kind: 'still-active', version: active.version.version };
        for (const each of gone) each.isDeleted = true;
        this.#sweep(gone.map(({ version }) => version));
        return gone.length === 0 ? { kind: 'absent' } : { kind: 'deleted' };
      }
      case 'expire': {
        const isThere = this.#alive().some((each) => isOf(each, { component: 'state-view', name: entry.name }));
        if (!isThere) return { kind: 'absent' };
        this.#expiries.push(entry.name);
        return { kind: 'expired', foldEpoch: this.#expiries.filter((name) => name === entry.name).length };
      }
    }
  }

  #alive(): readonly DefinedVersion[] {
    return this.#ever.filter(({ isDeleted }) => !isDeleted).map(({ version }) => version);
  }

  #epochOf({ definition }: DefinedVersion): number {
    if (definition.kind !== 'state-view') return 0;
    return this.#expiries.filter((name) => name === definition.name).length;
  }

  #isNamed(digest: ComponentDigest): boolean {
    return this.#alive().some(({ component }) => component.digest === digest);
  }

  #part({ blob, part }: DefinitionEntry & { readonly kind: 'part' }): DefinitionOutcome {
    const held = this.#blobs.find(({ digest }) => digest === blob.digest);
    const next = held?.parts.length ?? 0;
    if (part !== next || (held !== undefined && held.size !== blob.size)) return { kind: 'part-refused', next };
    if (held !== undefined) {
      held.parts.push(part);
      return { kind: 'part-taken', next: held.parts.length };
    }
    for (;;) {
      const waiting = this.#blobs.filter(({ digest }) => !this.#isNamed(digest));
      const [oldest] = waiting;
      if (oldest === undefined || waiting.length < this.#limits.unnamedMax) break;
      this.#blobs = this.#blobs.filter((each) => each !== oldest);
    }
    this.#blobs.push({ ...blob, parts: [part] });
    return { kind: 'part-taken', next: 1 };
  }

  #define(
    { blob, definition, isInactive }: DefinitionEntry & { readonly kind: 'define' },
    revision: Revision,
    timeMs: number,
  ): DefinitionOutcome {
    const held = this.#blobs.find(({ digest }) => digest === blob.digest);
    const wanted = Math.ceil(blob.size / (1024 * 1024));
    const isWhole = held?.size === blob.size && held.parts.length === wanted;
    if (!isWhole) return { kind: 'no-component', next: held?.parts.length ?? 0 };
    const title = { component: definition.kind, name: definition.name };
    const same = this.#alive().find(
      (each) => each.component.digest === blob.digest && bytesOf(each.definition) === bytesOf(definition),
    );
    if (same !== undefined) return { kind: 'defined', version: same.version, isNew: false };
    const names = new Set(this.#ever.map(({ version: { definition: each } }) => `${each.kind} ${each.name}`));
    names.add(`${definition.kind} ${definition.name}`);
    if (names.size > this.#limits.namesMax || this.#alive().length >= this.#limits.versionsMax)
      return { kind: 'too-many' };
    const version = toVersionNumber(this.#ever.filter((each) => isOf(each.version, title)).length + 1);
    const status = { active: !isInactive, mode: 'lazy' } as const;
    const when = { definedAt: revision, definedAtMs: timeMs };
    const defined = { definition, component: blob, version, ...when, status, foldEpoch: 0 };
    this.#ever.push({ version: defined, isDeleted: false });
    return { kind: 'defined', version, isNew: true };
  }

  /** Forgets components that no version refers to any more. */
  #sweep(gone: readonly DefinedVersion[]): void {
    const digests = new Set(gone.map(({ component }) => component.digest));
    this.#blobs = this.#blobs.filter(({ digest }) => !digests.has(digest) || this.#isNamed(digest));
  }
}

function isOf({ definition }: DefinedVersion, { component, name }: ComponentTitle): boolean {
  return definition.kind === component && definition.name === name;
}

function bytesOf(definition: DefinedVersion['definition']): string {
  return encodeDefinition(definition).join(' ');
}
