// Goal: the largest event that the database takes is folded, read and presented by TypeScript components at default
// settings, and a presenter writes more than it has memory. Method: a real node, and the payloads that take most memory
// of a JavaScript engine.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TRANSACTION_BYTES_MAX } from '#model';
import { ExampleNode } from '../support/example-node.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';

const MODULES = 'test/support/components/large';
/** Six and a half megabytes of JSON go through an engine that is interpreted, on a machine with other things to do. */
const SLOW_MS = 120_000;

interface Payload {
  /** What `count` more of come to in the event as it is stored. */
  readonly bytes: number;
  readonly of: (count: number) => object;
}

/** The last is the one that takes most memory. */
const PAYLOADS: Readonly<Record<string, Payload>> = {
  text: { bytes: 1, of: (count) => ({ data: 'x'.repeat(count) }) },
  'text of wide letters': { bytes: 1, of: (count) => ({ data: `ж${'x'.repeat(count)}` }) },
  'controls, six characters of JSON each': {
    bytes: 1,
    of: (count) => ({ datacontenttype: 'text/plain', data: '\u0001'.repeat(count) }),
  },
  bytes: {
    bytes: 3,
    of: (count) => ({ datacontenttype: 'application/x', data_base64: Buffer.alloc(3 * count, 7).toString('base64') }),
  },
  'a name': { bytes: 1, of: (count) => ({ data: { ['n'.repeat(count)]: 1 } }) },
  lists: { bytes: 3, of: (count) => ({ data: Array.from({ length: count }, () => []) }) },
};

let node: ExampleNode;
beforeAll(async () => {
  node = await ExampleNode.start('large', '--guest-executors=1', '--guest-wall-ms=60000');
  const built = (module: string): Promise<Uint8Array> => builtComponent(`${MODULES}/${module}.ts`);
  const offers = { presenter_name: 'shown', content_types: ['text/plain'] };
  await node.publish('presenters', offers, await built('shown'));
  const view = { content_type: 'application/json', query_temporality: 'revision', events: ['large'] };
  await node.publish('state-views', { ...view, state_view_name: 'seen' }, await built('seen'));
  await node.publish('state-views', { ...view, state_view_name: 'shown', presenter: 'shown' }, await built('seen'));
  await node.publish(
    'presenters',
    { presenter_name: 'repeated', content_types: ['text/plain'] },
    await built('repeated'),
  );
  await node.publish(
    'state-views',
    { ...view, state_view_name: 'repeated', presenter: 'repeated' },
    await built('seen'),
  );
  const change = { state_change_name: 'measure', state_view_names: ['seen'] };
  await node.publish('state-changes', change, await built('measure'));
}, BUILD_MS);
afterAll(async () => node[Symbol.asyncDispose]());

function eventOf(name: string, count: number): object {
  const payload = PAYLOADS[name]?.of(count);
  return { id: name, source: '/large', type: 'large', subject: name.replaceAll(/\W/g, '-'), ...payload };
}

/** The longest that is taken, by what the database says of one that is too long. */
async function largestOf(name: string): Promise<object> {
  const { bytes } = PAYLOADS[name] ?? { bytes: 1 };
  const tooMany = Math.ceil((1.01 * TRANSACTION_BYTES_MAX) / bytes);
  const refused = await node.commit(eventOf(name, tooMany)).then(String, String);
  const found = Number(/too large: (\d+) bytes of events/.exec(refused)?.[1]);
  return eventOf(name, tooMany - Math.ceil((found - TRANSACTION_BYTES_MAX) / bytes));
}

describe('the largest event', () => {
  it.each(Object.keys(PAYLOADS))(
    'of %s is folded, kept, read by a decision and presented',
    async (name) => {
      const event = await largestOf(name);
      const revision = await node.commit(event);
      const payload: unknown = 'data' in event ? event.data : 'data_base64' in event && event.data_base64;
      const path = `/api/v1/db/large/${revision}/state-views`;
      const seen = await node.get(`${path}/seen/v1`);
      expect(seen.status).toBe(200);
      const { count, last } = (await seen.json()) as { readonly count: number; readonly last: unknown };
      const text = JSON.stringify(payload);
      expect([count, JSON.stringify(last) === text]).toEqual([Object.keys(PAYLOADS).indexOf(name) + 1, true]);
      const subject = name.replaceAll(/\W/g, '-');
      for (const asked of [`/events/${subject}`, '/seen']) {
        const { body } = await node.execute('measure', { method: 'POST', path: asked });
        expect(JSON.stringify(body)).toContain(`It has ${text.length} characters of JSON`);
      }
      const shown = await node.get(`${path}/shown/v1`, { accept: 'text/plain' });
      expect([shown.status, (await shown.text()) === text]).toEqual([200, true]);
    },
    SLOW_MS,
  );
});

it.each([
  ['the same bytes', 'parts=600', 600 * 262_144],
  ['a new string each time', 'parts=3000&text=yes', 3000 * 16_384],
])(
  'a presenter writes more than it has memory: %s (C1)',
  async (_what, parameters, bytes) => {
    const shown = await node.get(`/databases/large/state-views/repeated?${parameters}`, { accept: 'text/plain' });
    expect([shown.status, (await shown.arrayBuffer()).byteLength]).toEqual([200, bytes]);
  },
  SLOW_MS,
);
