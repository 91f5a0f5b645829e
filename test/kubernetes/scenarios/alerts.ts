/**
 * Makes faults in a cluster of Cairn, waits until a real Prometheus fires the alerts of the chart, follows the runbook
 * that the alert names, and waits until the alert ends. Prints the duration of both as a line of JSON.
 *
 *   npm run kube -- --nodes 4 node --conditions=source test/kubernetes/scenarios/alerts.ts [ALERT...]
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Authority } from '../../support/certificates.ts';
import { viewText, wat } from '../../support/wasm/wat.ts';
import { Cluster, eventually } from '../cluster.ts';
import { feed } from '../run.ts';
import { firstKey, installCairn, PODS } from './install.ts';
import { type Alert, activeAlerts, scrapedPods, startPrometheus } from './prometheus.ts';
import { follow } from './runbook.ts';
import { makeSmallDisk } from './small-disk.ts';

export interface AlertFigures {
  /** Milliseconds from the fault to the alert, and from the end of the runbook's commands to the end of the alert. */
  readonly [alert: string]: { readonly firedMs: number; readonly clearedMs: number };
}

interface Drill {
  /** Alerts that the fault fires. The runbook of the first one ends all of them. */
  readonly alerts: readonly [string, ...string[]];
  readonly fault: () => Promise<unknown>;
  /** Values for placeholders of the runbook that the alert does not name. */
  readonly known?: Readonly<Record<string, string>>;
}

const CHART = resolve(import.meta.dirname, '../../../charts');
const PEER_SECRET = 'cairn-peer-tls';
const PEER_NAMES = ['', '*.'].map((prefix) => `DNS:${prefix}cairn-headless.default.svc.cluster.local`);
const WITHIN_MS = 180_000;
const API = 'http://cairn:3000';
const DATABASE = 'drills';
const VIEW = 'last';
const READ_MS = 200;
const INTRUDER = `setInterval(() => {
  const socket = require('node:net').connect(50052, 'cairn-0.cairn-headless', () => socket.end('hello'));
  socket.on('error', () => undefined);
}, 200)`;

const cluster = new Cluster();
const authority = new Authority();
/** The working folder of the operator, with the charts and the files of a new certificate. */
const desk = join(cluster.dir, 'desk');

mkdirSync(desk);
symlinkSync(CHART, join(desk, 'charts'));
for (const [name, text] of Object.entries(newCertificate(90))) writeFileSync(join(desk, name), text);
await feed(JSON.stringify(peerSecret(60)), 'kubectl', 'create', '--filename=-');
const disk = await makeSmallDisk(cluster, { name: 'data-cairn-0', node: 'node-1', storage: '512Mi' });
await installCairn(
  cluster,
  'networkPolicy.enabled=false',
  'config.walSegmentBytes=4MiB',
  'config.storeWriteBufferBytes=4MiB',
  'peer.security=tlsSecret',
  `peer.existingSecret=${PEER_SECRET}`,
);
const adminKey = await firstKey(cluster);
const DRILLS: readonly Drill[] = [
  {
    alerts: ['CairnPeersRejected'],
    fault: () =>
      cluster.kubectl('run', 'intruder', `--image=${cluster.image}`, '--command', '--', 'node', '-e', INTRUDER),
  },
  {
    alerts: ['CairnInsufficientMembers', 'CairnNoLeader'],
    fault: () => cluster.kubectl('scale', 'statefulset', 'cairn', '--replicas=1'),
  },
  { alerts: ['CairnDiskFull'], fault: () => disk.fill(), known: { SIZE: '1Gi' } },
  {
    alerts: ['CairnCertExpiring'],
    fault: () => feed(JSON.stringify(peerSecret(5)), 'kubectl', 'replace', '--filename=-'),
    known: { SECRET: PEER_SECRET },
  },
  {
    alerts: ['CairnMemberDown'],
    fault: async () => {
      const { spec } = await cluster.pod('cairn-2');
      await cluster.kubectl('label', 'node', spec.nodeName ?? '', 'power=off');
    },
    known: { POD: 'cairn-2' },
  },
  { alerts: ['CairnComponentTrapping'], fault: trap, known: { URL: API, KEY: adminKey, DATABASE, VIEW } },
];
await startPrometheus(cluster);
await cluster.untilReady(PODS);
await eventually('all pods to be read', async () => (await scrapedPods()).toSorted().join() === PODS.join());
await writeAtEach();
const figures: Record<string, { firedMs: number; clearedMs: number }> = {};
const asked = process.argv.slice(2);
for (const drill of DRILLS)
  if (asked.length === 0 || asked.includes(drill.alerts[0])) figures[drill.alerts[0]] = await carryOut(drill);
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);

async function carryOut({ alerts, fault, known = {} }: Drill): Promise<{ firedMs: number; clearedMs: number }> {
  const [first] = alerts;
  const before = await activeOf(alerts);
  if (before.length > 0) throw new Error(`${first} before its fault: ${JSON.stringify(before)}`);
  const brokenMs = performance.now();
  await fault();
  let fired: Alert | undefined;
  await eventually(
    `${alerts.join(' and ')} to fire`,
    async () => {
      const firing = (await activeOf(alerts)).filter(({ state }) => state === 'firing');
      fired = firing.find(({ labels }) => labels['alertname'] === first);
      return alerts.every((name) => firing.some(({ labels }) => labels['alertname'] === name));
    },
    WITHIN_MS,
  );
  const firedMs = Math.round(performance.now() - brokenMs);
  const { pod = '', peer = '' } = fired?.labels ?? {};
  await follow(fired?.annotations['runbook_url'] ?? '', desk, { POD: pod, NODE: peer, ...known });
  const fixedMs = performance.now();
  await eventually(`${alerts.join(' and ')} to end`, async () => (await activeOf(alerts)).length === 0, WITHIN_MS);
  const clearedMs = Math.round(performance.now() - fixedMs);
  await writeAtEach();
  process.stderr.write(`${first}: fired after ${firedMs} ms, over ${clearedMs} ms after the fix\n`);
  return { firedMs, clearedMs };
}

/**
 * Publishes a State View that traps, reads it from now on, and puts a corrected version into the folder of the
 * operator.
 */
async function trap(): Promise<void> {
  const metadata = { state_view_name: VIEW, content_type: 'application/json', query_temporality: 'revision' };
  const published = JSON.stringify({ ...metadata, events: ['written'] });
  writeFileSync(join(desk, 'metadata.json'), published);
  writeFileSync(join(desk, 'corrected.wasm'), await wat(viewText()));
  const body = new FormData();
  body.append('metadata', published);
  body.append('wasm', new Blob([new Uint8Array(await wat(viewText({ evolve: 'unreachable' })))]));
  const headers = { 'x-api-key': adminKey };
  const reply = await fetch(`${API}/api/v1/db/${DATABASE}/state-views`, { method: 'POST', headers, body });
  if (!reply.ok) throw new Error(`a State View cannot be published: ${await reply.text()}`);
  const read = (): Promise<unknown> => fetch(`${API}/databases/${DATABASE}/state-views/${VIEW}`, { headers });
  setInterval(() => void read().catch(() => undefined), READ_MS);
}

async function activeOf(names: readonly string[]): Promise<readonly Alert[]> {
  return (await activeAlerts()).filter(({ labels }) => names.includes(labels['alertname'] ?? ''));
}

/** Waits until every pod accepts a write again. */
async function writeAtEach(): Promise<void> {
  for (const pod of PODS) {
    const url = `http://${pod}.cairn-headless:3000/api/v1/db`;
    const post = async (path: string, body: object): Promise<Response> =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': adminKey },
        body: JSON.stringify(body),
      });
    const event = { specversion: '1.0', id: crypto.randomUUID(), source: '/drills', type: 'written', subject: pod };
    await eventually(`${pod} to take a write`, async () => {
      const created = await post('', { database_name: DATABASE });
      return (created.ok || created.status === 409) && (await post(`/${DATABASE}`, { events: [event] })).ok;
    });
  }
}

function peerSecret(days: number): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: PEER_SECRET }, stringData: newCertificate(days) };
}

/** The files of a certificate for the peer ports of all pods. */
function newCertificate(days: number): Readonly<Record<string, string>> {
  const { cert, key } = authority.issue({ cn: 'cairn', names: PEER_NAMES, days: [-1, days] });
  return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert };
}
