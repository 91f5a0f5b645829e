// Goal: databases over HTTP are created, listed, read and deleted as the specification says, in both route families.
// Method: a real node; each test on names of its own.
import { describe, expect, it } from 'vitest';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, NOT_FOUND, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const OTHER_ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';

const { api } = await sharedHttpNode();

interface Metadata {
  readonly database: string;
  readonly database_id: string;
  readonly created_at: string;
  readonly basis: number;
  readonly revision: number;
  readonly revision_timestamp: string;
  readonly event_count: number;
}

interface CollectionObject {
  readonly name: string;
  readonly database_id: string;
  readonly created_at: string;
  readonly latest_revision: number;
  readonly event_count: number;
}

describe('SPEC-HTTP-CREATE-DATABASE: POST /api/v1/db', () => {
  it('answers 201 with the metadata of a database at revision 0', async () => {
    const name = uniqueName();
    const answer = await api.post('/api/v1/db', { database_name: name });
    expect(answer.status).toBe(201);
    const metadata = jsonOf(answer) as Metadata;
    expect(metadata).toMatchObject({ database: name, basis: 0, revision: 0, event_count: 0 });
    expect(metadata.database_id).toMatch(UUID_V7);
    expect(metadata.revision_timestamp).toBe(metadata.created_at);
    expect(answer.headers.get('x-database-id')).toBe(metadata.database_id);
    expect(answer.headers.get('x-revision')).toBe('0');
    expect(answer.headers.get('location')).toBe(`/db/${name}/latest`);
  });

  it('takes created_at from the millisecond inside database_id', async () => {
    const { created_at, database_id } = jsonOf(
      await api.post('/api/v1/db', { database_name: uniqueName() }),
    ) as Metadata;
    expect(Date.parse(created_at)).toBe(Number.parseInt(database_id.replaceAll('-', '').slice(0, 12), 16));
  });

  it.each(['', 'Shop', '-shop', 'shop-', 'a'.repeat(64), 'shop_1', 'shöp', 'a b', 'a/b'])(
    'answers 400 to the name %j and says what would be right',
    async (name) => {
      const { message, details } = errorOf(await api.post('/api/v1/db', { database_name: name }), INVALID_ARGUMENT);
      expect(message).toContain('lowercase alphanumeric');
      expect(details).toMatchObject({ field: 'database_name' });
    },
  );

  it.each([
    ['no name', {}],
    ['null', { database_name: null }],
    ['a number', { database_name: 7 }],
    ['an unknown member', { database_name: 'shop', databse: 1 }],
    ['both names', { database_name: 'shop', name: 'shop' }],
    ['an array', []],
    ['a string', '"shop"'],
    ['no JSON', '{"database_name":'],
    ['nothing', ''],
  ])('answers 400 to a body with %s', async (_what, body) => {
    expect(errorOf(await api.post('/api/v1/db', body))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-HTTP-VARIANT-PATHS: POST /api/v1/databases/{db}', () => {
  it('creates the database that the path names, with or without a body', async () => {
    const [first, second] = [uniqueName(), uniqueName()];
    const bare = await api.send(`/api/v1/databases/${first}`, { method: 'POST' });
    expect(bare.status).toBe(201);
    expect(jsonOf(bare) as Metadata).toMatchObject({ database: first, revision: 0 });
    expect(await api.post(`/api/v1/databases/${second}`, {})).toMatchObject({ status: 201 });
  });
});

describe('SPEC-HTTP-COLLECTION-DATABASES: /databases', () => {
  it('GET lists the databases as objects', async () => {
    const name = uniqueName();
    const databaseId = await api.create(name);
    await api.commit(name, cloudEvent('1'), cloudEvent('2'));
    const { databases } = jsonOf(await api.get('/databases')) as { databases: readonly CollectionObject[] };
    expect(databases.find((database) => database.name === name)).toEqual({
      name,
      database_id: databaseId,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      latest_revision: 1,
      event_count: 2,
    });
  });

  it('GET of one gives its object with the names of its components', async () => {
    const name = uniqueName();
    await api.create(name);
    await api.commit(name, cloudEvent('1'));
    const answer = await api.get(`/databases/${name}`);
    expect(jsonOf(answer)).toMatchObject({
      name,
      latest_revision: 1,
      event_count: 1,
      state_views: [],
      state_changes: [],
    });
    expect(answer.headers.get('x-revision')).toBe('1');
  });
});

describe('SPEC-HTTP-LIST: GET /', () => {
  it('gives the names of the databases', async () => {
    const name = uniqueName();
    await api.create(name);
    const { databases } = jsonOf(await api.get('/')) as { databases: readonly string[] };
    expect(databases).toContain(name);
    expect(databases).toEqual(databases.toSorted());
  });
});

describe('SPEC-HTTP-READ-DATABASE: GET /db/{database}/{revision}', () => {
  it('describes the database as it was at the revision', async () => {
    const name = uniqueName();
    const databaseId = await api.create(name);
    await api.commit(name, cloudEvent('1'), cloudEvent('2'));
    await api.commit(name, cloudEvent('3'));
    const [first, second] = [await api.get(`/db/${name}/1`), await api.get(`/db/${name}/2`)];
    expect(jsonOf(first)).toMatchObject({
      database: name,
      database_id: databaseId,
      basis: 0,
      revision: 1,
      event_count: 2,
    });
    expect(jsonOf(second)).toMatchObject({ basis: 1, revision: 2, event_count: 3 });
    expect(first.headers.get('x-database-id')).toBe(databaseId);
    expect(first.headers.get('x-revision')).toBe('1');
  });

  it('has revision 0 with the time of creation', async () => {
    const name = uniqueName();
    await api.create(name);
    const metadata = jsonOf(await api.get(`/db/${name}/0`)) as Metadata;
    expect(metadata).toMatchObject({ basis: 0, revision: 0, revision_timestamp: metadata.created_at });
  });

  it('answers 404 RevisionNotFound beyond the latest revision', async () => {
    const name = uniqueName();
    await api.create(name);
    for (const revision of ['1', '9007199254740992', '18446744073709551615']) {
      const { details } = errorOf(await api.get(`/db/${name}/${revision}`), NOT_FOUND);
      expect(details?.reason).toBe('RevisionNotFound');
    }
  });

  it.each(['-1', '1.5', '01', 'newest', '1e3', '%20', '٣', '18446744073709551616', 'LATEST'])(
    'answers 400 to the revision %s',
    async (revision) => {
      const name = uniqueName();
      await api.create(name);
      const { details } = errorOf(await api.get(`/db/${name}/${revision}`), INVALID_ARGUMENT);
      expect(details?.field).toBe('revision');
    },
  );
});

describe('SPEC-HTTP-R1: latest and cached', () => {
  const LISTINGS = ['/streams', '/subjects', '/event-types'];

  it.each(['latest', 'cached'].flatMap((word) => LISTINGS.map((below) => [word, below] as const)))(
    'GET /db/{database}/%s%s redirects to the number, not to be stored (TH3)',
    async (word, below) => {
      const name = uniqueName();
      const databaseId = await api.create(name);
      await api.commit(name, cloudEvent('1'));
      const answer = await api.get(`/db/${name}/${word}${below}?prefix=a%20b&limit=5`);
      expect(answer.status).toBe(307);
      expect(answer.headers.get('location')).toBe(`/db/${name}/1${below}?prefix=a%20b&limit=5`);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('x-database-id')).toBe(databaseId);
      expect(answer.headers.get('x-revision')).toBe('1');
      expect(await api.get(answer.headers.get('location') ?? '')).toMatchObject({ status: 200 });
    },
  );

  it.each(['latest', 'cached'])('GET /db/{database}/%s redirects to the number, with its parameters', async (word) => {
    const name = uniqueName();
    await api.create(name);
    const answer = await api.get(`/db/${name}/${word}?since=0`);
    expect(answer.status).toBe(307);
    expect(answer.headers.get('location')).toBe(`/db/${name}/0?since=0`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await api.get(answer.headers.get('location') ?? '')).toMatchObject({ status: 200 });
  });

  it.each(
    ['latest', 'cached'].flatMap((word) =>
      ['events', 'streams/orders', 'events/orders/1', 'events/1'].map((of) => [word, of]),
    ),
  )('GET /db/{database}/%s/%s answers 400: it takes a number only', async (word, of) => {
    const name = uniqueName();
    await api.create(name);
    await api.commit(name, cloudEvent('1'));
    const { message } = errorOf(await api.get(`/db/${name}/${word}/${of}`), INVALID_ARGUMENT);
    expect(message).toContain(`GET /db/${name}/${word}`);
  });

  it.each(['state-changes', 'state-views', 'events', 'streams', 'subjects', 'event-types'])(
    'GET /db/{database}/%s answers 400: the revision is missing',
    async (listing) => {
      const name = uniqueName();
      await api.create(name);
      const message = `The request is malformed: revision is missing: a number, latest or cached must stand before "${listing}"`;
      for (const database of [name, 'missing']) {
        const { message: said, details } = errorOf(await api.get(`/db/${database}/${listing}`), INVALID_ARGUMENT);
        expect([said, details?.field]).toEqual([message, 'revision']);
      }
    },
  );

  it.each(['newest', 'state-change', 'Latest', '7x'])('a revision %s is told as what it is', async (word) => {
    const { message } = errorOf(await api.get(`/db/shop/${word}`), INVALID_ARGUMENT);
    expect(message).toContain(`revision must be a number, latest or cached; found "${word}"`);
  });
});

describe('SPEC-HTTP-R4: DELETE /api/v1/db/{database}', () => {
  it('with the id of the instance deletes it', async () => {
    const name = uniqueName();
    const databaseId = await api.create(name);
    const answer = await api.delete(`/api/v1/db/${name}?database_id=${databaseId}`);
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    expect(errorOf(await api.get(`/databases/${name}`))).toMatchObject(NOT_FOUND);
  });

  it('with the id of an earlier instance leaves the re-created one', async () => {
    const name = uniqueName();
    const earlier = await api.create(name);
    await api.delete(`/api/v1/db/${name}`);
    const later = await api.create(name);
    expect(later).not.toBe(earlier);
    expect(await api.delete(`/api/v1/db/${name}?database_id=${earlier}`)).toMatchObject({ status: 204 });
    expect(jsonOf(await api.get(`/databases/${name}`))).toMatchObject({ database_id: later });
  });

  it('with an id of a missing database answers 204', async () => {
    expect(await api.delete(`/api/v1/db/${uniqueName()}?database_id=${OTHER_ID}`)).toMatchObject({ status: 204 });
  });

  it.each([
    ['application/json', (id: string) => `{"database_id":"${id}"}`],
    ['application/json', () => '"x"'],
    ['text/plain', () => 'x'],
  ] as const)('with a body of %s answers 400 and does not delete by name', async (type, bodyOf) => {
    const name = uniqueName();
    const databaseId = await api.create(name);
    const path = `/api/v1/db/${name}`;
    const sent = { method: 'DELETE', headers: { 'content-type': type }, body: bodyOf(databaseId) };
    errorOf(await api.send(path, sent), INVALID_ARGUMENT);
    expect(await api.get(`/databases/${name}`)).toMatchObject({ status: 200 });
    expect(await api.send(path, { method: 'DELETE', body: '{}' })).toMatchObject({ status: 204 });
  });
});

describe('SPEC-HTTP-R3: paths that do not exist', () => {
  it.each(['/v1/db', '/v1/databases/shop', '/api/v1/db/shop/state-views', '/api/v1/openapi'])(
    'GET %s answers 404',
    async (path) => {
      expect(errorOf(await api.get(path))).toMatchObject(NOT_FOUND);
    },
  );

  it.each(['asOfTransactionTime', 'asOfEffectiveTime'])('%s is no parameter', async (parameter) => {
    const name = uniqueName();
    await api.create(name);
    const answer = await api.get(`/db/${name}/0?${parameter}=2000-01-01T00:00:00Z`);
    expect(errorOf(answer, INVALID_ARGUMENT).details?.field).toBe(parameter);
  });
});
