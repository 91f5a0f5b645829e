// Goal: behind one address for four nodes, three of which hold a database, nobody sees which one answers (TM5), and the
// end of the one that did is the end of nothing but streams. Method: four real processes on loopback; the fourth is
// asked.
import { expect, it } from 'vitest';
import { Direction } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { holdersAt } from '../support/cluster-command.ts';
import { type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { GrpcFailure, iterate } from '../support/grpc-client.ts';
import { testDir } from '../support/test-scope.ts';

const databaseName = 'shop';
const POLL = { timeout: 60_000, interval: 250 };
const log = { databaseName, startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };

async function write(member: Member, id: string): Promise<number> {
  return writeAt(member, databaseName, id, POLL);
}

async function gauge({ process }: Member, series: string): Promise<number> {
  const text = await (await fetch(process.metrics)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}

it('the fourth node of four answers for the three that hold a database, one of which is killed', {
  timeout: 240_000,
}, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const seed = first.process.peer;
  const holders = [first, await startMember(dir, 'node-2', seed), await startMember(dir, 'node-3', seed)];
  await first.client.send('createDatabase', { databaseName });
  await expect.poll(() => holdersAt(seed), POLL).toBe('1,2,3');
  const fourth = await startMember(dir, 'node-4', seed);
  const { client } = fourth;

  const ids = ['a', 'b', 'c'];
  let revision = 0;
  for (const id of ids) revision = await write(fourth, id);
  expect(await holdersAt(seed)).toBe('1,2,3');
  const metadata = { 'x-min-revision': String(revision) };
  const asked = await client.collect('scanDatabaseLog', log, { metadata });
  expect(asked.messages.map(({ id }) => id)).toEqual(ids);
  for (const holder of holders) {
    const told = await holder.client.collect('scanDatabaseLog', log, { metadata });
    expect(told.messages).toEqual(asked.messages);
    const paths = [`/db/${databaseName}/${revision}/events`, '/databases'];
    for (const path of paths) expect(await textAt(fourth, path)).toBe(await textAt(holder, path));
  }

  const items = iterate(
    client.open(
      'subscribeEvents',
      { databaseName, eventSelection: undefined, after: { revision, index: 0 }, heartbeatMs: 500 },
      { deadlineMs: 200_000 },
    ),
  );
  expect(await items.next()).toMatchObject({ value: { message: { $case: 'heartbeat' } } });
  const subscriptions = 'cairn_streams_open{op="subscribe"}';
  await expect
    .poll(async () => Math.max(...(await Promise.all(holders.map((each) => gauge(each, subscriptions))))), POLL)
    .toBe(1);
  const counts = await Promise.all(holders.map((each) => gauge(each, subscriptions)));
  const killed = holders[counts.indexOf(1)];
  if (killed === undefined) throw new Error('One of them answers the subscription');

  const reads: Promise<unknown>[] = [];
  const read = (): void => void reads.push(client.send('fetchDatabaseAtRevision', { databaseName, revision }));
  for (let n = 0; n < 50; n++) read();
  killed.process.kill('SIGKILL');
  for (let n = 0; n < 50; n++) read();
  await killed.process.ended;
  for (let n = 0; n < 50; n++) read();
  expect(new Set((await Promise.all(reads)).map((reply) => JSON.stringify(reply))).size).toBe(1);

  const end = await endOf(items);
  expect(end).toBeInstanceOf(GrpcFailure);
  expect(end).toMatchObject({ code: 'UNAVAILABLE', info: { metadata: { reason: 'RelayBroken' } } });
  ids.push('d');
  await write(fourth, 'd');
  const after = await client.collect('scanDatabaseLog', log);
  expect(after.messages.map(({ id }) => id)).toEqual(ids);
  expect(fourth.process.log()).not.toContain('"level":"error"');
});

async function textAt({ process }: Member, path: string): Promise<string> {
  return (await fetch(`${process.http}${path}`)).text();
}

async function endOf(items: AsyncIterator<unknown>): Promise<unknown> {
  try {
    while ((await items.next()).done !== true);
  } catch (failure) {
    return failure;
  }
  return undefined;
}
