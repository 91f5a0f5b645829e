// A program in the cluster of `npm run kube`: it uses the `kube` layer of the operator with a real API server, and
// prints the results as a line of JSON. The tests beside this file expect the same results from the server in memory.
import {
  type Api,
  ApiError,
  apply,
  applyStatus,
  CONFIG_MAP,
  type ConfigMap,
  conditionsOf,
  Elector,
  EventRecorder,
  Informer,
  type Kind,
  type KubeObject,
  pathOf,
  type Term,
} from '../../../operator/src/kube/index.ts';
import { Cluster, eventually } from '../../kubernetes/cluster.ts';
import { deletions } from './deletions.ts';

const DEPLOYMENT: Kind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments' };
const EVENT: Kind = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' };
const NAMESPACE = 'default';
/** More than one page. */
const COUNT = 520;
const AT_ONCE = 20;

const { api } = new Cluster();
const over = new AbortController();
const errors: string[] = [];
const onError = (error: unknown): void => void errors.push(String(error));
/** The garbage collector needs a second or two. */
const collects = (): Promise<void> =>
  eventually('the garbage collector', () =>
    api.get(pathOf(CONFIG_MAP, { namespace: NAMESPACE, name: 'owned' })).then(
      () => false,
      () => true,
    ),
  );
const deleted = await deletions(api, collects);
const facts = {
  ...(await applied()),
  ...(await followed()),
  ...(await elected()),
  ...(await reported()),
  ...deleted,
  errors,
};
over.abort();
process.stdout.write(`${JSON.stringify(facts)}\n`);

async function applied() {
  const metadata = { namespace: NAMESPACE, name: 'applied' };
  await apply(api, CONFIG_MAP, { metadata, data: { size: '1', colour: 'red' } }, 'first');
  await apply(api, CONFIG_MAP, { metadata, data: { size: '2' } }, 'second');
  const { data } = await apply<ConfigMap>(api, CONFIG_MAP, { metadata, data: { colour: 'red' } }, 'first');
  const unknown = await failureOf(apply(api, CONFIG_MAP, { metadata, dat: {} }, 'first'));
  const preconditions = { uid: '00000000-0000-0000-0000-000000000000' };
  const guarded = await failureOf(api.delete(pathOf(CONFIG_MAP, metadata), { preconditions }));
  return {
    takenOver: data,
    unknown: [unknown.code, unknown.isTerminal],
    guarded: guarded.code,
  };
}

async function followed() {
  const collection = pathOf(CONFIG_MAP, { namespace: NAMESPACE });
  const names = Array.from({ length: COUNT }, (_, at) => `many-${at}`);
  while (names.length > 0) {
    await Promise.all(names.splice(0, AT_ONCE).map((name) => api.create(collection, { metadata: { name } })));
  }
  const told: string[] = [];
  const isOne = ({ metadata }: KubeObject): boolean => metadata.name === 'changed';
  const informer = new Informer<KubeObject & { data?: Readonly<Record<string, string>> }>(api, collection, {
    onSet: (object, before) => void (isOne(object) && told.push(`${before?.data?.['a']} to ${object.data?.['a']}`)),
    onDelete: (object) => void (isOne(object) && told.push('gone')),
    onError,
  });
  void informer.run(over.signal);
  await informer.synced;
  const listed = [...informer.items.keys()].filter((key) => key.includes('/many-')).length;
  const metadata = { namespace: NAMESPACE, name: 'changed' };
  for (const a of ['1', '2']) await apply(api, CONFIG_MAP, { metadata, data: { a } }, 'first');
  await api.delete(pathOf(CONFIG_MAP, metadata));
  await eventually('messages of the watch', async () => told.length >= 3);
  const { version } = await api.list(collection);
  const fresh = await api.list(collection, { version });
  const ahead = await failureOf(api.list(collection, { version: `${version}0` }));
  return { listed, told, fresh: fresh.items.length > COUNT, ahead: [ahead.code, ahead.isVersionLost] };
}

async function elected() {
  const terms: { readonly name: string; readonly term: Term }[] = [];
  const ends = ['one', 'two'].map((name) => {
    const end = new AbortController();
    const lead = (term: Term): Promise<void> => {
      terms.push({ name, term });
      return new Promise((resolve) => term.signal.addEventListener('abort', () => resolve()));
    };
    const elector = new Elector(api, { namespace: NAMESPACE, name: 'elected', identity: name, onError });
    return { end, ended: elector.run(lead, end.signal) };
  });
  await eventually('a leader', async () => terms.length > 0);
  const first = terms[0]?.name === 'one' ? 0 : 1;
  ends[first]?.end.abort();
  await ends[first]?.ended;
  await eventually('another leader', async () => terms.length > 1, 5_000);
  const held = terms.map(({ term }) => term.isHeld());
  ends.forEach(({ end }) => end.abort());
  await Promise.all(ends.map(({ ended }) => ended));
  return { held, leaders: new Set(terms.map(({ name }) => name)).size };
}

async function reported() {
  const metadata = { namespace: NAMESPACE, name: 'reported' };
  const labels = { app: 'reported' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'none' }] } };
  const spec = { replicas: 0, paused: true, selector: { matchLabels: labels }, template };
  await apply<KubeObject>(api, DEPLOYMENT, { metadata, spec }, 'first');
  const observed = { observedGeneration: 1, wallMs: Date.now() };
  const [found] = conditionsOf(undefined, { Cairn: ['True', 'A', 'b'] }, observed);
  const { lastTransitionTime, type, status, reason, message } = found ?? {};
  const wanted = { conditions: [{ type, status, reason, message, lastTransitionTime }], collisionCount: 3 };
  const write = { kind: DEPLOYMENT, manager: 'status' };
  const read = (): Promise<Reported> => api.get<Reported>(pathOf(DEPLOYMENT, metadata));
  // The controller of deployments writes the status as well, and a write to an outdated version fails.
  await eventually('the status', async () => applyStatus(api, { ...write, object: await read(), status: wanted }));
  const written = await read();
  const isAgain = await applyStatus(api, { ...write, object: written, status: { ...written.status } });
  const recorder = new EventRecorder(api, { controller: 'cairn.dev/test', instance: 'pod-1', onError });
  for (let times = 0; times < 2; times += 1) {
    recorder.record(written, { type: 'Warning', reason: 'Stuck', action: 'Roll', note: 'nothing moves' });
    await recorder.flush();
  }
  const { items } = await api.list<Recorded>(pathOf(EVENT, { namespace: NAMESPACE }));
  const counts = items.filter(({ reason: why }) => why === 'Stuck').map(({ series }) => series?.count);
  return { isAgain, conditions: ownConditions(written), counts };
}

interface Recorded extends KubeObject {
  readonly reason?: string;
  readonly series?: { readonly count: number };
}

interface Reported extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}

function ownConditions({ status }: Reported): number {
  return status?.conditions?.filter(({ type }) => type === 'Cairn').length ?? 0;
}

async function failureOf(request: ReturnType<Api['delete']>): Promise<ApiError> {
  const failure = await request.catch((error: unknown) => error);
  if (failure instanceof ApiError) return failure;
  throw new Error(`it did not fail: ${String(failure)}`);
}
