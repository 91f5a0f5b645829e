// Goal: the worked examples of docs/formats are the bytes that the code writes. Method: the hexadecimal digits of each
// example block are read from the page and compared.
import { expect, it } from 'vitest';
import { encodeUtf8, parseHex, toHex } from '#base';
import { and, DATA_KIND, encodeDefinition, encodeTransactPayload, ORIGIN, parameter, stampPayload, term } from '#model';
import { componentName } from '../../support/definitions.ts';
import { eventBytes } from '../../support/events.ts';
import { exampleOf } from '../../support/format-pages.ts';

const event = eventBytes({
  source: '/streams/orders',
  subject: 'o-7',
  time: { instant: { seconds: 1_767_225_600, nanos: 0 }, text: '2026-01-01T01:00:00+01:00' },
  data: encodeUtf8('{"n":1}'),
  dataKind: DATA_KIND.JSON,
  extensions: new Map([['seq', { kind: 'integer', value: 42 }]]),
});

it('docs/formats/event.md shows the bytes of an event', () => {
  expect(exampleOf('event.md')).toBe(toHex(event));
});

it('docs/formats/transaction.md shows the bytes of a payload, up to its event', () => {
  const payload = encodeTransactPayload({
    transactionId: parseHex('00112233445566778899aabbccddeeff') ?? new Uint8Array(16),
    origin: ORIGIN.GRPC_TRANSACTION,
    options: { principalAttributes: new Map([['sub', 'ann']]), commitMessage: 'First' },
    constraints: [{ kind: 'max-revision', revision: 0, selector: term('by-subject', 'o-7') }],
    events: [event],
  });
  stampPayload(payload, Date.UTC(2026, 0, 1, 0, 0, 0, 123));
  expect(`${exampleOf('transaction.md')}${toHex(event)}`).toBe(toHex(payload));
});

it('docs/formats/definitions.md shows the bytes of a definition', () => {
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
