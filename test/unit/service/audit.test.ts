// Goal: every admin operation has one audit record, on the node that decides it, without secrets (V19). Method: each
// operation on a service with scripted answers.
import { expect, test } from 'vitest';
import { DatabaseError } from '#base';
import { type AuditRecord, auditService, OPERATIONS, type Operation, PERMISSIONS, type Service } from '#service';

const ACTOR = { id: 'key:1', name: 'ci' };
const SECRET = 'cairn_0123_secret';
const REPLY = {
  kind: 'deleted',
  databaseId: 'an-id',
  isNew: true,
  version: { version: 3 },
  foldEpoch: 2,
  key: { id: '0123', name: 'of the shop' },
  text: SECRET,
};
const REQUEST = {
  databaseName: 'shop',
  definition: { kind: 'state-view', name: 'balances' },
  kind: 'presenter',
  name: 'balances',
  version: 3,
  status: { active: true, mode: 'eager' },
  id: '0123',
  grants: [{ role: 'reader', databases: 'shop-*' }],
  order: { kind: 'drain', node: 3, isGranted: false, stays: true, isDryRun: false },
};
const replyOf = (operation: Operation): object =>
  operation === 'administerCluster' ? { kind: 'done', node: {} } : REPLY;
const READS: readonly Operation[] = ['listApiKeys', 'findApiKey', 'describeCluster'];

function serviceThat(answer: () => unknown): Service {
  const all: object = Object.fromEntries(OPERATIONS.map((name) => [name, async () => answer()]));
  return all as Service;
}

async function recordsOf(operation: Operation, answer: () => unknown): Promise<readonly AuditRecord[]> {
  const records: AuditRecord[] = [];
  const audited = auditService(serviceThat(answer), ACTOR, (record) => records.push(record));
  await Promise.allSettled([audited[operation](REQUEST as never)]);
  return records;
}

/** A principal may issue tokens with its own rights, so these operations need no admin right. */
const HANDED_OUT: readonly Operation[] = ['issueToken', 'revokeToken'];

const isAct = (operation: Operation): boolean =>
  HANDED_OUT.includes(operation) ||
  (['administer', 'deploy'].includes(PERMISSIONS[operation]) && !READS.includes(operation));

test.each(OPERATIONS)(
  '%s has one record when it changes settings of administrators, and none otherwise (V19)',
  async (name) => {
    const records = await recordsOf(name, () => replyOf(name));
    expect(records).toHaveLength(isAct(name) ? 1 : 0);
    for (const record of records) {
      expect(record).toMatchObject({ principal: 'key:1', principalName: 'ci', outcome: 'done' });
      expect(JSON.stringify(record)).not.toContain(SECRET);
    }
  },
);

test.each([
  ['createDatabase', { database: 'shop', databaseId: 'an-id' }],
  ['deleteDatabase', { database: 'shop', databaseId: 'an-id', result: 'deleted' }],
  [
    'publishComponent',
    { database: 'shop', component: 'state-view', name: 'balances', version: 3, result: 'new-version' },
  ],
  [
    'setVersionStatus',
    { database: 'shop', component: 'presenter', name: 'balances', version: 3, status: 'active, eager' },
  ],
  ['deleteVersions', { database: 'shop', component: 'presenter', name: 'balances', version: 3 }],
  ['expireSnapshots', { database: 'shop', component: 'state-view', name: 'balances', version: 'all', foldEpoch: 2 }],
  ['issueApiKey', { key: '0123', name: 'balances', roles: ['reader:shop-*'] }],
  ['rotateApiKey', { key: '0123', name: 'of the shop' }],
  ['revokeApiKey', { key: '0123' }],
  ['issueToken', { key: '0123', name: 'balances', roles: ['reader:shop-*'] }],
  ['revokeToken', { key: '0123' }],
  ['administerCluster', { onNode: 3, mode: 'stay' }],
] as const)('the record of %s names its objects', async (operation, about) => {
  expect((await recordsOf(operation, () => replyOf(operation)))[0]?.about).toEqual(about);
});

test.each([
  ['permission_denied', 'denied'],
  ['not_found', 'failed'],
  ['unavailable', 'failed'],
] as const)('an operation that fails with %s is recorded as %s, without data of a reply', async (code, outcome) => {
  const records = await recordsOf('createDatabase', () => {
    throw new DatabaseError(code, 'no', { details: { reason: 'Because' } });
  });
  expect(records).toEqual([
    {
      act: 'create-database',
      principal: 'key:1',
      principalName: 'ci',
      outcome,
      code,
      reason: 'Because',
      about: { database: 'shop' },
    },
  ]);
});

test('an operation that another node decides is recorded there (V19)', async () => {
  const records = await recordsOf('publishComponent', () => {
    throw new DatabaseError('unavailable', 'elsewhere', { details: { holders: { group: 7, nodes: [2] } } as never });
  });
  expect(records).toEqual([]);
});

test('an admin request to the cluster is recorded with its result, and a request that changes nothing is not recorded', async () => {
  const refused = { kind: 'faulty', code: 'failed_precondition', reason: 'no quorum' };
  const [record] = await recordsOf('administerCluster', () => refused);
  const about = { onNode: 3, mode: 'stay', why: 'no quorum' };
  expect(record).toMatchObject({ act: 'drain-node', outcome: 'failed', code: 'failed_precondition', about });
  const denied = await recordsOf('administerCluster', () => {
    throw new DatabaseError('permission_denied', 'no', { details: { reason: 'RightLacking' } });
  });
  expect(denied).toMatchObject([{ act: 'drain-node', outcome: 'denied', about: { onNode: 3 } }]);
  const records: AuditRecord[] = [];
  const audited = auditService(
    serviceThat(() => refused),
    ACTOR,
    (each) => records.push(each),
  );
  const { signal } = new AbortController();
  const dryRun = { ...REQUEST.order, isDryRun: true } as never;
  for (const order of [dryRun, { kind: 'describe' }, { kind: 'copy', name: 'shop' }] as const) {
    await audited.administerCluster({ order, signal });
  }
  expect(records).toEqual([]);
});
