/**
 * A control plane of one etcd, API server, controller manager and scheduler, whose files and logs are in one folder.
 * Administrators, controllers and nodes use one token; service accounts have rights by RBAC, as in any cluster.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Api } from '../../operator/src/kube/index.ts';
import { Authority, type Issued } from '../support/certificates.ts';
import { kubeconfig } from '../support/kubeconfig.ts';
import { eventually } from './cluster.ts';
import { HOST, SERVICES } from './world.ts';

/** A control plane, with the certificate that the API server and every node use. */
export interface ControlPlane extends Issued {
  /** The path of the kubeconfig file. */
  readonly kubeconfig: string;
  readonly api: Api;
}

/** The names of the API server: its DNS name and first virtual address for pods, and its own address. */
const NAMES = ['DNS:kubernetes.default.svc', 'IP:10.96.0.1', `IP:${HOST}`];
const ALONE = ['--kubeconfig=kubeconfig', '--leader-elect=false', '--secure-port=0'];
/** Command-line arguments by program. Programs run in the folder of the files. */
const PROGRAMS = {
  etcd: ['--data-dir=etcd', '--unsafe-no-fsync', '--log-level=warn'],
  'kube-apiserver': [
    '--etcd-servers=http://127.0.0.1:2379',
    `--advertise-address=${HOST}`,
    '--tls-cert-file=server.crt',
    '--tls-private-key-file=server.key',
    '--token-auth-file=tokens.csv',
    '--authorization-mode=RBAC',
    '--service-account-key-file=server.crt',
    '--service-account-signing-key-file=server.key',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-cluster-ip-range=${SERVICES}`,
  ],
  'kube-controller-manager': [
    ...ALONE,
    '--service-account-private-key-file=server.key',
    '--root-ca-file=ca.crt',
    // A Kubernetes node without a report for this time is NotReady. The usual 50 s would make tests longer.
    '--node-monitor-grace-period=16s',
  ],
  'kube-scheduler': ALONE,
} as const;

/**
 * Starts the control plane and waits until it works. When one of its programs ends, its log is printed and this process
 * ends.
 */
export async function startControlPlane(bin: string, dir: string): Promise<ControlPlane> {
  mkdirSync(dir, { recursive: true });
  const credentials = writeCredentials(dir);
  const configPath = join(dir, 'kubeconfig');
  const api = Api.fromFile(configPath);
  const start = (name: keyof typeof PROGRAMS): void => {
    const logPath = join(dir, `${name}.log`);
    const log = openSync(logPath, 'w');
    const child = spawn(join(bin, name), PROGRAMS[name], { cwd: dir, stdio: ['ignore', log, log] });
    child.on('exit', (code, signal) => {
      process.stderr.write(`${name} ended with ${code ?? signal}:\n${readFileSync(logPath, 'utf8').slice(-2000)}\n`);
      process.exit(1);
    });
  };
  const until = (path: string): Promise<void> =>
    eventually(`${path} of the API server`, async () => (await api.get(path)) !== undefined);
  start('etcd');
  start('kube-apiserver');
  await until('/api/v1/namespaces/default');
  start('kube-controller-manager');
  start('kube-scheduler');
  await until('/api/v1/namespaces/default/serviceaccounts/default');
  return { ...credentials, kubeconfig: configPath, api };
}

function writeCredentials(dir: string): Issued {
  const write = (name: string, text: string): void => writeFileSync(join(dir, name), text, { mode: 0o600 });
  const authority = new Authority('authority of the harness');
  const issued = authority.issue({ cn: 'kube-apiserver', names: NAMES });
  const token = randomBytes(16).toString('hex');
  write('ca.crt', authority.cert);
  write('server.crt', issued.cert);
  write('server.key', issued.key);
  write('tokens.csv', `${token},admin,admin,system:masters\n`);
  write('kubeconfig', kubeconfig(`https://${HOST}:6443`, join(dir, 'ca.crt'), token));
  return issued;
}
