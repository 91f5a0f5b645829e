/**
 * Measures what other clients notice of attacks on each port of a node, and the memory of the node meanwhile.
 *
 *   npm run build && node --conditions=source bench/attacks.ts
 *     [--only name,...] [--port grpc,http,mcp,metrics,peer] [--rounds 3] [--seconds 8] [--ratio 3] [--memory 512]
 *     [--root ../old] [--settings "..."] [--trim yes]
 *
 * Each attack (bench/support/attack-list.ts) gets a new node. Rounds with the attack alternate with quiet rounds of
 * half their length. A ratio is a percentile of other clients (bench/support/other-clients.ts) in a round, divided by
 * the mean of that in the quiet rounds before and after it; the table has the median and the range over the rounds.
 * Memory is resident: the maximum during the attacks over that after the first quiet round.
 *
 * The attackers are a process of the lowest priority, so that server and other clients get the processors first, as if
 * the attackers were on other machines. The table has the processors that they used nevertheless.
 *
 * The exit code is 1 when the p95 of other clients is more than `--ratio` times that of quiet rounds, or memory grows
 * by more than `--memory` MiB: the budgets of a node with default settings allow 416 (docs/operations/memory.md), and
 * V8 and malloc need more for garbage. With --trim, memory is shown after the attack, after a garbage collection, and
 * after malloc has released free memory (with gdb).
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { type CairnNode, createDatabase, startCairn, THIS_BUILD, TRANSACT } from './peers/cairn.ts';
import {
  type Addresses,
  ATTACKS,
  type Attack,
  LARGE,
  LARGE_EVENT_BYTES,
  LARGE_EVENTS,
  type Port,
  SHOP,
} from './support/attack-list.ts';
import { type AttackRound, faultsOf, lineOf, type Series, TABLE_HEAD } from './support/attack-report.ts';
import { closedLoop } from './support/closed-loop.ts';
import { collectGarbage, trimMalloc } from './support/give-back.ts';
import { grpcHeaders, grpcMessage } from './support/http2-connection.ts';
import { OtherClients, transactionOf } from './support/other-clients.ts';
import { cpuSeconds, residentMemory } from './support/process-cpu.ts';
import { RunningAttack } from './support/running-attack.ts';

const MEBIBYTE = 2 ** 20;
const LOOK_MS = 50;
/** After an attack the server closes thousands of connections. */
const REST_MS = 1_500;
const WARM_UP_SECONDS = 4;
const SMALL_BYTES = 100;
const PORTS: readonly Port[] = ['grpc', 'http', 'mcp', 'metrics', 'peer'];
const NAMES = ATTACKS.map(({ name }) => name);

const values = readOptions({
  only: NAMES.join(','),
  port: PORTS.join(','),
  rounds: '3',
  seconds: '8',
  ratio: '3',
  memory: '512',
  root: '',
  settings: '',
  trim: 'no',
});
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });
const ratio = readNumber('ratio', values.ratio, { min: 1, isWhole: false });
const memory = readNumber('memory', values.memory, { min: 1, isWhole: false });
const only = listed('only', values.only, NAMES);
const ports = listed('port', values.port, PORTS);
if (values.trim !== 'yes' && values.trim !== 'no') refuse('--trim takes yes, no');
const build = values.root ? { ...THIS_BUILD, root: values.root } : THIS_BUILD;
const settings = ['--mcp-port=0', '--peer-port=0', ...(values.settings ?? '').split(' ').filter(Boolean)];

await using arena = new Arena();
const chosen = ATTACKS.filter(({ name }) => only.includes(name));
const faults: string[] = [];
process.stdout.write(`${TABLE_HEAD}\n`);
for (const attack of chosen) for (const port of attack.ports) if (ports.includes(port)) await show(attack, port);
process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
process.exitCode = faults.length === 0 ? 0 : 1;

function listed(option: string, text: string | undefined, known: readonly string[]): readonly string[] {
  const names = (text ?? '').split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) refuse(`--${option} takes some of ${known.join(',')}, not ${JSON.stringify(unknown)}`);
  return names;
}

async function show(attack: Attack, port: Port): Promise<void> {
  const node = await startCairn(arena.at(`${attack.name} ${port}`.replaceAll(' ', '-')), build, settings);
  try {
    await fill(node, SHOP, { count: 1, bytes: SMALL_BYTES });
    await fill(node, LARGE, { count: LARGE_EVENTS, bytes: LARGE_EVENT_BYTES });
    const series = await measure(node, attack, port);
    process.stdout.write(`${lineOf(series)}\n`);
    faults.push(...faultsOf(series, { ratio, memory }));
    if (values.trim === 'yes') process.stdout.write(`\n${await trimmed(node.pid)}\n\n`);
  } finally {
    await node.stop();
  }
}

async function fill(
  node: CairnNode,
  database: string,
  { count, bytes }: { readonly count: number; readonly bytes: number },
): Promise<void> {
  await createDatabase(node, database);
  let made = 0;
  const request = (): Buffer => grpcMessage(transactionOf(database, { number: made++, bytes }));
  const { address } = node;
  const headers = grpcHeaders(TRANSACT);
  const { failed } = await closedLoop({ address, headers, clients: 1, seconds: 0, request, calls: count });
  if (failed > 0) throw new Error(`${failed} of ${count} transactions failed`);
}

async function measure(node: CairnNode, attack: Attack, port: Port): Promise<Series> {
  const { http, metrics, mcp = '', peer = '' } = node;
  const addresses: Addresses = { grpc: `${node.address.host}:${node.address.port}`, http, metrics, mcp, peer };
  using others = new OtherClients({ addresses, port, bytes: attack.otherBytes ?? SMALL_BYTES });
  await others.run(WARM_UP_SECONDS);
  const quiet = [await others.run(seconds / 2)];
  const idleBytes = residentMemory(node.pid).total;
  const attacked: AttackRound[] = [];
  for (let round = 0; round < rounds; round++) {
    attacked.push(await during(new RunningAttack(join(arena.dir, 'attackers'), attack, port, addresses), node, others));
    await delay(REST_MS);
    quiet.push(await others.run(seconds / 2));
  }
  return { attack: attack.name, port, seconds, quiet, attacked, idleBytes };
}

async function during(running: RunningAttack, { pid }: CairnNode, others: OtherClients): Promise<AttackRound> {
  const [before, beganMs] = [cpuSeconds([pid]), performance.now()];
  let peakBytes = 0;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentMemory(pid).total);
  }, LOOK_MS);
  const round = await others.run(seconds);
  const tookSeconds = (performance.now() - beganMs) / 1_000;
  const serverSeconds = cpuSeconds([pid]) - before;
  clearInterval(looking);
  return { others: round, cost: await running.stop(), tookSeconds, serverSeconds, peakBytes };
}

async function trimmed(pid: number): Promise<string> {
  const resident = (): string => `${(residentMemory(pid).total / MEBIBYTE).toFixed(0)} MiB`;
  const after = resident();
  await collectGarbage(pid);
  const collected = resident();
  trimMalloc(pid);
  return `after the attack ${after}, after a garbage collection ${collected}, after malloc released memory ${resident()}`;
}
