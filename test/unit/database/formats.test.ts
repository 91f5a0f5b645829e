// Goal: the worked examples of docs/formats are the bytes that the code writes. Method: the hexadecimal digits of each
// example block are read from the page and compared.
import { describe, expect, it } from 'vitest';
import { encodeUtf8, parseHex, replicaOf, toGroupId, toHex, toNodeId } from '#base';
import { type CatalogEntry, encodeCatalogEntry, HEAD_KIND, RowKeys } from '#database';
import {
  type ApiKey,
  and,
  DATA_KIND,
  encodeDefinition,
  encodeTransactPayload,
  ORIGIN,
  parameter,
  stampPayload,
  term,
} from '#model';
import { DATABASE_ID, DatabaseHost } from '../../support/database-host.ts';
import { historyOf } from '../../support/database-rows.ts';
import { blobOf, stamped } from '../../support/definition-entries.ts';
import { componentName } from '../../support/definitions.ts';
import { eventBytes } from '../../support/events.ts';
import { exampleOf, examplesOf } from '../../support/format-pages.ts';

const event = eventBytes({
  source: '/streams/orders',
  subject: 'o-7',
  time: { instant: { seconds: 1_767_225_600, nanos: 0 }, text: '2026-01-01T01:00:00+01:00' },
  data: encodeUtf8('{"n":1}'),
  dataKind: DATA_KIND.JSON,
  extensions: new Map([['seq', { kind: 'integer', value: 42 }]]),
});

const payload = encodeTransactPayload({
  transactionId: parseHex('00112233445566778899aabbccddeeff') ?? new Uint8Array(16),
  origin: ORIGIN.GRPC_TRANSACTION,
  options: { principalAttributes: new Map([['sub', 'ann']]), commitMessage: 'First' },
  constraints: [{ kind: 'max-revision', revision: 0, selector: term('by-subject', 'o-7') }],
  events: [event],
});
stampPayload(payload, Date.UTC(2026, 0, 1, 0, 0, 0, 123));

async function exampleHost(): Promise<DatabaseHost> {
  const host = new DatabaseHost();
  await host.apply(payload);
  await host.flush();
  return host;
}

describe('docs/formats', () => {
  it('event.md shows the bytes of an event', () => {
    expect(exampleOf('event.md')).toBe(toHex(event));
  });

  it('transaction.md shows the bytes of a payload, up to its event', () => {
    expect(`${exampleOf('transaction.md')}${toHex(event)}`).toBe(toHex(payload));
  });

  it('definitions.md shows the bytes of a definition', () => {
    const definition = encodeDefinition({
      kind: 'state-view',
      name: componentName('accounts'),
      description: undefined,
      sourceCodeUri: undefined,
      selector: and([term('by-stream', 'ledger'), parameter('by-subject', 'account_id')]),
      order: 'revision',
      keyType: 'none',
      reduceFunction: 'reduce',
      contentType: 'application/json',
      schema: undefined,
      priority: 'high',
      presenter: { name: componentName('page'), version: undefined },
    });
    expect(exampleOf('definitions.md')).toBe(toHex(definition));
  });

  it('keys.md shows keys', () => {
    const keys = new RowKeys(toGroupId(7));
    const name = { kind: HEAD_KIND.STREAM, term: encodeUtf8('orders') };
    const shown = [keys.head(name).slice(), keys.chunk(name, 300, 2).slice(), keys.tip(name, 4, [5]).slice()];
    expect(exampleOf('keys.md')).toBe(shown.map(toHex).join(''));
  });

  it('history.md shows the record of a transaction, up to its body, and that of a part of a component', async () => {
    const host = await exampleHost();
    const { view, end } = host.reader().transaction(1);
    const bodyLength = view.body.end - view.body.start;
    const part = { kind: 'part', blob: blobOf('a', 3), part: 0, bytes: encodeUtf8('abc') } as const;
    host.define(stamped(part, Date.UTC(2026, 0, 1, 0, 0, 1)));
    await host.flush();
    const bytes = historyOf(host.kv);
    expect(examplesOf('history.md')).toEqual([toHex(bytes.subarray(0, end - bodyLength)), toHex(bytes.subarray(end))]);
  });

  it('indexes.md shows the rows of an event', async () => {
    const host = await exampleHost();
    const { keys } = host.reader();
    const idRows = await host.kv.range(keys.tables(0x08, 0x09)).next(2);
    const timeRows = await host.kv.range(keys.tables(0x09, 0x0a)).next(2);
    const rows = [
      host.kv.get(keys.head({ kind: HEAD_KIND.STREAM, term: encodeUtf8('orders') })),
      host.kv.get(keys.head({ kind: HEAD_KIND.SUBJECT, term: encodeUtf8('o-7') })),
      ...idRows.map((row) => row.value),
      ...timeRows.map((row) => row.value),
      host.kv.get(keys.position(1)),
    ];
    expect(exampleOf('indexes.md')).toBe(rows.map((row) => toHex(row ?? new Uint8Array(0))).join(''));
  });

  it('entries.md shows entries of the catalog', () => {
    const createdAtMs = Date.UTC(2025, 11, 7);
    const storeId = '0199a5c8-3c1e-7a2b-9f00-ba9876543210';
    const grpc = 'cairn-0.cairn:50051';
    const http = 'http://cairn-0.cairn:3000';
    const named = { name: 'cairn-0', zone: 'a', peer: { host: 'cairn-0.cairn', port: 50_052 }, grpc, http };
    const bare = { name: '', zone: '', peer: { host: '', port: 0 }, grpc: '', http: '', mcp: 'http://a:3001' };
    const key: ApiKey = {
      id: '0123456789abcdef',
      version: 1,
      name: 'ci',
      createdAtMs,
      createdBy: 'bootstrap',
      grants: [{ role: 'reader', databases: '*' }],
      expiresAtMs: undefined,
      secrets: [{ hash: new Uint8Array(32).fill(7), createdAtMs, expiresAtMs: undefined }],
    };
    const database = { name: 'shop', databaseId: DATABASE_ID };
    const entries: readonly CatalogEntry[] = [
      { kind: 'create', ...database, createdAtMs, replicas: [replicaOf(toNodeId(1))], copies: 5 },
      { kind: 'set-copies', ...database, copies: 0 },
      { kind: 'delete', ...database },
      { kind: 'register', registration: { storeId, ...named, levels: { min: 1, max: 2 }, isLearner: true } },
      { kind: 'register', registration: { storeId, ...bare, levels: { min: 1, max: 3 }, isLearner: false } },
      { kind: 'raise', level: 2 },
      { kind: 'keep-key', key },
      { kind: 'remove-key', id: key.id },
    ];
    expect(exampleOf('entries.md')).toBe(entries.map((entry) => toHex(encodeCatalogEntry(entry))).join(''));
  });
});
