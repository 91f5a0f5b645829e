// Goal: eager State Views are maintained across changes of definitions, databases and the node (F41, F43). Method: the
// service on one node, with components that it compiles.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { DatabaseError } from '#base';
import { type Event, encodeDefinitionEntry, type MaintenanceMode, toVersionNumber } from '#model';
import { SERVICE_LIMITS } from '#service';
import type { Guests } from '../../../src/main/node/guests.ts';
import { hashingView } from '../../support/components/views.ts';
import { componentName } from '../../support/definitions.ts';
import { eventually } from '../../support/eventually.ts';
import { definingPayloads, viewOf } from '../../support/published.ts';
import { NEVER, ServiceWorld } from '../../support/service-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { type HeardViews, testGuests } from '../../support/test-guests.ts';

const BY_ACCOUNT = { type: 'equals', attr: { subject: { parameter: 'account' } } };
const dir = tempDir();
const heard: HeardViews = { troubled: [], mended: [] };
let guests: Guests = testGuests(dir.path, heard);
const MAINTAINED_MAX = 3;
const world = new ServiceWorld({ maintainedMax: MAINTAINED_MAX }, () => guests.open());
let looking: Disposable | undefined;
let bytes: Uint8Array;
let databases = 0;

beforeAll(async () => {
  bytes = await (await hashingView({ hasBatch: true, hasQuery: false })).bytes();
  await world.start();
  begin();
}, 60_000);
afterAll(async () => {
  looking?.[Symbol.dispose]();
  await guests[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});
afterEach(async () => {
  for (const { name } of world.core.node.catalog.list()) await world.service.deleteDatabase({ databaseName: name });
  heard.troubled.splice(0);
  heard.mended.splice(0);
});

function begin(): void {
  const fail = (...failure: readonly unknown[]): never => {
    throw new Error('Nothing fails here', { cause: failure });
  };
  looking = world.service.keepViews({ onFatal: fail, onFailure: fail });
}

async function restart(): Promise<void> {
  looking?.[Symbol.dispose]();
  await guests[Symbol.asyncDispose]();
  guests = testGuests(dir.path, heard);
  await world.core.crash();
  world.bind();
  begin();
}

async function database(count: number = 0): Promise<string> {
  const name = `bank-${databases++}`;
  await world.database(name, 0);
  if (count > 0) await grow(name, count);
  return name;
}

async function grow(databaseName: string, count: number, more: Partial<Event> = {}): Promise<void> {
  for (let left = count; left > 0; left -= 500) {
    const events = Array.from({ length: Math.min(left, 500) }, () => ({ id: crypto.randomUUID(), type: 't', ...more }));
    await world.transact(databaseName, { events });
  }
}

async function defineView(databaseName: string, metadata: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const view = viewOf({ state_view_name: 'counted', events: ['t'], ...metadata });
  await world.define(databaseName, ...definingPayloads(view, bytes));
}

interface Status {
  readonly name?: string;
  readonly version?: number;
  readonly active?: boolean;
  readonly mode: MaintenanceMode;
}

function setStatus(databaseName: string, status: Status): Promise<unknown> {
  const { name = 'counted', version = 1, active = true, mode } = status;
  const titled = { component: 'state-view', name: componentName(name), version: toVersionNumber(version) } as const;
  const entry = encodeDefinitionEntry({ kind: 'set-status', ...titled, status: { active, mode } });
  return world.define(databaseName, entry);
}

async function looked(check: () => void): Promise<void> {
  await eventually(() => {
    world.timers.pass(SERVICE_LIMITS.viewPollMs);
    check();
  });
}

function maintained(): unknown {
  return guests.figures()?.maintenance.maintained ?? { eager: 0, scheduled: 0 };
}

/** True when the view that lags most has reached the end of its log. */
function isFollowed(databaseName: string): boolean {
  const { node } = world.core;
  const { group } = node.catalog.lookup(databaseName) ?? {};
  const isApplied = group !== undefined && node.readable(group) === node.answered(group);
  return isApplied && guests.figures()?.maintenance.lags.get(databaseName) === 0;
}

function advancedEvents(): number {
  return guests.figures()?.folds.advancedEvents ?? 0;
}

async function foldedByRead(
  databaseName: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<{ readonly folded: number; readonly count: number }> {
  const before = guests.figures()?.folds.readEvents ?? 0;
  const opened = await world.service.openStateView({ databaseName, name: 'counted', at: 'latest', signal: NEVER });
  const view = opened.bind({ parameters: new Map(Object.entries(parameters)), field: 'parameters' });
  const { bytes: state } = await view.render({ signal: NEVER });
  const count = state.length === 0 ? 0 : new DataView(state.buffer, state.byteOffset).getUint32(0, true);
  return { folded: (guests.figures()?.folds.readEvents ?? 0) - before, count };
}

describe('a State View', { timeout: 60_000 }, () => {
  it('in eager mode follows its log, so that a read folds no event; in lazy mode it does not', async () => {
    const name = await database(300);
    await defineView(name);
    await looked(() => expect(maintained()).toEqual({ eager: 0, scheduled: 0 }));
    expect(await foldedByRead(name)).toEqual({ folded: 300, count: 300 });
    await setStatus(name, { mode: 'eager' });
    await grow(name, 2_000);
    await looked(() => expect(isFollowed(name)).toBe(true));
    expect(await foldedByRead(name)).toEqual({ folded: 0, count: 2_300 });
    await setStatus(name, { mode: 'lazy' });
    await looked(() => expect(maintained()).toEqual({ eager: 0, scheduled: 0 }));
    await grow(name, 20);
    expect(await foldedByRead(name)).toEqual({ folded: 20, count: 2_320 });
  });

  it('is not maintained while this node has no replica that can answer, and is maintained again afterwards', async () => {
    const name = await database(20);
    await defineView(name);
    await setStatus(name, { mode: 'eager' });
    await looked(() => expect(isFollowed(name)).toBe(true));
    const absence = vi.spyOn(world.core.node, 'absence');
    absence.mockReturnValue(new DatabaseError('unavailable', 'It is behind'));
    await looked(() => expect(maintained()).toEqual({ eager: 0, scheduled: 0 }));
    const before = advancedEvents();
    absence.mockRestore();
    await grow(name, 30);
    await looked(() => expect([maintained(), isFollowed(name)]).toEqual([{ eager: 1, scheduled: 0 }, true]));
    expect(advancedEvents() - before).toBe(30);
  });

  it('is maintained for the values of earlier reads, also after a restart', async () => {
    const name = await database();
    await defineView(name, { event_selector: BY_ACCOUNT });
    await setStatus(name, { mode: 'eager' });
    await grow(name, 100, { subject: 'a' });
    await grow(name, 100, { subject: 'b' });
    expect(await foldedByRead(name, { 'subject.account': 'a' })).toEqual({ folded: 100, count: 100 });
    await looked(() => expect(maintained()).toEqual({ eager: 1, scheduled: 0 }));
    await restart();
    await grow(name, 50, { subject: 'a' });
    await grow(name, 50, { subject: 'b' });
    await looked(() => expect(isFollowed(name)).toBe(true));
    expect(await foldedByRead(name, { 'subject.account': 'a' })).toEqual({ folded: 0, count: 150 });
    expect(await foldedByRead(name, { 'subject.account': 'b' })).toEqual({ folded: 150, count: 150 });
    await looked(() => expect(maintained()).toEqual({ eager: 2, scheduled: 0 }));
  });
});
