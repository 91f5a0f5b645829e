/** A cluster of three nodes in separate processes, which can be killed and restarted. */
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { SMALL } from './in-process.ts';
import type { Answer, Sent } from './model/vocabulary.ts';
import { Clients, type ModelNode, type Nodes, untilServing } from './nodes.ts';

const PORTS = ['grpc', 'http', 'mcp', 'metrics', 'peer'] as const;
const FREE_PORTS = PORTS.map((name) => `--${name}-port=0`);

export async function startProcesses(): Promise<Nodes> {
  await using starting = new AsyncDisposableStack();
  const errors: string[] = [];
  const start = async (name: string, ...settings: readonly string[]): Promise<KilledNode> => {
    const dir = starting.adopt(tempDir(), (each) => each[Symbol.dispose]());
    const node = starting.use(new KilledNode(dir.path, [`--node-name=${name}`, ...SMALL, ...settings], errors));
    await node.start();
    return node;
  };
  const founder = await start('one');
  const others = await Promise.all(['two', 'three'].map((name) => start(name, `--join=${founder.addresses.peer}`)));
  await untilServing([founder, ...others].map(({ addresses }) => addresses));
  const running = starting.move();
  return { deployments: [[founder, ...others]], errors, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

class KilledNode implements ModelNode, AsyncDisposable {
  readonly #dataDir: string;
  readonly #settings: readonly string[];
  readonly #errors: string[];
  #process: NodeProcess | undefined;
  #ports: readonly string[] = FREE_PORTS;
  #clients: Clients | undefined;
  #isKilled = false;

  constructor(dataDir: string, settings: readonly string[], errors: string[]) {
    this.#dataDir = dataDir;
    this.#settings = settings;
    this.#errors = errors;
  }

  get addresses(): NodeProcess {
    if (this.#process === undefined) throw new Error('the node has not been started');
    return this.#process;
  }

  /** Uses the same ports as before. */
  async start(): Promise<void> {
    const process = await startNode({ dataDir: this.#dataDir, settings: this.#settings, ports: this.#ports });
    this.#process = process;
    this.#isKilled = false;
    this.#ports = PORTS.map((name) => `--${name}-port=${/:(\d+)(?:\/metrics)?$/.exec(process[name])?.[1]}`);
    this.#clients = new Clients(process);
    void this.#watch(process);
  }

  async #watch(process: NodeProcess): Promise<void> {
    const how = await process.ended;
    const isError = (line: string): boolean => /"level":"(?:error|fatal)"/.test(line);
    this.#errors.push(...process.log().split('\n').filter(isError));
    if (!this.#isKilled) this.#errors.push(`a process has ended: ${how}`);
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#clients?.[Symbol.dispose]();
    this.#process?.kill('SIGKILL');
    await this.#process?.ended;
  }

  async send(sent: Sent): Promise<Answer> {
    if (this.#isKilled || this.#clients === undefined) return { error: 'UNAVAILABLE: the node is killed' };
    return this.#clients.send(sent);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
