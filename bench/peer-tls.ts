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
import { appendRequests, TRANSACT } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { grpcHeaders } from './support/http2-connection.ts';
import { measured } from './support/measured.ts';
import { type Contender, compete, type Sample, table } from './support/sample.ts';
import { ThreadTimes } from './support/thread-times.ts';

const NODES = 3;
const WARM_UP_S = 5;
const WARM_UP_CLIENTS = 16;

const values = readOptions({ rounds: '5', seconds: '3', clients: '1', 'event-bytes': '256' }, []);
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 0.1, isWhole: false });
const clients = readNumber('clients', values.clients, { min: 1, isWhole: true });
const eventBytes = readNumber('event-bytes', values['event-bytes'], { min: 1, isWhole: true });
const load = { name: 'peer-tls', clients, events: 1, eventBytes };

const dir = mkdtempSync(join(tmpdir(), 'cairn-peer-tls-'));
const clusters: CairnCluster[] = [];
try {
  const contenders = [await contender('without TLS', []), await contender('with TLS', peerSettings())];
  const what = 'Conditional transactions of one event, three nodes, at the leader.';
  const workload = { ...load, what, unit: 'events', contenders };
  const plan = { rounds, seconds, warmUpSeconds: WARM_UP_S };
  console.log(table(workload, await compete(workload, plan)));
  for (const each of contenders) console.log(each.threads());
  for (const each of contenders) console.log(`${each.peer}: ${await each.roundTrip()}`);
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

interface ClusterContender extends Contender {
  threads(): string;
  roundTrip(): Promise<string>;
}

async function contender(peer: string, settings: readonly string[]): Promise<ClusterContender> {
  const cluster = await CairnCluster.start(join(dir, peer.replaceAll(' ', '-')), NODES, settings);
  clusters.push(cluster);
  await cluster.createDatabase(load.name);
  const { address, pid, metrics } = cluster.node(await cluster.leaderOf(load.name));
  const { pids } = cluster;
  const [leads, follow] = [new ThreadTimes(pid), new ThreadTimes(...pids.filter((each) => each !== pid))];
  const template = appendRequests({ ...load, database: load.name, conditional: true }, 0);
  const by = (callers: number, duration: number): Promise<Sample> => {
    const request = (): Buffer => template.next();
    const asked = { address, headers: grpcHeaders(TRANSACT), clients: callers, seconds: duration, request };
    return measured({ pids, eventsPerCall: load.events }, asked);
  };
  return {
    peer,
    durability: 'fdatasync on two of three',
    run: (duration) => leads.during(() => follow.during(() => by(clients, duration))),
    warmUp: (duration) => by(WARM_UP_CLIENTS, duration),
    threads: () => `${peer}, by thread: the leader ${leads.text()}; the others together ${follow.text()}`,
    roundTrip: async () => {
      const text = await (await fetch(metrics)).text();
      const sum = (what: string): number =>
        [...text.matchAll(new RegExp(`^cairn_peer_round_trip_time_seconds_${what}\\{.*\\} (\\S+)`, 'gm'))].reduce(
          (all, [, value]) => all + Number(value),
          0,
        );
      return `a round trip of a beat ${((1000 * sum('sum')) / sum('count')).toFixed(2)} ms, of ${sum('count')}`;
    },
  };
}
