// Later releases for tests of feature levels. The next release knows one more level, at which transactions have another
// format, and writes that format only at that level. The release after it does not know this one's levels.
import { LEVEL_FIRST, LEVELS, type LevelRange } from '#base';
import type { Machine } from '#cluster';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import { databaseKit } from './machine-kit.ts';
import type { Release } from './replica-world.ts';

export const NEXT_LEVELS: LevelRange = { min: LEVELS.min, max: LEVELS.max + 1 };
const LAST_LEVELS: LevelRange = { min: LEVELS.max + 1, max: LEVELS.max + 2 };

/** A transaction in the format of a level: this release writes the first format at every level that it knows. */
export function payloadAt(level: number, text: string): Uint8Array {
  const payload = databaseKit.payload(text);
  payload[0] = level > LEVELS.max ? level : LEVEL_FIRST;
  return payload;
}

/** The payload in the format of this release. */
function lowered(payload: Uint8Array): Uint8Array {
  const level = payload[0] ?? 0;
  if (level <= LEVELS.max || level > LAST_LEVELS.max) return payload;
  const copy = payload.slice();
  copy[0] = LEVEL_FIRST;
  return copy;
}

/** The machine behind each proxy, which can import the state of this release. */
const inners = new WeakMap<Machine, Machine>();

/** A machine that accepts payloads of the later level. */
function laterMachine(inner: Machine): Machine {
  const later: Partial<Machine> = {
    needs: (payload) => inner.needs(lowered(payload)),
    apply: (entry) => inner.apply({ ...entry, payload: lowered(entry.payload) }),
  };
  const machine = new Proxy(inner, {
    get: (_target, name: keyof Machine) => {
      const value = later[name] ?? inner[name];
      return typeof value === 'function' ? value.bind(inner) : value;
    },
    // A spy on the machine replaces a method of this proxy, not of the inner machine.
    set: (_target, name: keyof Machine, value: never) => {
      Object.assign(later, { [name]: value });
      return true;
    },
  });
  inners.set(machine, inner);
  return machine;
}

function laterMachines(machines: Release['machines']): Release['machines'] {
  return {
    ...machines,
    createDatabase: (kv, binding) => laterMachine(machines.createDatabase(kv, binding)),
    openDatabase: (kv, group) => {
      const machine = machines.openDatabase(kv, group);
      return machine && laterMachine(machine);
    },
    importState: (kv, group, machine) => machines.importState(kv, group, inners.get(machine) ?? machine),
    faultInForwarded: (group, payload) => machines.faultInForwarded(group, lowered(payload)),
    stamp: (payload, recordedTimeMs) => {
      const [level = LEVEL_FIRST] = payload;
      if (level > LEVELS.max) payload[0] = LEVEL_FIRST;
      machines.stamp(payload, recordedTimeMs);
      payload[0] = level;
    },
  };
}

const RELEASES = laterReleases(databaseMachines);
export const nextRelease: Release = RELEASES.nextRelease;
export const lastRelease: Release = RELEASES.lastRelease;

/** The next release, and the one after it. */
export function laterReleases(machines: Release['machines']): Readonly<Record<'nextRelease' | 'lastRelease', Release>> {
  const later = laterMachines(machines);
  return {
    nextRelease: { levels: NEXT_LEVELS, machines: later },
    lastRelease: { levels: LAST_LEVELS, machines: later },
  };
}
