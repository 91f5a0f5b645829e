/**
 * The metrics of gRPC calls, under the names that existing dashboards know.
 *
 * Counts are kept as plain numbers and handed over before a scrape: on the path of a write, an addition is what there is
 * time for.
 */
import type { Count, GrpcMethodLabels, Metrics, Observe } from '#observability';
import type { MethodMeter, MethodName } from './wire/method-name.ts';

export function methodMeters(metrics: Metrics): (method: MethodName) => MethodMeter {
  const meters: Meter[] = [];
  const inFlight = metrics.gauge('cairn_inflight_requests', { plane: 'grpc' });
  metrics.beforeScrape(() => {
    for (const meter of meters) meter.handOver();
    inFlight.set(meters.reduce((sum, meter) => sum + meter.inFlight, 0));
  });
  return (method) => {
    const meter = new Meter(metrics, method);
    meters.push(meter);
    return meter;
  };
}

/** A count that has not been handed over yet. */
class Pending {
  readonly #counter: Count;
  #count = 0;

  constructor(counter: Count) {
    this.#counter = counter;
  }

  add(count: number): void {
    this.#count += count;
  }

  handOver(): void {
    if (this.#count > 0) this.#counter.add(this.#count);
    this.#count = 0;
  }
}

class Meter implements MethodMeter {
  readonly #metrics: Metrics;
  readonly #labels: GrpcMethodLabels;
  readonly #started: Pending;
  readonly #received: Pending;
  readonly #sent: Pending;
  readonly #seconds: Observe;
  readonly #handled = new Map<string, Pending>();
  #inFlight = 0;

  constructor(metrics: Metrics, method: MethodName) {
    const labels = { grpc_type: method.kind, grpc_service: method.service, grpc_method: method.name };
    this.#metrics = metrics;
    this.#labels = labels;
    this.#started = new Pending(metrics.counter('grpc_server_started_total', labels));
    this.#received = new Pending(metrics.counter('grpc_server_msg_received_total', labels));
    this.#sent = new Pending(metrics.counter('grpc_server_msg_sent_total', labels));
    this.#seconds = metrics.histogram('grpc_server_handling_seconds', labels);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  started(): void {
    this.#started.add(1);
    this.#inFlight += 1;
  }

  received(): void {
    this.#received.add(1);
  }

  sent(count: number): void {
    this.#sent.add(count);
  }

  ended(code: string, seconds: number): void {
    this.#handledWith(code).add(1);
    this.#seconds.observe(seconds);
    this.#inFlight -= 1;
  }

  handOver(): void {
    for (const pending of [this.#started, this.#received, this.#sent, ...this.#handled.values()]) pending.handOver();
  }

  #handledWith(code: string): Pending {
    const known = this.#handled.get(code);
    if (known !== undefined) return known;
    const counter = this.#metrics.counter('grpc_server_handled_total', { ...this.#labels, grpc_code: code });
    const pending = new Pending(counter);
    this.#handled.set(code, pending);
    return pending;
  }
}
