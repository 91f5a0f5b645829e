/**
 * etcd as a contender of benchmarks: starts members on loopback and builds their requests. Its conditional append is a
 * transaction that puts keys if a key does not exist.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from '../support/request-template.ts';
import { freePort, launch, stopProcess, untilListening } from '../support/server-process.ts';
import type { EtcdProgram } from './installed.ts';

export interface Etcd {
  readonly pid: number;
  readonly address: { readonly host: string; readonly port: number };
  stop(): Promise<void>;
}

const LOOK_MS = 200;
const ANSWERED_WITHIN_MS = 2_000;
const LED_WITHIN_MS = 30_000;

export const ETCD_TXN = '/etcdserverpb.KV/Txn';
export const ETCD_RANGE = '/etcdserverpb.KV/Range';

export async function startEtcd(directory: string, { path }: EtcdProgram): Promise<Etcd> {
  const [member] = await startMembers(directory, path, 1);
  if (member === undefined) throw new Error('one member was started');
  return member;
}

export interface EtcdCluster {
  readonly members: readonly Etcd[];
  /** The current leader. */
  leader(): Promise<Etcd>;
  stop(): Promise<void>;
}

export async function startEtcdCluster(directory: string, { path }: EtcdProgram, count: number): Promise<EtcdCluster> {
  const members = await startMembers(directory, path, count);
  return {
    members,
    leader: () => leaderOf(members),
    stop: async () => void (await Promise.all(members.map((member) => member.stop()))),
  };
}

/** Resolves when all members listen, which requires a leader. */
async function startMembers(directory: string, program: string, count: number): Promise<readonly Etcd[]> {
  const ports: { readonly name: string; readonly client: number; readonly peer: string }[] = [];
  for (let number = 1; number <= count; number++) {
    ports.push({ name: `etcd-${number}`, client: await freePort(), peer: `http://127.0.0.1:${await freePort()}` });
  }
  const cluster = ports.map(({ name, peer }) => `${name}=${peer}`).join();
  return Promise.all(
    ports.map(async ({ name, client, peer }) => {
      const clientUrl = `http://127.0.0.1:${client}`;
      const flags = {
        name,
        'data-dir': join(directory, name),
        'listen-client-urls': clientUrl,
        'advertise-client-urls': clientUrl,
        'listen-peer-urls': peer,
        'initial-advertise-peer-urls': peer,
        'initial-cluster': cluster,
        'quota-backend-bytes': String(8 * 2 ** 30),
        'log-level': 'error',
      };
      const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
      const child = launch(directory, program, { args, stdio: 'ignore' });
      await untilListening(client, child);
      return {
        pid: child.pid ?? 0,
        address: { host: '127.0.0.1', port: client },
        stop: () => stopProcess(child),
      };
    }),
  );
}

/** Retries, because a new member may not answer, and the leader may change. */
async function leaderOf(members: readonly Etcd[]): Promise<Etcd> {
  const deadline = performance.now() + LED_WITHIN_MS;
  while (performance.now() < deadline) {
    for (const member of members) if (await leads(member).catch(() => false)) return member;
    await delay(LOOK_MS);
  }
  throw new Error(`no member of etcd says within ${LED_WITHIN_MS} ms that it leads`);
}

async function leads({ address }: Etcd): Promise<boolean> {
  const url = `http://${address.host}:${address.port}/v3/maintenance/status`;
  const reply = await fetch(url, { method: 'POST', body: '{}', signal: AbortSignal.timeout(ANSWERED_WITHIN_MS) });
  const status: { readonly leader?: string; readonly header?: { readonly member_id?: string } } = JSON.parse(
    await reply.text(),
  );
  return status.leader !== undefined && status.leader === status.header?.member_id;
}

/**
 * Transactions that put `puts` new keys of `valueBytes`, if a key does not exist: the key itself, or an additional one
 * when there are several. etcd allows 128 operations per transaction by default.
 */
export function etcdConditionalPuts(puts: number, valueBytes: number, firstCounter: number): RequestTemplate {
  // Compare { target: CREATE = 1, key = 3, create_revision = 5 }: revision 0 means that the key does not exist.
  const absent = message(varintField(2, 1), bytesField(3, `subject-${COUNTER_MARKER}`), varintField(5, 0));
  const made = Array.from({ length: puts }, () => putOperation(`subject-${COUNTER_MARKER}`, valueBytes));
  return new RequestTemplate(message(bytesField(1, absent), ...made), {
    firstCounter,
    markersPerNumber: puts === 1 ? 2 : 1,
  });
}

/** Keys of the form `{prefix}{subject}/{number}`, so that the keys of a subject are one range. */
export interface SpreadKeys {
  readonly prefix: string;
  readonly subjectOf: (number: number) => number;
}

/** Transactions that put `puts` values of `valueBytes` under such keys. */
export function etcdSpreadPuts(
  puts: number,
  keys: SpreadKeys & { readonly valueBytes: number; readonly firstCounter?: number },
): RequestTemplate {
  const key = `${keys.prefix}${COUNTER_MARKER}/${COUNTER_MARKER}`;
  const made = Array.from({ length: puts }, () => putOperation(key, keys.valueBytes));
  const shown = (number: number, place: number): number => (place === 0 ? keys.subjectOf(number) : number);
  return new RequestTemplate(message(...made), { firstCounter: keys.firstCounter ?? 0, markersPerNumber: 2, shown });
}

/** Reads the keys of `subjects` consecutive subjects (default 1), at most `limit` keys. */
export function etcdRanges(
  keys: SpreadKeys & { readonly subjects?: number; readonly limit?: number },
): RequestTemplate {
  // The end is exclusive; its subject follows from that of the start.
  let from = 0;
  const shown = (number: number, place: number): number => {
    if (place === 0) from = keys.subjectOf(number);
    return place === 0 ? from : from + (keys.subjects ?? 1);
  };
  const key = `${keys.prefix}${COUNTER_MARKER}/`;
  const range = message(bytesField(1, key), bytesField(2, key), varintField(3, keys.limit ?? 0));
  return new RequestTemplate(range, { firstCounter: 0, markersPerNumber: 2, shown });
}

/** Reads one key of this form, with the number that `draw` returns. */
export function etcdEvents({ prefix, subjectOf }: SpreadKeys, draw: () => number): RequestTemplate {
  let drawn = 0;
  const shown = (_number: number, place: number): number => {
    if (place === 0) drawn = draw();
    return place === 0 ? subjectOf(drawn) : drawn;
  };
  const range = bytesField(1, `${prefix}${COUNTER_MARKER}/${COUNTER_MARKER}`);
  return new RequestTemplate(range, { firstCounter: 0, markersPerNumber: 2, shown });
}

/** A RequestOp of the success branch of a transaction. */
function putOperation(key: string, valueBytes: number): Buffer {
  const put = message(bytesField(1, key), bytesField(2, Buffer.alloc(valueBytes, 'x')));
  return bytesField(2, bytesField(2, put));
}
