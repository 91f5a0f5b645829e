/** etcd as a peer: one member on loopback, its conditional append a transaction that puts a key that must not exist. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from '../support/request-template.ts';
import { freePort, stopProcess, untilListening } from '../support/server-process.ts';

export interface Etcd {
  readonly pid: number;
  readonly address: { readonly host: string; readonly port: number };
  stop(): Promise<void>;
}

export const ETCD_TXN = '/etcdserverpb.KV/Txn';

/** The installed release, or nothing where etcd is not installed. */
export function etcdVersion(): string | undefined {
  const asked = spawnSync('etcd', ['--version'], { encoding: 'utf8' });
  return asked.error === undefined ? /etcd Version: (\S+)/.exec(asked.stdout)?.[1] : undefined;
}

export async function startEtcd(dir: string): Promise<Etcd> {
  const [client, peer] = [await freePort(), await freePort()];
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const flags = {
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': clientUrl,
    'advertise-client-urls': clientUrl,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
    'quota-backend-bytes': String(8 * 2 ** 30),
    'log-level': 'error',
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child: ChildProcess = spawn('etcd', args, { stdio: 'ignore' });
  await untilListening(client, child);
  return {
    pid: child.pid ?? 0,
    address: { host: '127.0.0.1', port: client },
    stop: () => stopProcess(child),
  };
}

/** A put of `valueBytes` under a new key, on condition that the key does not exist. */
export function etcdConditionalPut(valueBytes: number, firstCounter: number): RequestTemplate {
  const key = bytesField(1, `subject-${COUNTER_MARKER}`);
  // Compare { target: CREATE = 1, key = 3, create_revision = 5 }: created at 0 means absent.
  const absent = message(varintField(2, 1), bytesField(3, `subject-${COUNTER_MARKER}`), varintField(5, 0));
  const put = message(key, bytesField(2, Buffer.alloc(valueBytes, 'x')));
  return new RequestTemplate(message(bytesField(1, absent), bytesField(2, bytesField(2, put))), {
    firstCounter,
    markersPerNumber: 2,
  });
}
