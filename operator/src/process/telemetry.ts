/** Metrics of the operator, and its endpoints /healthz, /readyz and /metrics. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Counter, Gauge, Registry } from 'prom-client';
import type { Condition, Followed, KeyedQueue, KubeObject, Pass } from '../kube/index.ts';

export const OPERATOR_METRICS = {
  cairn_operator_reconciles_total: {
    help: 'Passes over one object, by result: success or error.',
    labelNames: ['controller', 'result'],
  },
  cairn_operator_actions_total: { help: 'Changes that the operator made.', labelNames: ['controller'] },
  cairn_operator_is_leader: { help: '1 while this process acts; another one stands by.', labelNames: [] },
  cairn_operator_queue_depth: { help: 'Objects that wait for a pass.', labelNames: ['controller'] },
  cairn_operator_queue_failing: { help: 'Objects whose last pass failed.', labelNames: ['controller'] },
  cairn_operator_watch_stale_seconds: {
    help: 'Time since the last message of the API server on a watch.',
    labelNames: ['resource'],
  },
  cairn_operator_condition: {
    help: '1 while the condition of a resource is True, and otherwise 0.',
    labelNames: ['resource', 'object_namespace', 'object', 'type'],
  },
} as const;

type MetricName = keyof typeof OPERATOR_METRICS;
type Labels<Name extends MetricName> = (typeof OPERATOR_METRICS)[Name]['labelNames'][number];

export interface FollowOptions {
  /** The conditions of the objects are metrics: they are those of the operator. */
  readonly isReported: boolean;
}

type WithConditions = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };
interface Settings<Name extends MetricName> {
  readonly name: Name;
  readonly help: string;
  readonly labelNames: Labels<Name>[];
  readonly registers: Registry[];
}

export class Telemetry {
  readonly #registry = new Registry();
  readonly #informers = new Map<string, Followed>();
  readonly #reported = new Map<string, Followed>();
  readonly #unsynced = new Set<string>();
  readonly #queues = new Map<string, KeyedQueue>();
  readonly #passes = new Counter(this.#settingsOf('cairn_operator_reconciles_total'));
  readonly #actions = new Counter(this.#settingsOf('cairn_operator_actions_total'));
  readonly #leader = new Gauge(this.#settingsOf('cairn_operator_is_leader'));

  constructor() {
    this.#collect('cairn_operator_queue_depth', (gauge) => {
      this.#queues.forEach(({ depth }, controller) => gauge.set({ controller }, depth));
    });
    this.#collect('cairn_operator_queue_failing', (gauge) => {
      this.#queues.forEach(({ failing }, controller) => gauge.set({ controller }, failing));
    });
    this.#collect('cairn_operator_watch_stale_seconds', (gauge) => {
      this.#informers.forEach(({ staleMs }, resource) => gauge.set({ resource }, staleMs / 1000));
    });
    this.#collect('cairn_operator_condition', (gauge) => {
      this.#reported.forEach(({ items }, resource) => {
        for (const { metadata, status } of items.values() as Iterable<WithConditions>) {
          const object = { resource, object_namespace: metadata.namespace ?? '', object: metadata.name };
          for (const { type, status: state } of status?.conditions ?? [])
            gauge.set({ ...object, type }, state === 'True' ? 1 : 0);
        }
      });
    });
  }

  #settingsOf<Name extends MetricName>(name: Name): Settings<Name> {
    const { help, labelNames } = OPERATOR_METRICS[name];
    return { name, help, labelNames: [...labelNames], registers: [this.#registry] };
  }

  /** Sets all values of a gauge at each scrape. */
  #collect<Name extends MetricName>(name: Name, set: (gauge: Gauge<Labels<Name>>) => void): void {
    const gauge: Gauge<Labels<Name>> = new Gauge({
      ...this.#settingsOf(name),
      collect: () => {
        gauge.reset();
        set(gauge);
      },
    });
  }

  /** The process is not ready before the first list of the informer. */
  follow(resource: string, informer: Followed, { isReported }: FollowOptions = { isReported: true }): void {
    this.#informers.set(resource, informer);
    if (isReported) this.#reported.set(resource, informer);
    this.#unsynced.add(resource);
    void informer.synced.then(() => this.#unsynced.delete(resource));
  }

  observeQueue(controller: string, queue: KeyedQueue): void {
    this.#queues.set(controller, queue);
  }

  readonly onPass = ({ controller, actions, failure }: Pass): void => {
    this.#passes.inc({ controller, result: failure === undefined ? 'success' : 'error' });
    this.#actions.inc({ controller }, actions);
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
