// Starts a real API server of Kubernetes and its etcd on loopback, without other components of a cluster.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { Api } from '../../../operator/src/kube/index.ts';
import { findKubeBinaries } from '../../../scripts/kube/binaries.ts';
import { Authority } from '../../support/certificates.ts';
import { freePorts } from '../../support/free-ports.ts';
import { kubeconfig } from '../../support/kubeconfig.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { endWithFile } from '../../support/test-scope.ts';

const execute = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 << 20;

export interface RealServer {
  readonly api: Api;
  /** Run kubectl and helm, and return their output. @throws Error with their standard error. */
  readonly kubectl: (...args: readonly string[]) => Promise<string>;
  readonly helm: (...args: readonly string[]) => Promise<string>;
}

/** Starts both and waits until the API server answers. They end with the test file. */
export async function startRealServer(): Promise<RealServer> {
  const bin = findKubeBinaries() ?? '';
  const dir = tempDir();
  endWithFile(() => dir[Symbol.dispose]());
  const [port = 0, client = 0, peer = 0] = await freePorts(3);
  const configPath = writeFiles(dir.path, port);
  const start = (program: string, flags: readonly string[]): void =>
    endProcessWithFile(spawn(join(bin, program), flags, { cwd: dir.path, stdio: 'ignore' }));
  const etcd = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`] as const;
  start('etcd', [
    '--data-dir=etcd',
    '--unsafe-no-fsync',
    `--listen-client-urls=${etcd[0]}`,
    `--advertise-client-urls=${etcd[0]}`,
    `--listen-peer-urls=${etcd[1]}`,
    `--initial-advertise-peer-urls=${etcd[1]}`,
    `--initial-cluster=default=${etcd[1]}`,
  ]);
  start('kube-apiserver', [
    `--etcd-servers=${etcd[0]}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    '--tls-cert-file=server.crt',
    '--tls-private-key-file=server.key',
    '--token-auth-file=tokens.csv',
    '--authorization-mode=RBAC',
    '--service-account-key-file=server.crt',
    '--service-account-signing-key-file=server.key',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    '--service-cluster-ip-range=10.96.0.0/16',
  ]);
  const api = Api.fromFile(configPath);
  await vi.waitFor(() => api.get('/api/v1/namespaces/default'), { timeout: 90_000, interval: 100 });
  const run = async (program: string, args: readonly string[]): Promise<string> => {
    const { stdout } = await execute(join(bin, program), ['--kubeconfig', configPath, ...args], {
      maxBuffer: OUTPUT_BYTES_MAX,
      env: { ...process.env, HOME: dir.path },
    });
    return stdout;
  };
  return { api, kubectl: (...args) => run('kubectl', args), helm: (...args) => run('helm', args) };
}

function endProcessWithFile(child: ChildProcess): void {
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve());
  });
  endWithFile(() => {
    child.kill('SIGKILL');
    return gone;
  });
}

/** Writes certificates, a token, and the kubeconfig that uses them. Returns the path of the kubeconfig. */
function writeFiles(dir: string, port: number): string {
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const authority = new Authority('authority of the API server');
  const { cert, key } = authority.issue({ cn: 'kube-apiserver', names: ['IP:127.0.0.1'] });
  const token = randomBytes(16).toString('hex');
  write('server.crt', cert);
  write('server.key', key);
  write('tokens.csv', `${token},admin,admin,system:masters\n`);
  return write('kubeconfig', kubeconfig(`https://127.0.0.1:${port}`, write('ca.crt', authority.cert), token));
}
