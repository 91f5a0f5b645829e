/**
 * Measures the latency of clients beside a connection that floods the node with WINDOW_UPDATE frames, with and without
 * the limit on frames (src/transport/frame-floods.ts).
 *
 *   npm run build && node --conditions=source bench/frame-floods.ts [--connections 1] [--clients 8] [--seconds 5] \
 *     [--rounds 3]
 *
 * Each row has a new node. The clients share a connection, and each makes one small call after the other. Flooding
 * connections are reopened when the node closes them.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readNumber, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { createDatabase, FETCH_LATEST, THIS_BUILD } from './peers/cairn.ts';
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders, grpcMessage } from './support/http2-connection.ts';
import { bytesField } from './support/protobuf.ts';
import { RunningFlood } from './support/stream-flood.ts';

const DATABASE = 'shop';
const WITHOUT = [`--import=${join(import.meta.dirname, 'support/no-frame-rule.ts')}`];

const { connections, clients, seconds, rounds } = readCommandLine();
await using arena = new Arena();
const headers = grpcHeaders(FETCH_LATEST);
const body = grpcMessage(bytesField(1, DATABASE));

const lines = [
  '| round | rule | flood | calls | failed | p50, p95, p99, longest ms | frames of the flood | connections closed |',
  '|---|---|---|---|---|---|---|---|',
];
for (let round = 1; round <= rounds; round++) {
  for (const rule of ['on', 'off'])
    for (const flood of [false, true]) lines.push(await measure({ round, rule, flood }));
}
process.stdout.write(`${lines.join('\n')}\n`);

function readCommandLine() {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const options = { connections: text('1'), clients: text('8'), seconds: text('5'), rounds: text('3') };
  try {
    const { values } = parseArgs({ options });
    const count = (name: keyof typeof values): number => readNumber(name, values[name], { min: 1, isWhole: true });
    return {
      connections: count('connections'),
      clients: count('clients'),
      seconds: count('seconds'),
      rounds: count('rounds'),
    };
  } catch (error) {
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}

interface Case {
  readonly round: number;
  readonly rule: string;
  readonly flood: boolean;
}

async function measure({ round, rule, flood }: Case): Promise<string> {
  const build = { ...THIS_BUILD, nodeOptions: rule === 'on' ? [] : WITHOUT };
  const node = await arena.cairn(`${rule}-${flood}-${round}`, build);
  await createDatabase(node, DATABASE);
  const flooding = flood
    ? new RunningFlood({ ...node.address, path: FETCH_LATEST, connections, isPolite: true, sends: 'window-updates' })
    : undefined;
  const result = await closedLoop({ address: node.address, headers, clients, seconds, request: () => body });
  const { streams, ended } = (await flooding?.stop()) ?? { streams: 0, ended: 0 };
  await node.stop();
  const { p50, p95, p99, max } = result.latencies.percentiles();
  const times = [p50, p95, p99, max].map((ms) => ms.toFixed(1)).join(', ');
  const load = flood ? `${connections} connections` : 'none';
  return `| ${round} | ${rule} | ${load} | ${result.calls} | ${result.failed} | ${times} | ${streams} | ${ended} |`;
}
