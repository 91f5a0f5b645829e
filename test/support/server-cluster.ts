// Three real nodes in this process, each with a replica of every database, presented as one server. Each protocol goes
// to another node, so that data written with one protocol and read with another has passed between nodes.
import { spending } from './costs.ts';
import { eventually } from './eventually.ts';
import { seriesAt } from './metrics-page.ts';
import { startServerIn, startTestServer, type TestServer } from './server.ts';
import { tempDir } from './temp-dir.ts';
import { endWithFile } from './test-scope.ts';

/** A scrape uses milliseconds of CPU time that the nodes need. */
const SCRAPED = { interval: 100 };

/** `settings` apply to each node. */
export function startServerCluster(...settings: readonly string[]): Promise<TestServer> {
  return spending('starting nodes', () => startThree(settings));
}

async function startThree(settings: readonly string[]): Promise<TestServer> {
  await using starting = new AsyncDisposableStack();
  const start = async (name: string, ...own: readonly string[]): Promise<TestServer> => {
    const dir = starting.adopt(tempDir(), (each) => each[Symbol.dispose]());
    return starting.use(await startServerIn(dir.path, `--node-name=${name}`, '--peer-port=0', ...own, ...settings));
  };
  const one = await start('one');
  const [two, three] = await Promise.all([start('two', `--join=${one.peer}`), start('three', `--join=${one.peer}`)]);
  await untilAllAreVoters(one, 3);
  const nodes = starting.move();
  const { http, metricsOfHttp } = three;
  const each = [one, two, three].flatMap((node) => node.nodes);
  return { ...two, http, metricsOfHttp, mcp: one.mcp, nodes: each, [Symbol.asyncDispose]: () => nodes.disposeAsync() };
}

export type Nodes = readonly [one: TestServer, two: TestServer, three: TestServer, ...others: TestServer[]];

/** Nodes of one cluster, named one, two, three, and the others; they run until the last test of the file has ended. */
export async function startNodes(settings: readonly string[] = [], others: readonly string[] = []): Promise<Nodes> {
  const start = async (name: string, ...own: readonly string[]): Promise<TestServer> => {
    const server = await startTestServer(`--node-name=${name}`, '--peer-port=0', ...own, ...settings);
    endWithFile(() => server[Symbol.asyncDispose]());
    return server;
  };
  const one = await start('one');
  const join = (name: string): Promise<TestServer> => start(name, `--join=${one.peer}`);
  const [two, three] = await Promise.all([join('two'), join('three')]);
  await untilAllAreVoters(one, 3);
  return [one, two, three, ...(await Promise.all(others.map(join)))];
}

/** Waits until all nodes are voters. Earlier, a database may get fewer replicas than there are nodes. */
export async function untilAllAreVoters(node: Pick<TestServer, 'metrics'>, count: number): Promise<void> {
  await eventually(async () => {
    const voters = await seriesAt(node.metrics, 'cairn_raft_members{role="voter"}');
    if (voters !== count) throw new Error(`The catalog has ${voters} voters yet`);
  }, SCRAPED);
}
