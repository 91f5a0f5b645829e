// Goal: commands and reports arrive at the other thread as they were sent. Method: they are packed, cloned as for a
// thread, and unpacked.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError, toDatabaseId, toGroupId, toNodeId, toRevision } from '#base';
import type { Commands, Report } from '../../../src/cluster/link.ts';
import { commandTransfers, packCommands, unpackCommands } from '../../../src/cluster/thread/command-message.ts';
import { packFailure, unpackFailure } from '../../../src/cluster/thread/core-thread-messages.ts';
import { packReport, unpackReport } from '../../../src/cluster/thread/report-message.ts';

const ID = toDatabaseId('0199a5c8-3c1e-7a2b-9f00-0123456789ab');
const held = { replicas: [], leaving: [], founders: [], placement: 0, isSettled: true, copies: 0 };
const binding = { name: 'shop', databaseId: ID, group: toGroupId(7), createdAtMs: 5, ...held };
const token = fc.nat(2 ** 31);
const group = fc.nat(2 ** 31).map(toGroupId);
const node = fc.integer({ min: 1, max: 2 ** 31 }).map(toNodeId);
const revision = fc.nat().map(toRevision);

const commands: fc.Arbitrary<Commands> = fc.record({
  proposals: fc
    .array(
      fc.record({
        token,
        group,
        payload: fc.uint8Array({ maxLength: 50 }),
        tellsAdmission: fc.boolean(),
        staysHere: fc.boolean(),
      }),
    )
    // Each token belongs to one request.
    .map((all) => all.map((each, at) => ({ ...each, token: at }))),
  reads: fc.array(fc.record({ token, group })),
  creates: fc.array(fc.record({ token, name: fc.string(), copies: fc.nat(7), staysHere: fc.boolean() })),
  shown: fc.constantFrom(0, 12),
  follows: fc.boolean(),
});

it('commands arrive as they were sent', () => {
  fc.assert(
    fc.property(commands, (sent) => {
      const message = packCommands(sent);
      const received = structuredClone(message, { transfer: [...commandTransfers(message)] });
      expect(unpackCommands(received)).toEqual(sent);
    }),
  );
});

it('a large payload is released when it has been packed', () => {
  const payload = new Uint8Array(5000).fill(7);
  const shared = { group: toGroupId(1), tellsAdmission: false, staysHere: false };
  const message = packCommands({
    proposals: [{ token: 1, payload, ...shared }],
    reads: [],
    creates: [],
    shown: 0,
    follows: false,
  });
  expect(payload.length).toBe(0);
  expect(unpackCommands(message).proposals[0]?.payload).toEqual(new Uint8Array(5000).fill(7));
});

describe('reports', () => {
  const committed = fc.record({
    kind: fc.constant('committed' as const),
    revision,
    basis: revision,
    recordedTimeMs: fc.nat(),
    eventCount: fc.nat(1000),
    storedIds: fc.constantFrom([], [{ index: 1, id: 'a~2.1' }]),
  });
  const outcome = fc.oneof(
    { weight: 5, arbitrary: committed },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('replayed' as const), revision }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('violated' as const), revision, violations: fc.constant([]) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('too-broad' as const), revision, constraints: fc.constant([0, 3]) }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'created' as const, binding }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'absent' as const }) },
  );
  const settlement = fc.oneof(
    fc.record({ kind: fc.constant('outcome' as const), token, outcome }),
    fc.record({ kind: fc.constant('read' as const), token, revision }),
    fc.record({
      kind: fc.constant('refused' as const),
      token,
      error: fc.constant(
        new DatabaseError('storage_full', 'Later', { details: { reason: 'DiskFull', retryAfterMs: 5 } }),
      ),
    }),
  );
  const report: fc.Arbitrary<Report> = fc.record({
    catalog: fc.constant([{ kind: 'deleted' as const, binding }]),
    catalogIndex: fc.nat(),
    readable: fc.array(fc.record({ group, revision })),
    leaders: fc.array(fc.record({ group, node: fc.option(node, { nil: undefined }) })),
    admitted: fc.array(token),
    settlements: fc.array(settlement),
  });
  const unchanged = report.map((each) => ({ ...each, catalog: [], catalogIndex: 0 }));

  it('arrive as they were sent, with the answer of each token', () => {
    fc.assert(
      fc.property(fc.oneof(report, unchanged), (sent) => {
        const received = unpackReport(structuredClone(packReport(sent)));
        const byToken = (each: Report): unknown =>
          each.settlements.toSorted((a, b) => a.token - b.token || (a.kind < b.kind ? -1 : 1));
        expect({ ...received, settlements: [] }).toEqual({ ...sent, settlements: [] });
        expect(received.settlements.length).toBe(sent.settlements.length);
        expect(new Set([byToken(received)].flat())).toEqual(new Set([byToken(sent)].flat()));
      }),
    );
  });
});

it('failures keep class, code, reason and causes', () => {
  const cause = new Error('EIO');
  const failure = new DatabaseError('internal', 'Broken', { details: { reason: 'CorruptRecord' }, cause });
  const received = unpackFailure(structuredClone(packFailure(failure)));
  expect(received).toBeInstanceOf(DatabaseError);
  expect(received).toMatchObject({ code: 'internal', message: 'Broken', details: { reason: 'CorruptRecord' } });
  expect(received.stack).toContain('Caused by: Error: EIO');
});

it('failures of other classes keep name, message and stack', () => {
  const failure = new RangeError('Too far');
  const received = unpackFailure(structuredClone(packFailure(failure)));
  expect(received).toMatchObject({ name: 'RangeError', message: 'Too far', stack: failure.stack });
  expect(unpackFailure(packFailure('odd'))).toMatchObject({ name: 'Error', message: 'odd' });
});
