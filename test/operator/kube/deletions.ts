// Requests that test finalizers, owners and preconditions of versions. The tests send them to the server in memory and
// to a real API server.
import {
  type Api,
  apply,
  CONFIG_MAP,
  hasCode,
  type Kind,
  type KubeObject,
  pathOf,
} from '../../../operator/src/kube/index.ts';

const DEPLOYMENT: Kind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments' };
const NAMESPACE = 'default';
const OURS = 'example.dev/ours';

/** Expected answers of both servers. */
export const DELETIONS: object = {
  marked: [true, 1],
  again: true,
  added: 422,
  ended: 404,
  stale: [409, 409],
  absent: [404, 409],
  owned: 404,
  shared: true,
};

/** `pause` waits for the garbage collector. */
export async function deletions(api: Api, pause: () => Promise<void>): Promise<object> {
  return { ...(await finalized(api)), ...(await stale(api)), ...(await collected(api, pause)) };
}

async function finalized(api: Api) {
  const place = { namespace: NAMESPACE, name: 'finalized' };
  const labels = { app: 'finalized' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'none' }] } };
  const spec = { replicas: 0, paused: true, selector: { matchLabels: labels }, template };
  const metadata = { name: place.name, finalizers: [OURS] };
  const made = await api.create<KubeObject>(pathOf(DEPLOYMENT, { namespace: NAMESPACE }), { metadata, spec });
  const path = pathOf(DEPLOYMENT, place);
  await api.delete(path, { propagationPolicy: 'Background' });
  const { metadata: marked } = await api.get<KubeObject>(path);
  await api.delete(path, { propagationPolicy: 'Background' });
  const { metadata: again } = await api.get<KubeObject>(path);
  const added = await codeOf(api.patch(path, { metadata: { finalizers: [OURS, 'example.dev/more'] } }, 'merge'));
  await api.patch(path, { metadata: { finalizers: [] } }, 'merge');
  return {
    marked: [
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(marked.deletionTimestamp ?? ''),
      (marked.generation ?? 0) - (made.metadata.generation ?? 0),
    ],
    again: again.deletionTimestamp === marked.deletionTimestamp && again.generation === marked.generation,
    added,
    ended: await codeOf(api.get(path)),
  };
}

async function stale(api: Api) {
  const place = { namespace: NAMESPACE, name: 'stale' };
  const path = pathOf(CONFIG_MAP, place);
  const { metadata } = await apply<KubeObject>(api, CONFIG_MAP, { metadata: place, data: { a: '1' } }, 'ours');
  await apply(api, CONFIG_MAP, { metadata: place, data: { a: '2' } }, 'ours');
  const old = { resourceVersion: metadata.resourceVersion };
  const merged = await codeOf(api.patch(path, { metadata: old, data: { a: '3' } }, 'merge'));
  const applied = await codeOf(apply(api, CONFIG_MAP, { metadata: { ...place, ...old }, data: { a: '3' } }, 'ours'));
  const gone = { namespace: NAMESPACE, name: 'gone' };
  const status = { apiVersion: DEPLOYMENT.apiVersion, kind: DEPLOYMENT.kind, metadata: gone, status: { replicas: 0 } };
  const ofStatus = await codeOf(api.patch(`${pathOf(DEPLOYMENT, gone)}/status?fieldManager=ours`, status, 'apply'));
  const withUid = { ...gone, uid: metadata.uid };
  const ofUid = await codeOf(apply(api, CONFIG_MAP, { metadata: withUid, data: {} }, 'ours'));
  return { stale: [merged, applied], absent: [ofStatus, ofUid] };
}

async function collected(api: Api, pause: () => Promise<void>) {
  const collection = pathOf(CONFIG_MAP, { namespace: NAMESPACE });
  const owners = await Promise.all(
    ['owner', 'other'].map((name) => api.create<KubeObject>(collection, { metadata: { name } })),
  );
  const references = owners.map(({ metadata: { name, uid } }) => ({
    apiVersion: CONFIG_MAP.apiVersion,
    kind: CONFIG_MAP.kind,
    name,
    uid,
  }));
  for (const [name, count] of [['owned', 1] as const, ['shared', 2] as const])
    await api.create(collection, { metadata: { name, ownerReferences: references.slice(0, count) } });
  await api.delete(`${collection}/owner`);
  await pause();
  const shared = await api.get<KubeObject>(`${collection}/shared`);
  return { owned: await codeOf(api.get(`${collection}/owned`)), shared: shared.metadata.name === 'shared' };
}

async function codeOf(request: Promise<unknown>): Promise<number> {
  const failure = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  return hasCode(failure, 404, 409, 422) ? failure.code : 0;
}
