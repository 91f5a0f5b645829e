// Goal: each order at the port of peers that changes something has a record that says who gave it, what it was about,
// and what came of it (ADR 0135). Method: orders and answers, and what is noted of them.
import { expect, it, test } from 'vitest';
import { toNodeId } from '#base';
import type { Administered, AdminReply, AdminRequest } from '#cluster';
import { noting } from '../../../../src/cluster/admin/administered.ts';
import { recordOf } from '../../../../src/main/access/audit-trail.ts';

const NODE = toNodeId(3);
const OPERATOR = { address: '10.0.0.1:4711' };
const ASKED = { asker: OPERATOR, isPassedOn: false };
const DRAIN = { kind: 'drain', node: NODE, isGranted: false, stays: false, isDryRun: false } as const;
const AT = { at: 'n4:50052' };
const UP_TO = { acceptRevision: 7 };
const WHOSE = { principal: 'peer-port', principalName: OPERATOR.address };

it.each<[Administered['order'], string, object]>([
  [{ kind: 'decommission', node: NODE }, 'decommission-node', { onNode: 3 }],
  [{ kind: 'recommission', node: NODE }, 'recommission-node', { onNode: 3 }],
  [{ kind: 'replace', node: NODE, by: undefined }, 'replace-node', { onNode: 3 }],
  [{ kind: 'replace', node: NODE, by: toNodeId(4) }, 'replace-node', { onNode: 3, by: 4 }],
  [DRAIN, 'drain-node', { onNode: 3 }],
  [{ ...DRAIN, stays: true }, 'drain-node', { onNode: 3, mode: 'stay' }],
  [{ kind: 'undrain', node: NODE }, 'undrain-node', { onNode: 3 }],
  [{ kind: 'finalize' }, 'finalize-upgrade', {}],
  [{ kind: 'set-copies', name: 'a', databaseId: undefined, copies: 5 }, 'set-copies', { database: 'a', copies: 5 }],
  [{ kind: 'join', name: 'n4', storeId: 's', ...AT }, 'join-node', { nodeName: 'n4', store: 's', ...AT }],
  [{ kind: 'recover', name: 'a', from: NODE, ...UP_TO }, 'recover-database', { database: 'a', onNode: 3, ...UP_TO }],
])('of %o it says what it was about', (order, act, about) => {
  const from = OPERATOR.address;
  expect(recordOf({ order, ...ASKED })).toEqual({ act, ...WHOSE, outcome: 'done', about: { from, ...about } });
});

test('the record has the name in the client certificate, and says when a node forwarded the request', () => {
  const asker = { ...OPERATOR, certificate: 'node-2' };
  const record = recordOf({ order: { kind: 'finalize' }, asker, isPassedOn: true });
  expect(record).toMatchObject({ principal: 'peer-certificate:node-2', principalName: 'node-2' });
  expect(record.about).toEqual({ from: OPERATOR.address, passedOn: 'by a node' });
});

it.each<[AdminReply, code: string, why: string]>([
  [{ kind: 'faulty', code: 'not_found', reason: 'there is no node 3' }, 'not_found', 'there is no node 3'],
  [{ kind: 'later', reason: 'the node is starting' }, 'unavailable', 'the node is starting'],
])('the record of a failed request has the reason: %o', async (reply, code, why) => {
  const [noted] = await notedOf({ order: { kind: 'decommission', node: NODE }, isPassedOn: false }, reply);
  expect(noted && recordOf(noted)).toMatchObject({ outcome: 'failed', code, about: { why } });
});

it('a dry run of a drain has no record, for it changes nothing', async () => {
  const order = { ...DRAIN, stays: true, isDryRun: true };
  const reply: AdminReply = { kind: 'faulty', code: 'failed_precondition', reason: 'no quorum' };
  expect(await notedOf({ order, isPassedOn: false }, reply)).toEqual([]);
  expect(await notedOf({ order: { ...order, isDryRun: false }, isPassedOn: false }, reply)).toHaveLength(1);
});

async function notedOf(request: AdminRequest, reply: AdminReply): Promise<readonly Administered[]> {
  const noted: Administered[] = [];
  const administer = noting(
    async () => reply,
    (each) => noted.push(each),
  );
  expect(await administer(request, OPERATOR)).toBe(reply);
  return noted;
}
