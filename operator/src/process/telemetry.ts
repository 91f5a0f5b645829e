/** Metrics of the operator, and its endpoints /healthz, /readyz and /metrics. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Informer, KeyedQueue, KubeObject, Pass } from '../kube/index.ts';

/** From a pass that changes nothing to one that waits for slow requests. */
const PASS_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60];

type Followed = Pick<Informer<KubeObject>, 'staleMs'> & { readonly synced: Promise<void> };

export class Telemetry {
  readonly #registry = new Registry();
  readonly #informers = new Map<string, Followed>();
  readonly #unsynced = new Set<string>();
  readonly #queues = new Map<string, KeyedQueue>();
  readonly #passes: Counter<'controller' | 'result'>;
  readonly #actions: Counter<'controller'>;
  readonly #seconds: Histogram<'controller'>;
  readonly #leader: Gauge;

  constructor() {
    const registers = [this.#registry];
    this.#passes = new Counter({
      name: 'cairn_operator_reconciles_total',
      help: 'Passes over one object, by result: success or error.',
      labelNames: ['controller', 'result'],
      registers,
    });
    this.#actions = new Counter({
      name: 'cairn_operator_actions_total',
      help: 'Changes that the operator made.',
      labelNames: ['controller'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'cairn_operator_reconcile_seconds',
      help: 'Duration of a pass.',
      labelNames: ['controller'],
      buckets: PASS_BUCKETS_SECONDS,
      registers,
    });
    this.#leader = new Gauge({
      name: 'cairn_operator_is_leader',
      help: '1 while this process acts; another one stands by.',
      registers,
    });
    this.#gaugeOfQueues('cairn_operator_queue_depth', 'Objects that wait for a pass.', ({ depth }) => depth);
    this.#gaugeOfQueues('cairn_operator_queue_failing', 'Objects whose last pass failed.', ({ failing }) => failing);
    const informers = this.#informers;
    const stale: Gauge<'resource'> = new Gauge({
      name: 'cairn_operator_watch_stale_seconds',
      help: 'Time since the API server was last heard on a watch.',
      labelNames: ['resource'],
      registers,
      collect: () => informers.forEach(({ staleMs }, resource) => stale.set({ resource }, staleMs / 1000)),
    });
  }

  #gaugeOfQueues(name: string, help: string, valueOf: (queue: KeyedQueue) => number): void {
    const queues = this.#queues;
    const registers = [this.#registry];
    const collect = (): void => queues.forEach((queue, controller) => gauge.set({ controller }, valueOf(queue)));
    const gauge: Gauge<'controller'> = new Gauge({ name, help, labelNames: ['controller'], registers, collect });
  }

  /** The process is not ready before the first list of the informer. */
  follow(resource: string, informer: Followed): void {
    this.#informers.set(resource, informer);
    this.#unsynced.add(resource);
    void informer.synced.then(() => this.#unsynced.delete(resource));
  }

  observeQueue(controller: string, queue: KeyedQueue): void {
    this.#queues.set(controller, queue);
  }

  readonly onPass = ({ controller, ms, actions, failure }: Pass): void => {
    this.#passes.inc({ controller, result: failure === undefined ? 'success' : 'error' });
    this.#actions.inc({ controller }, actions);
    this.#seconds.observe({ controller }, ms / 1000);
  };

  setLeader(isLeader: boolean): void {
    this.#leader.set(isLeader ? 1 : 0);
  }

  /** Listens until it is closed. Port 0 is any free one; the returned server has it. */
  async listen(port: number): Promise<Server> {
    const server = createServer((request, response) => void this.#answer(request.url ?? '/', response));
    server.listen(port);
    await once(server, 'listening');
    return server;
  }

  async #answer(url: string, response: ServerResponse): Promise<void> {
    const [path] = url.split('?');
    if (path === '/metrics') {
      response.writeHead(200, { 'content-type': this.#registry.contentType }).end(await this.#registry.metrics());
      return;
    }
    if (path === '/healthz') return answerText(response, 200, 'ok');
    if (path !== '/readyz') return answerText(response, 404, `no page ${path}`);
    const waiting = [...this.#unsynced].toSorted();
    if (waiting.length > 0) return answerText(response, 503, `not listed yet: ${waiting.join(', ')}`);
    answerText(response, 200, 'ok');
  }
}

function answerText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
