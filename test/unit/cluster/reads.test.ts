// Goal: `latest` is linearizable and cheap, and waits are answered once, for any order of events. Method: the core in
// one thread over a log whose syncs the test releases.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, toGroupId, toRevision } from '#base';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';

const never = new AbortController().signal;

it('waitFor is answered from the rows, before any report of the core', async () => {
  const { world, group } = await CoreWorld.withShop();
  await world.transact(group, 'x');
  const reports: unknown[] = [];
  await settle();
  // No client waited, so the core has not reported the rows.
  world.core.onReport((report) => reports.push(report));
  expect(world.node.readable(group)).toBe(1);
  expect(await world.node.waitFor(group, toRevision(1), never)).toBe('reached');
  expect(reports).toEqual([]);
});

it('waitFor needs a report only while a client waits, which comes with the next tick at the latest', async () => {
  const { world, group } = await CoreWorld.withShop();
  await world.transact(group, 'warm');
  world.pass(50);
  await settle();
  const applied: number[] = [];
  const take = world.node.onReadable(group, (revision) => applied.push(revision ?? -1));
  take();
  await world.transact(group, 'x');
  await world.transact(group, 'y');
  await settle();
  const stop = world.node.onReadable(group, (revision) => applied.push(revision ?? -1));
  world.pass(50);
  await world.transact(group, 'z');
  await settle();
  stop();
  expect(applied).toEqual([4]);
});

it('waitFor ends with its signal, before or after it began', async () => {
  const { world, group } = await CoreWorld.withShop();
  const controller = new AbortController();
  const waiting = world.node.waitFor(group, toRevision(9), controller.signal);
  controller.abort();
  expect(await waiting).toBe('aborted');
  expect(await world.node.waitFor(group, toRevision(9), controller.signal)).toBe('aborted');
});

it('onReadable of a deleted database reports the deletion', async () => {
  const { world, group } = await CoreWorld.withShop();
  await world.node.deleteDatabase('shop');
  const heard: (number | undefined)[] = [];
  world.node.onReadable(group, (revision) => heard.push(revision));
  await settle();
  expect(heard).toEqual([undefined]);
  expect(world.node.readable(group)).toBe(0);
});

it('the node names the leader once it has its own address', async () => {
  const { world, group } = await CoreWorld.withShop();
  expect(world.node.leaderOf(group)).toEqual({ node: 'test', address: '' });
  world.node.advertise({ grpc: '127.0.0.1:50051', http: '' });
  for (const each of [CATALOG_GROUP, group]) {
    expect(world.node.leaderOf(each)).toEqual({ node: 'test', address: '127.0.0.1:50051' });
  }
  expect(world.node.leaderOf(toGroupId(group + 1))).toBeUndefined();
});

it('the node leads databases with a single replica before their first use', async () => {
  const { world, group } = await CoreWorld.withShop();
  await world.crash();
  expect(world.core.levels.openGroups).toBe(1);
  expect(world.node.leaderOf(group)).toEqual({ node: 'test', address: '' });
});
