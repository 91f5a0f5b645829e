/** Real nodes in this process: one that is alone, and three of which two hold each database. */
import type { Logger } from '#observability';
import { readInvocation } from '../../src/main/config.ts';
import { startServers } from '../../src/main/servers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { GrpcClient } from './clients/grpc.ts';
import { HttpClient } from './clients/http.ts';
import { McpClient } from './clients/mcp.ts';
import type { Answer, Sent } from './model/vocabulary.ts';

const PORTS = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0', '--shutdown-grace-ms=1000'];
const SMALL = ['--wal-segment-bytes=4MiB', '--ballast-bytes=0', '--disk-soft-bytes=0', '--disk-hard-bytes=0'];

export interface ModelNode {
  send(sent: Sent): Promise<Answer>;
}

/** Nodes that have the same databases. */
export type Deployment = readonly ModelNode[];

export interface Nodes extends AsyncDisposable {
  readonly deployments: readonly Deployment[];
  /** What they have logged as an error. */
  readonly errors: readonly string[];
}

export async function startNodes(): Promise<Nodes> {
  await using starting = new AsyncDisposableStack();
  const errors: string[] = [];
  const start = async (
    ...settings: readonly string[]
  ): Promise<ModelNode & { readonly peer: string; readonly metrics: string }> => {
    const dir = starting.adopt(tempDir(), (each) => each[Symbol.dispose]());
    const read = readInvocation([`--data-dir=${dir.path}`, ...PORTS, ...SMALL, '--read-wait-ms=50', ...settings], {});
    if (read.kind === 'failure' || read.value.kind !== 'run') throw new Error('the settings of these nodes start none');
    const node = await startServers(read.value.config, errorLog(errors));
    starting.defer(() => node.drain());
    const { grpc, http, mcp = '', metrics = '', peer = '' } = node.addresses;
    const [byGrpc, byHttp] = [starting.use(new GrpcClient(grpc)), starting.use(new HttpClient(http))];
    const byMcp = starting.use(new McpClient(mcp));
    const send = (sent: Sent): Promise<Answer> =>
      (sent.isTool === true ? byMcp : /^[A-Z]+ /.test(sent.request.via) ? byHttp : byGrpc).send(sent);
    return { send, peer, metrics };
  };
  const alone = await start();
  const founder = await start('--node-name=one', '--peer-port=0', '--copies=2');
  const joining = ['two', 'three'].map((name) =>
    start(`--node-name=${name}`, '--peer-port=0', '--copies=2', `--join=${founder.peer}`),
  );
  const cluster = [founder, ...(await Promise.all(joining))];
  await untilVoters(founder.metrics, cluster.length);
  const running = starting.move();
  return { deployments: [[alone], cluster], errors, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Until then a database may get fewer replicas than it should. */
async function untilVoters(metrics: string, count: number): Promise<void> {
  for (const endMs = Date.now() + 30_000; Date.now() < endMs; ) {
    const text = await (await fetch(metrics)).text();
    if (text.includes(`\ncairn_raft_members{role="voter"} ${count}\n`)) return;
  }
  throw new Error(`the catalog has not come to ${count} voters`);
}

/** Keeps errors, and why a node ends. */
function errorLog(errors: string[]): Logger {
  const keep = (event: string, fields: object = {}): void => {
    const { error } = fields as { readonly error?: unknown };
    errors.push(`${event} ${error instanceof Error ? error.stack : JSON.stringify(fields)}`);
  };
  const nothing = (): void => undefined;
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: keep,
    fatal: keep,
    with: () => logger,
    flush: nothing,
  };
  return logger;
}
