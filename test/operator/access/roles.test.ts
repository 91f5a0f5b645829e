// Goal: grants are converted to the roles of a key. Method: a table of grants on three databases.
import { expect, it } from 'vitest';
import { rolesOf } from '../../../operator/src/access/index.ts';
import type { EventDatabase } from '../../../operator/src/api/index.ts';

type Grants = Parameters<typeof rolesOf>[0];

function database(name: string, stage: string, spec: Partial<EventDatabase['spec']> = {}): EventDatabase {
  const metadata = { name, labels: { stage } };
  return { metadata, spec: { clusterRef: { name: 'events' }, ...spec } } as unknown as EventDatabase;
}

const DATABASES = [
  database('shop', 'live'),
  database('ledger', 'live', { name: 'eu-ledger' }),
  database('test', 'test'),
];

const EXPRESSIONS = [
  { key: 'stage', operator: 'NotIn', values: ['live'] },
  { key: 'stage', operator: 'Exists' },
  { key: 'team', operator: 'DoesNotExist' },
  { key: 'stage', operator: 'In', values: ['test', 'other'] },
] as const;

const CASES: readonly (readonly [name: string, grants: Grants, roles: readonly string[] | string])[] = [
  ['names', [{ role: 'writer', databases: { names: ['shop', 'ledger'] } }], ['writer:eu-ledger', 'writer:shop']],
  [
    'labels',
    [{ role: 'reader', databases: { selector: { matchLabels: { stage: 'live' } } } }],
    ['reader:eu-ledger', 'reader:shop'],
  ],
  ['expressions', [{ role: 'reader', databases: { selector: { matchExpressions: EXPRESSIONS } } }], ['reader:test']],
  [
    'an empty selector',
    [{ role: 'reader', databases: { selector: {} } }],
    ['reader:eu-ledger', 'reader:shop', 'reader:test'],
  ],
  ['a pattern', [{ role: 'deployer', databases: { pattern: 'eu-*' } }], ['deployer:eu-*']],
  ['all databases', [{ role: 'admin', databases: { pattern: '*' } }], ['admin']],
  ['a number', [{ role: 'admin', databases: { pattern: 'acme-*' }, maxDatabases: 10 }], ['admin:acme-*:10']],
  ['a missing name', [{ role: 'reader', databases: { names: ['shop', 'gone'] } }], 'DatabaseNotFound'],
  ['a selector of nothing', [{ role: 'reader', databases: { selector: { matchLabels: { a: 'b' } } } }], 'NoDatabases'],
];

it.each(CASES)('%s: the roles of a key follow from the grants', (_name, grants, expected) => {
  const roles = rolesOf(grants, DATABASES);
  expect('problem' in roles ? roles.problem[0] : roles.roles).toEqual(expected);
});

it('grants on more databases than a key can have roles are refused', () => {
  const many = Array.from({ length: 33 }, (_, at) => database(`d-${at}`, 'live'));
  const roles = rolesOf([{ role: 'reader', databases: { selector: {} } }], many);
  expect('problem' in roles && roles.problem[0]).toBe('TooManyDatabases');
});
