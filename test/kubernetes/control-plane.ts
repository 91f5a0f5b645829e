/**
 * A control plane of one etcd, API server, controller manager and scheduler, whose files and logs are in one folder.
 * Administrators, controllers and nodes use one token; service accounts have rights by RBAC, as in any cluster.
 */
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../../operator/src/kube/index.ts';
import { Authority } from '../support/certificates.ts';
import { HOST, SERVICES } from './world.ts';

export interface ControlPlane {
  /** The path of the configuration that kubectl takes. */
  readonly kubeconfig: string;
  readonly api: Api;
  /** The certificate of the API server, which is that of every node, too. */
  readonly cert: string;
  readonly key: string;
}

/** The first virtual address: the Service of the API server. */
const KUBERNETES = '10.96.0.1';
const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEER = 'http://127.0.0.1:2380';
const PORT = 6443;
const READY_WITHIN_MS = 90_000;
const POLL_MS = 100;
/** A Kubernetes node whose lease was not renewed for so long is NotReady. The usual 50 s only make tests longer. */
const NODE_GRACE = '16s';
const WITHOUT = [
  'node-ipam-controller',
  'node-route-controller',
  'cloud-node-lifecycle-controller',
  'service-lb-controller',
];

/** Starts it and waits until it works. @throws Error with the end of a log, when a program ended or takes too long. */
export async function startControlPlane(bin: string, dir: string): Promise<ControlPlane> {
  mkdirSync(dir, { recursive: true });
  const { cert, key } = writeCredentials(dir);
  const kubeconfig = join(dir, 'kubeconfig');
  const api = Api.fromFile(kubeconfig);
  const programs = new Programs(bin, dir);
  programs.start('etcd', [
    `--data-dir=${join(dir, 'etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    `--listen-peer-urls=${ETCD_PEER}`,
    `--initial-advertise-peer-urls=${ETCD_PEER}`,
    `--initial-cluster=default=${ETCD_PEER}`,
  ]);
  programs.start('kube-apiserver', apiServerFlags());
  await programs.until('kube-apiserver', () => api.get('/api/v1/namespaces/default'));
  programs.start('kube-controller-manager', [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--profiling=false',
    '--service-account-private-key-file=sa.key',
    '--root-ca-file=ca.crt',
    `--controllers=*,${WITHOUT.map((name) => `-${name}`).join(',')}`,
    `--node-monitor-grace-period=${NODE_GRACE}`,
  ]);
  const quiet = ['--leader-elect=false', '--secure-port=0', '--profiling=false'];
  programs.start('kube-scheduler', [`--kubeconfig=${kubeconfig}`, ...quiet]);
  await programs.until('kube-controller-manager', () => api.get('/api/v1/namespaces/default/serviceaccounts/default'));
  return { kubeconfig, api, cert, key };
}

function apiServerFlags(): readonly string[] {
  return [
    `--etcd-servers=${ETCD}`,
    '--bind-address=0.0.0.0',
    `--advertise-address=${HOST}`,
    `--secure-port=${PORT}`,
    '--tls-cert-file=server.crt',
    '--tls-private-key-file=server.key',
    '--token-auth-file=tokens.csv',
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-key-file=sa.pub',
    '--service-account-signing-key-file=sa.key',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-cluster-ip-range=${SERVICES}`,
    '--endpoint-reconciler-type=lease',
    '--profiling=false',
  ];
}

function writeCredentials(dir: string): { readonly cert: string; readonly key: string } {
  const write = (name: string, text: string): void => writeFileSync(join(dir, name), text, { mode: 0o600 });
  const authority = new Authority('authority of the harness');
  const service = 'kubernetes.default.svc.cluster.local'.split('.');
  const names = [1, 2, 3, 5].map((count) => `DNS:${service.slice(0, count).join('.')}`);
  const addresses = ['127.0.0.1', HOST, KUBERNETES].map((address) => `IP:${address}`);
  const { cert, key } = authority.issue({ cn: 'kube-apiserver', names: [...names, ...addresses] });
  const accounts = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const token = randomBytes(16).toString('hex');
  write('ca.crt', authority.cert);
  write('server.crt', cert);
  write('server.key', key);
  write('sa.key', String(accounts.privateKey.export({ type: 'sec1', format: 'pem' })));
  write('sa.pub', String(accounts.publicKey.export({ type: 'spki', format: 'pem' })));
  write('tokens.csv', `${token},admin,admin,system:masters\n`);
  const configuration = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'kube',
    contexts: [{ name: 'kube', context: { cluster: 'kube', user: 'admin' } }],
    clusters: [
      { name: 'kube', cluster: { server: `https://127.0.0.1:${PORT}`, 'certificate-authority': join(dir, 'ca.crt') } },
    ],
    users: [{ name: 'admin', user: { token } }],
  };
  write('kubeconfig', JSON.stringify(configuration, undefined, 2));
  return { cert, key };
}

/** The processes of a control plane; they end with the world. */
class Programs {
  readonly #bin: string;
  readonly #dir: string;
  readonly #ended = new Set<string>();

  constructor(bin: string, dir: string) {
    this.#bin = bin;
    this.#dir = dir;
  }

  start(name: string, flags: readonly string[]): void {
    const log = openSync(join(this.#dir, `${name}.log`), 'w');
    const child = spawn(join(this.#bin, name), flags, { cwd: this.#dir, stdio: ['ignore', log, log] });
    child.on('error', () => this.#ended.add(name)).on('exit', () => this.#ended.add(name));
  }

  /** Waits until `works` resolves, which the program named `name` is needed for. */
  async until(name: string, works: () => Promise<unknown>): Promise<void> {
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const failure = await works().then(
        () => undefined,
        (error: unknown) => String(error),
      );
      if (failure === undefined) return;
      const late = performance.now() > deadlineMs ? [name] : [];
      const [culprit] = [...this.#ended, ...late];
      if (culprit !== undefined) throw new Error(`${culprit} does not work: ${failure}\n${this.#logOf(culprit)}`);
      await delay(POLL_MS);
    }
  }

  #logOf(name: string): string {
    return readFileSync(join(this.#dir, `${name}.log`), 'utf8').slice(-2000);
  }
}
