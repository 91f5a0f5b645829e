/**
 * The releases that come after this one, as far as levels matter: each knows one level more, at which transactions have
 * another format, and writes that only when the cluster is at that level. The second of them knows this one's level no
 * more.
 */
import { LEVEL_FIRST, LEVELS, type LevelRange } from '#base';
import type { CatalogChange, CheckedPart, HeldMembership, Machine, MachineEntry, Outcome } from '#cluster';
import type { KvBatch } from '#kv';
import { databaseMachines } from '../../../src/cluster/apply/database-machines.ts';
import { databaseKit } from './machine-kit.ts';
import type { Release } from './replica-world.ts';

export const NEXT_LEVELS: LevelRange = { min: LEVELS.min, max: LEVELS.max + 1 };
const LAST_LEVELS: LevelRange = { min: LEVELS.max + 1, max: LEVELS.max + 2 };

/** A transaction as it is written at the level: this release writes those of the first at all that it knows. */
export function payloadAt(level: number, text: string): Uint8Array {
  const payload = databaseKit.payload(text);
  payload[0] = level > LEVELS.max ? level : LEVEL_FIRST;
  return payload;
}

/** As this release would have written it. */
function lowered(payload: Uint8Array): Uint8Array {
  const level = payload[0] ?? 0;
  if (level <= LEVELS.max || level > LAST_LEVELS.max) return payload;
  const copy = payload.slice();
  copy[0] = LEVEL_FIRST;
  return copy;
}

class NextDatabase implements Machine {
  readonly inner: Machine;

  constructor(inner: Machine) {
    this.inner = inner;
  }

  get applied(): Machine['applied'] {
    return this.inner.applied;
  }

  get members(): HeldMembership {
    return this.inner.members;
  }

  get recordedTimeMs(): number {
    return this.inner.recordedTimeMs;
  }

  needs(payload: Uint8Array): readonly unknown[] {
    return this.inner.needs(lowered(payload));
  }

  async answer(needs: readonly unknown[]): Promise<readonly number[]> {
    return this.inner.answer(needs);
  }

  apply(entry: MachineEntry): Outcome | undefined {
    return this.inner.apply({ ...entry, payload: lowered(entry.payload) });
  }

  install(part: CheckedPart, members: HeldMembership): readonly CatalogChange[] {
    return this.inner.install(part, members);
  }

  flushInto(batch: KvBatch): void {
    this.inner.flushInto(batch);
  }

  flushed(): void {
    this.inner.flushed();
  }

  async warm(): Promise<void> {
    await this.inner.warm();
  }
}

const LATER_MACHINES: Release['machines'] = {
  ...databaseMachines,
  createDatabase: (kv, binding, founders) => new NextDatabase(databaseMachines.createDatabase(kv, binding, founders)),
  openDatabase: (kv, group) => {
    const machine = databaseMachines.openDatabase(kv, group);
    return machine && new NextDatabase(machine);
  },
  importState: (kv, group, machine) =>
    databaseMachines.importState(kv, group, machine instanceof NextDatabase ? machine.inner : machine),
  faultInForwarded: (group, payload) => databaseMachines.faultInForwarded(group, lowered(payload)),
  stamp: (payload, recordedTimeMs) => {
    const [level = LEVEL_FIRST] = payload;
    if (level > LEVELS.max) payload[0] = LEVEL_FIRST;
    databaseMachines.stamp(payload, recordedTimeMs);
    payload[0] = level;
  },
};

export const nextRelease: Release = laterRelease(NEXT_LEVELS);

/** The one after that. */
export const lastRelease: Release = laterRelease(LAST_LEVELS);

function laterRelease(levels: LevelRange): Release {
  return { levels, machines: LATER_MACHINES };
}
