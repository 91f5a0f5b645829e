/** The metrics of gRPC calls, under the names that existing dashboards know. */
import type { Count, GrpcMethodLabels, Metrics, Observe } from '#observability';
import { CLUSTER_ADMIN } from './metadata.ts';
import type { MethodMeter, MethodTraits } from './wire/method-traits.ts';

/** Success and faults of the node: exported as 0 from the start. */
const CODES_FROM_THE_START = ['OK', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'INTERNAL'];

export function methodMeters(metrics: Metrics): (method: MethodTraits) => MethodMeter {
  const meters: Meter[] = [];
  const inFlight = metrics.gauge('cairn_inflight_requests', { plane: 'grpc' });
  metrics.beforeScrape(() => {
    inFlight.set(meters.reduce((sum, meter) => sum + meter.inFlight, 0));
  });
  return (method) => {
    const meter = new Meter(metrics, method);
    meters.push(meter);
    // Rates of admin calls are useless: those series begin with the first call.
    if (method.service !== CLUSTER_ADMIN) meter.show();
    return meter;
  };
}

interface Shown {
  readonly started: Count;
  readonly received: Count;
  readonly sent: Count;
  readonly seconds: Observe;
}

class Meter implements MethodMeter {
  readonly #metrics: Metrics;
  readonly #labels: GrpcMethodLabels;
  readonly #handled = new Map<string, Count>();
  /** Undefined: no series of the method is exported yet. */
  #shown: Shown | undefined;
  #inFlight = 0;

  constructor(metrics: Metrics, method: MethodTraits) {
    this.#metrics = metrics;
    this.#labels = { grpc_type: method.kind, grpc_service: method.service, grpc_method: method.name };
  }

  /** Exports series as 0 before their first event. */
  show(): void {
    this.#series();
    for (const code of CODES_FROM_THE_START) this.#handledWith(code);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  started(): void {
    this.#series().started.add();
    this.#inFlight += 1;
  }

  received(): void {
    this.#series().received.add();
  }

  sent(count: number): void {
    this.#series().sent.add(count);
  }

  ended(code: string, seconds: number): void {
    this.#handledWith(code).add();
    this.#series().seconds.observe(seconds);
    this.#inFlight -= 1;
  }

  #series(): Shown {
    this.#shown ??= {
      started: this.#metrics.counter('grpc_server_started_total', this.#labels),
      received: this.#metrics.counter('grpc_server_msg_received_total', this.#labels),
      sent: this.#metrics.counter('grpc_server_msg_sent_total', this.#labels),
      seconds: this.#metrics.histogram('grpc_server_handling_seconds', this.#labels),
    };
    return this.#shown;
  }

  #handledWith(code: string): Count {
    const known = this.#handled.get(code);
    if (known !== undefined) return known;
    const counter = this.#metrics.counter('grpc_server_handled_total', { ...this.#labels, grpc_code: code });
    this.#handled.set(code, counter);
    return counter;
  }
}
