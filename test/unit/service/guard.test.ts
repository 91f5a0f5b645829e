// Goal: no operation starts without its right (V16), and streams end with their principal (V17). Method: each operation
// for each role on a service that records its calls.
import { expect, test } from 'vitest';
import type { Principal } from '#auth';
import { DatabaseError } from '#base';
import { Faults, type Grant, NO_OPTIONS, parseGrant, RIGHTS_OF_ROLE, ROLES } from '#model';
import { guardService, OPERATIONS, type Operation, PERMISSIONS, type Service } from '#service';

function noting(asked: string[]): Service {
  const answer = { chunks: [], batches: [], items: [] };
  const operations = OPERATIONS.map((name) => [
    name,
    async () => {
      asked.push(name);
      return name === 'listDatabases' ? [{ databaseName: 'shop' }, { databaseName: 'bank' }] : answer;
    },
  ]);
  const leader = (name?: string): unknown => ({ node: name ?? 'catalog', address: 'a' });
  const all: object = { ...Object.fromEntries(operations), leader };
  return all as Service;
}

function principalOf(grants: readonly Grant[], holds = (): boolean => true): Principal {
  return { id: 'key:1', name: 'ci', attributes: new Map(), grants, holds, proof: () => ({ 'x-api-key': 'k' }) };
}

async function outcome(grants: readonly Grant[], operation: Operation, databaseName: string): Promise<string> {
  const asked: string[] = [];
  const guarded = guardService(noting(asked), principalOf(grants));
  try {
    const request = { databaseName, options: NO_OPTIONS, faults: new Faults(), grants: [] };
    await guarded[operation](request as never);
    return `done: ${asked.join()}`;
  } catch (failure) {
    return failure instanceof DatabaseError ? [failure.code, ...asked].join() : String(failure);
  }
}

const isOnAll = (operation: Operation): boolean =>
  operation.endsWith('ApiKey') || operation === 'listApiKeys' || operation.endsWith('Cluster');

const isOnAny = (operation: Operation): boolean => operation === 'listDatabases' || /Tokens?$/.test(operation);

test('only a principal that administers all databases administers keys (V16)', async () => {
  for (const operation of OPERATIONS.filter(isOnAll)) {
    const grants = ['shop', 'bank', 's*', '*-*', '**', '*:10'].flatMap((each) => parseGrant(`admin:${each}`) ?? []);
    expect([operation, await outcome(grants, operation, 'shop')]).toEqual([operation, 'permission_denied']);
  }
});

test.each(ROLES)(
  'a %s has the rights of its role and no others, on the databases of its grant and no others (V16)',
  async (role) => {
    for (const operation of OPERATIONS) {
      const may = RIGHTS_OF_ROLE[role].includes(PERMISSIONS[operation]) ? `done: ${operation}` : 'permission_denied';
      const databases = isOnAll(operation) ? '*' : 'shop';
      expect([operation, await outcome([{ role, databases }], operation, 'shop')]).toEqual([operation, may]);
      if (isOnAny(operation) || isOnAll(operation)) continue;
      const elsewhere = await outcome([{ role, databases: 'shop' }], operation, 'bank');
      expect([operation, elsewhere]).toEqual([operation, 'permission_denied']);
    }
  },
);

const grantsOf = (...texts: readonly string[]): readonly Grant[] => texts.flatMap((text) => parseGrant(text) ?? []);

test.each<[own: readonly string[], asked: string, isGiven: boolean]>([
  [['admin'], 'admin', true],
  [['admin'], 'writer:shop-*', true],
  [['writer:shop-*'], 'reader:shop-*', true],
  [['writer:shop-*'], 'writer:shop-eu-*', true],
  [['writer:*-eu'], 'writer:shop-*-eu', true],
  [['reader', 'deployer:shop'], 'deployer:shop', true],
  [['writer:shop', 'deployer:shop'], 'deployer:shop', true],
  [['writer:shop-*'], 'writer:shop*', false],
  [['writer:shop-*'], 'writer:*', false],
  [['writer:shop-*'], 'deployer:shop-eu', false],
  [['writer:shop', 'deployer:bank'], 'deployer:shop', false],
  [['reader:shop', 'reader:bank'], 'reader:*', false],
  [['reader'], 'writer', false],
  [['admin'], 'admin:shop-*:10', true],
  [['admin:shop-*:10'], 'admin:shop-*:10', true],
  [['admin:shop-*:10'], 'writer:shop-eu', true],
  [['admin:shop-*:10'], 'admin:shop-*:11', false],
  [['admin:shop-*:10'], 'admin:shop-*', false],
  [['admin:shop-*:10'], 'admin:shop-eu-*:10', false],
  [['admin:**'], 'admin', false],
  [['admin:*-*', 'admin:*a', 'admin:a*'], 'admin', false],
])('a principal with %j may issue a token with %s: %s (V21)', async (own, asked, isGiven) => {
  const done: string[] = [];
  const guarded = guardService(noting(done), principalOf(grantsOf(...own)));
  const { signal } = new AbortController();
  const parts = { name: 'x', grants: grantsOf('reader:nowhere', asked).slice(1), lifeSeconds: 1, signal };
  const work = guarded.issueToken(parts);
  const said = await work.then(
    () => 'given',
    (failure: Error) => failure.message,
  );
  expect(said).toMatch(isGiven ? /^given$/ : /lacks the right to \w+ on .*, so its tokens cannot have it$/);
  expect(done).toEqual(isGiven ? ['issueToken'] : []);
});

test('a list shows only readable databases, and the leader of others is not disclosed', async () => {
  const guarded = guardService(noting([]), principalOf([{ role: 'reader', databases: 'shop' }]));
  const { signal } = new AbortController();
  expect(await guarded.listDatabases({ signal })).toEqual([{ databaseName: 'shop' }]);
  expect(guarded.leader('shop')?.node).toBe('shop');
  expect(guarded.leader('bank')?.node).toBe('catalog');
  expect(guarded.leader()?.node).toBe('catalog');
});

test.each(['transact', 'executeCommand'] as const)(
  '%s commits with the attributes of its own principal, which a request cannot forge (V20)',
  async (operation) => {
    let asked: { readonly options: { readonly principalAttributes: ReadonlyMap<string, string> } } | undefined;
    const service: Service = {
      ...noting([]),
      [operation]: async (request: typeof asked) => {
        asked = request;
      },
    };
    const principal = { ...principalOf([{ role: 'writer', databases: '*' }]), attributes: new Map([['sub', 'ann']]) };
    const own = [['user', 'bob'] as const, ['cairn.id', 'key:2'] as const, ['cairn.sub', 'eve'] as const];
    const sent = { databaseName: 'shop', options: { principalAttributes: new Map(own) }, faults: new Faults() };
    await guardService(service, principal)[operation](sent as never);
    const wanted = { user: 'bob', 'cairn.id': 'key:1', 'cairn.name': 'ci', 'cairn.sub': 'ann' };
    expect(Object.fromEntries(asked?.options.principalAttributes ?? [])).toEqual(wanted);
    expect(sent.faults.none).toBe(true);
    const full = new Map(Array.from({ length: 62 }, (_, at) => [`k${at}`, 'v'] as const));
    const tooMany = { ...sent, options: { principalAttributes: full } };
    await guardService(service, principal)[operation](tooMany as never);
    expect(tooMany.faults.violations[0]?.description).toBe('must be at most 61 beside those of the principal');
  },
);

test.each([
  ['queryEvents', 'chunks'],
  ['scanLog', 'chunks'],
  ['scanLogBatches', 'batches'],
  ['subscribe', 'items'],
] as const)('a stream of %s ends before the next slice when its principal has ended (V17)', async (operation, name) => {
  let holds = true;
  async function* slices(): AsyncGenerator<number> {
    yield 1;
    yield 2;
    yield 3;
  }
  const service: Service = { ...noting([]), [operation]: async () => ({ [name]: slices() }) };
  const guarded = guardService(
    service,
    principalOf([{ role: 'reader', databases: '*' }], () => holds),
  );
  const reply = (await guarded[operation]({ databaseName: 'shop' } as never)) as unknown as Record<
    string,
    AsyncIterable<number>
  >;
  const seen: number[] = [];
  const reading = (async () => {
    for await (const slice of reply[name] ?? []) {
      seen.push(slice);
      holds = slice < 2;
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(seen).toEqual([1, 2]);
});
