/**
 * Measures the cost of TLS between nodes: appends at the leaders of two clusters of three nodes on this machine, one
 * with TLS and one without, in alternating runs.
 *
 *   npm run build && node --conditions=source bench/peer-tls.ts [--rounds 5] [--seconds 3] [--clients 1]
 *     [--event-bytes 256]
 *
 * It prints a table like npm run bench, the CPU time per event by thread, and the mean round trip on the heartbeat
 * lanes over the whole run.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { Authority } from '../test/support/certificates.ts';
import { LOOPBACK_NAMES, TlsFiles } from '../test/support/tls-files.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { table } from './support/results.ts';
import { type Contender, compete, type Turns } from './support/sample.ts';
import { cairnTurns } from './workloads/cluster.ts';

const NODES = 3;
const WARM_UP_S = 5;
const LIMIT_S = 120;

const values = readOptions({ rounds: '5', seconds: '3', clients: '1', 'event-bytes': '256' }, []);
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 0.1, isWhole: false });
const clients = readNumber('clients', values.clients, { min: 1, isWhole: true });
const eventBytes = readNumber('event-bytes', values['event-bytes'], { min: 1, isWhole: true });
const load = { name: 'peer-tls', clients, events: 1, eventBytes };

const dir = mkdtempSync(join(tmpdir(), 'cairn-peer-tls-'));
const clusters: CairnCluster[] = [];
try {
  const contenders = [contender('without TLS', []), contender('with TLS', peerSettings())];
  const what = 'Conditional transactions of one event, three nodes, at the leader.';
  const workload = { ...load, what, unit: 'events', contenders };
  const plan = { rounds, seconds, warmUpSeconds: WARM_UP_S, limitSeconds: LIMIT_S };
  console.log(table(workload, await compete(workload, plan)));
  for (const cluster of clusters) console.log(await roundTrip(cluster));
} finally {
  await Promise.all(clusters.map((cluster) => cluster.stop()));
  rmSync(dir, { recursive: true });
}

function peerSettings(): readonly string[] {
  const authority = new Authority();
  const folder = join(dir, 'files');
  mkdirSync(folder);
  const files = new TlsFiles(folder);
  files.put(authority.issue({ cn: 'a node', names: LOOPBACK_NAMES }));
  return files.peerSettings(authority);
}

function contender(peer: string, settings: readonly string[]): Contender {
  const directory = join(dir, peer.replaceAll(' ', '-'));
  return { peer, directory, open: () => turns(directory, settings) };
}

async function turns(directory: string, settings: readonly string[]): Promise<Turns> {
  const cluster = await CairnCluster.start(directory, NODES, settings);
  clusters.push(cluster);
  return cairnTurns(cluster, { ...load, place: 'leader', firstNumber: 0 });
}

async function roundTrip(cluster: CairnCluster): Promise<string> {
  const text = await (await fetch(cluster.node(await cluster.leaderOf(load.name)).metrics)).text();
  const sum = (what: string): number =>
    [...text.matchAll(new RegExp(`^cairn_peer_round_trip_time_seconds_${what}\\{.*\\} (\\S+)`, 'gm'))].reduce(
      (all, [, value]) => all + Number(value),
      0,
    );
  const mean = ((1000 * sum('sum')) / sum('count')).toFixed(2);
  return `${cluster.directory}: a round trip of a beat ${mean} ms, of ${sum('count')}`;
}
