// Goal: the client of components implements its interface on a node, for each kind of component. Method: a node in this
// process, and small components.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Channel, failedWith, GrpcComponents, type Publication } from '../../../operator/src/client/index.ts';
import { digestOf } from '../../../operator/src/components/index.ts';
import { changeText, NO_EVENT } from '../../support/components/change-text.ts';
import { SHOWING } from '../../support/components/presenters.ts';
import { hashingView } from '../../support/components/views.ts';
import { eventually } from '../../support/eventually.ts';
import { uniqueName } from '../../support/grpc-requests.ts';
import { startTestServer } from '../../support/server.ts';
import { wat } from '../../support/wasm/wat.ts';

const server = await startTestServer('--peer-port=0');
const channel = new Channel(server.grpc, {});
const components = new GrpcComponents(channel);
const database = uniqueName();
let bytes: Readonly<Record<Publication['kind'], Buffer>>;

const VIEW: Publication = {
  kind: 'StateView',
  contentType: 'application/json',
  temporality: 'Revision',
  keyType: 'None',
  priority: 'High',
  events: [
    { stream: 'accounts', subjectPrefix: 'eu-', parameters: [{ name: 'account', attribute: 'Subject' }] },
    { withoutSubject: true },
  ],
  eventTypes: ['opened', 'closed'],
  contentSchema: { json: '{"type": "array"}' },
};

const CASES: readonly Publication[] = [
  { kind: 'Presenter', offers: [{ contentType: 'text/csv' }], settings: { separator: ';' } },
  VIEW,
  { kind: 'StateChange', stateViewNames: [], description: 'decides' },
];

afterAll(async () => {
  channel[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

beforeAll(async () => {
  await server.client.send('createDatabase', { databaseName: database });
  const [view, change, presenter] = await Promise.all([
    hashingView({ hasBatch: true, hasQuery: true }).then((made) => made.bytes()),
    wat(changeText(NO_EVENT)),
    wat(SHOWING),
  ]);
  bytes = { StateView: Buffer.from(view), StateChange: Buffer.from(change), Presenter: Buffer.from(presenter) };
});

it.each(CASES)(
  'a $kind is published once, compiled before it is active, activated, deactivated and deleted',
  async (publication) => {
    const { kind } = publication;
    const id = { database, kind, name: `own-${kind}` };
    const wasm = bytes[kind];
    const digest = digestOf(wasm);
    expect(await components.list(id)).toEqual([]);
    expect(await components.publish(id, publication, wasm)).toBe(1);
    expect(await components.publish(id, publication, wasm)).toBe(1);
    expect(await components.publish(id, { ...publication, description: 'another' }, wasm)).toBe(2);
    expect(await components.list(id)).toMatchObject([
      { version: 1, digest, isActive: false },
      { version: 2, digest, isActive: false },
    ]);
    await eventually(async () => {
      const holders = (await components.holders()).get(database) ?? [];
      expect(holders.map(({ compiled }) => compiled.has(digest))).toEqual([true]);
    });
    await components.activate(id, 2, 'Eager');
    const maintenance = kind === 'StateView' ? 'Eager' : 'Lazy';
    expect((await components.list(id))[1]).toEqual({ version: 2, digest, isActive: true, maintenance });
    const refused = await components.delete(id, 2).catch((error: unknown) => error);
    expect(failedWith(refused, 'FAILED_PRECONDITION')).toBe(true);
    await components.deactivate(id, 2);
    await components.delete(id, 2);
    await components.delete(id);
    await components.delete(id);
    expect(await components.list(id)).toEqual([]);
  },
);
