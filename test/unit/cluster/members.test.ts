// Goal: who belongs to a group is kept with what is applied, through flushes, restarts and the way back to a checkpoint
// (C9). Method: the machines over a store in memory, and a log record that carries a membership.

import { describe, expect, it } from 'vitest';
import { NO_BYTES, toDatabaseId, toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import type { Machine } from '#cluster';
import { type KvStore, memoryKv } from '#kv';
import { membershipOf, toReplicaId } from '#raft';
import { databaseKit } from '../../support/cluster/machine-kit.ts';

const group = toGroupId(1);
const databaseId = toDatabaseId('0199a5c8-0000-7000-8000-000000000001');
const founders = membershipOf([toReplicaId(1)]);
const grown = membershipOf([toReplicaId(1)], [toReplicaId(2)]);

async function flush(kv: KvStore, machine: Machine): Promise<void> {
  const batch = kv.batch();
  machine.flushInto(batch);
  await kv.write(batch);
  machine.flushed();
}

function adopt(machine: Machine, index: number, membership = grown): void {
  machine.apply({ index: toLogIndex(index), term: toTerm(1), payload: NO_BYTES, answers: [], membership });
}

describe('who belongs to a group (C9)', () => {
  const { machines, payload } = databaseKit;

  function created(kv: KvStore): Machine {
    const replicas = founders.voters.incoming;
    const held = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true };
    const binding = { name: 'shop', databaseId, group, createdAtMs: 0, ...held };
    return machines.createDatabase(kv, binding, founders);
  }

  it('is what its database was created with, until an entry says otherwise', async () => {
    const kv = memoryKv();
    const machine = created(kv);
    await flush(kv, machine);
    expect(machines.openDatabase(kv, group)?.members).toEqual({ index: 0, membership: founders });
    adopt(machine, 1);
    machine.apply({ index: toLogIndex(2), term: toTerm(1), payload: NO_BYTES, answers: [] });
    await flush(kv, machine);
    const opened = machines.openDatabase(kv, group);
    expect(opened?.applied.index).toBe(2);
    expect(opened?.members).toEqual({ index: 1, membership: grown });
  });

  it('is the same after the database went back to its checkpoint', async () => {
    const kv = memoryKv();
    const machine = created(kv);
    machine.apply({ index: toLogIndex(1), term: toTerm(1), payload: payload('text'), answers: [] });
    await flush(kv, machine);
    adopt(machine, 2);
    await flush(kv, machine);
    const durable = { index: toLogIndex(1), term: toTerm(1), revision: toRevision(1) };
    await machines.rebuild(kv, group, durable);
    expect(machines.markOf(kv, group)).toMatchObject(durable);
    expect(machines.openDatabase(kv, group)?.members).toEqual({ index: 2, membership: grown });
  });

  it('is kept for the catalog as well', async () => {
    const kv = memoryKv();
    const catalog = machines.openCatalog(kv, founders);
    expect(catalog.members).toEqual({ index: 0, membership: founders });
    adopt(catalog, 1);
    await flush(kv, catalog);
    expect(machines.openCatalog(kv, founders).members).toEqual({ index: 1, membership: grown });
  });
});
