/**
 * Measures frames between two nodes over real connections on this machine, with both ends in one thread.
 *
 *   node --conditions=source bench/peer-links.ts [--seconds 3] [--tls]
 *
 * For each frame size it saturates a lane and prints the throughput and the CPU time of the process per frame, for both
 * ends including the kernel. Then it prints percentiles of the latency of 200 consecutive heartbeats of 300 bytes,
 * alone and while another lane is saturated. With --tls the connections use TLS, as with --peer-tls-cert-file. On a
 * busy machine only the CPU times are reliable.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ByteWriter, toNodeId } from '#base';
import {
  type FrameHeader,
  type Lane,
  nativeCrc32,
  type OpenPeerLinks,
  type PeerIdentity,
  type PeerObserver,
  toStoreId,
} from '#cluster';
import { silentLogger } from '#observability';
import { openPeerPort, PeerTls } from '#transport/peer';
import { beginFrame, sealFrame } from '../src/cluster/peer/frame.ts';
import { Authority } from '../test/support/certificates.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, tls: { type: 'boolean', default: false } },
});
const ms = 1000 * Number(values.seconds);
const BEATS = 200;
const KIB = 1024;
const NORTH: PeerIdentity = { node: toNodeId(1), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000001') };
const SOUTH: PeerIdentity = { node: toNodeId(2), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000002') };
const HEADER: FrameHeader = { clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab', from: NORTH, to: SOUTH };
const nothing = (): void => undefined;
const observer: PeerObserver = {
  sent: nothing,
  sendFailed: nothing,
  received: nothing,
  receiveFailed: nothing,
  stoppedReading: nothing,
  active: nothing,
  duplicate: () => undefined,
  refuses: nothing,
  roundTrip: nothing,
  note: nothing,
};

function frameOf(bytes: number): Uint8Array {
  const writer = new ByteWriter();
  beginFrame(writer, HEADER);
  writer.bytes(new Uint8Array(bytes));
  return sealFrame(writer.take(), nativeCrc32);
}

async function open(self: PeerIdentity): Promise<OpenPeerLinks> {
  const place = { clusterId: HEADER.clusterId, self, run: self.node, host: '127.0.0.1', port: 0 };
  const options = { ...place, observer, logger: silentLogger, tls: tlsOf() };
  return (await openPeerPort(options)).openLinks(options);
}

function tlsOf(): PeerTls | undefined {
  if (!values.tls) return undefined;
  return new PeerTls({ ...authority.issue({ cn: 'a node', names: ['IP:127.0.0.1'] }), ca: authority.cert });
}

const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1));

const authority = new Authority();
const LARGE = frameOf(256 * KIB);
const [north, south] = await Promise.all([open(NORTH), open(SOUTH)]);
let arrived = 0;
let onBeat: () => void = nothing;
south.onFrame((_frame: Uint8Array, lane: Lane) => {
  if (lane === 'beats') onBeat();
  else arrived += 1;
});
north.setPeers([{ ...SOUTH, host: '127.0.0.1', port: south.port }]);
while (!(['beats', 'appends', 'bulk'] as const).every((lane) => north.send(SOUTH.node, lane, frameOf(0))))
  await pause();

console.log(`load average ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
for (const bytes of [KIB, 16 * KIB, 60 * KIB, 128 * KIB, 256 * KIB, KIB * KIB]) await throughput(bytes);
await latency('beats alone', nothing);
await latency('beats beside a full lane', () => {
  while (north.send(SOUTH.node, 'bulk', LARGE));
});

async function throughput(bytes: number): Promise<void> {
  const frame = frameOf(bytes);
  const before = arrived;
  let sent = 0;
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  while (performance.now() - startedMs < ms) {
    while (north.send(SOUTH.node, 'appends', frame)) sent += 1;
    await pause();
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const count = arrived - before;
  const { user, system } = process.cpuUsage(cpu);
  const rate = Math.round(count / seconds)
    .toString()
    .padStart(7);
  const volume = ((count * frame.length) / seconds / 2 ** 20).toFixed(0).padStart(5);
  const each = ((user + system) / count).toFixed(0).padStart(6);
  console.log(
    `${String(bytes / KIB).padStart(5)} KiB a frame ${rate} frames/s ${volume} MiB/s ${each} µs of CPU a frame`,
  );
  // Waits until all frames have arrived, so that they do not delay the next measurement.
  const isEmpty = (): boolean => arrived >= before + sent;
  while (!isEmpty()) await pause();
}

async function latency(name: string, fill: () => void): Promise<void> {
  const beat = frameOf(300);
  const delays: number[] = [];
  const filling = setInterval(fill, 1);
  for (let left = BEATS; left > 0; left--) {
    await pause();
    const { promise, resolve } = Promise.withResolvers<void>();
    onBeat = resolve;
    const startedMs = performance.now();
    north.send(SOUTH.node, 'beats', beat);
    await promise;
    delays.push(performance.now() - startedMs);
  }
  clearInterval(filling);
  const sorted = delays.toSorted((a, b) => a - b);
  const [half, most, worst] = [0.5, 0.95, 1].map((part) => sorted[Math.min(BEATS - 1, Math.floor(BEATS * part))] ?? 0);
  console.log(
    `${name.padEnd(26)} p50 ${half?.toFixed(2)} ms, p95 ${most?.toFixed(2)} ms, longest ${worst?.toFixed(2)} ms`,
  );
}

await Promise.all([north.close(), south.close()]);
