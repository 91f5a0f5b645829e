/** Address and credentials of the API server: those of the pod, or of a file. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseJson } from './json.ts';

export interface Access {
  /** URL, which may have a path. */
  readonly server: string;
  /** Options of a TLS connection. */
  readonly tls: {
    readonly ca?: Buffer;
    readonly cert?: Buffer;
    readonly key?: Buffer;
    readonly rejectUnauthorized?: boolean;
    readonly servername?: string;
  };
  /** Current token; undefined without one. */
  readonly token: () => string | undefined;
}

interface KubeConfig {
  readonly 'current-context': string;
  readonly contexts: readonly { readonly name: string; readonly context: Context }[];
  readonly clusters: readonly { readonly name: string; readonly cluster: ClusterEntry }[];
  readonly users: readonly { readonly name: string; readonly user: UserEntry }[];
}

interface Context {
  readonly cluster: string;
  readonly user: string;
}

interface ClusterEntry {
  readonly server: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
}

interface UserEntry {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
}

/** Folder in each pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Reads the file that KUBECONFIG names, or uses the service account of the pod, whose files are in `folder`. */
export function defaultAccess(env: NodeJS.ProcessEnv, folder: string = SERVICE_ACCOUNT): Access {
  const { KUBECONFIG: file, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (file !== undefined && file !== '') return accessOfFile(file);
  if (host === undefined || port === undefined)
    throw new Error('this is no pod of Kubernetes: KUBECONFIG must name a kubeconfig file in JSON');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: { ca: readFileSync(join(folder, 'ca.crt')) },
    token: () => tokenIn(join(folder, 'token')),
  };
}

/** Reads a kubeconfig file in JSON, as `kubectl config view --raw --output=json` writes it. */
export function accessOfFile(path: string): Access {
  const config = parsed(path);
  const { context } = named(config.contexts, config['current-context'], path);
  const { cluster } = named(config.clusters, context.cluster, path);
  const { user } = named(config.users, context.user, path);
  const bytes = (data: string | undefined, file: string | undefined): Buffer | undefined => {
    if (data !== undefined) return Buffer.from(data, 'base64');
    return file === undefined ? undefined : readFileSync(resolve(dirname(path), file));
  };
  const ca = bytes(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = bytes(user['client-certificate-data'], user['client-certificate']);
  const key = bytes(user['client-key-data'], user['client-key']);
  const { 'tls-server-name': servername } = cluster;
  return {
    server: cluster.server,
    tls: {
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true,
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(servername !== undefined && { servername }),
    },
    token: () => user.token ?? (user.tokenFile === undefined ? undefined : tokenIn(user.tokenFile)),
  };
}

function parsed(path: string): KubeConfig {
  try {
    return parseJson<KubeConfig>(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(
      `${path} is no kubeconfig file in JSON: \`kubectl config view --raw --flatten --output=json\` writes one`,
      { cause },
    );
  }
}

function named<Entry extends { readonly name: string }>(entries: readonly Entry[], name: string, path: string): Entry {
  const found = entries.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`${path} has no entry named ${JSON.stringify(name)}`);
  return found;
}

/** Reads the token each time: Kubernetes replaces it before it expires. */
function tokenIn(path: string): string {
  return readFileSync(path, 'utf8').trim();
}
