/** The metrics of gRPC calls, under the names that existing dashboards know. */
import type { Count, GrpcMethodLabels, Metrics, Observe } from '#observability';
import type { MethodMeter, MethodTraits } from './wire/method-traits.ts';

export function methodMeters(metrics: Metrics): (method: MethodTraits) => MethodMeter {
  const meters: Meter[] = [];
  const inFlight = metrics.gauge('cairn_inflight_requests', { plane: 'grpc' });
  metrics.beforeScrape(() => {
    inFlight.set(meters.reduce((sum, meter) => sum + meter.inFlight, 0));
  });
  return (method) => {
    const meter = new Meter(metrics, method);
    meters.push(meter);
    return meter;
  };
}

class Meter implements MethodMeter {
  readonly #metrics: Metrics;
  readonly #labels: GrpcMethodLabels;
  readonly #started: Count;
  readonly #received: Count;
  readonly #sent: Count;
  readonly #seconds: Observe;
  readonly #handled = new Map<string, Count>();
  #inFlight = 0;

  constructor(metrics: Metrics, method: MethodTraits) {
    const labels = { grpc_type: method.kind, grpc_service: method.service, grpc_method: method.name };
    this.#metrics = metrics;
    this.#labels = labels;
    this.#started = metrics.counter('grpc_server_started_total', labels);
    this.#received = metrics.counter('grpc_server_msg_received_total', labels);
    this.#sent = metrics.counter('grpc_server_msg_sent_total', labels);
    this.#seconds = metrics.histogram('grpc_server_handling_seconds', labels);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  started(): void {
    this.#started.add();
    this.#inFlight += 1;
  }

  received(): void {
    this.#received.add();
  }

  sent(count: number): void {
    this.#sent.add(count);
  }

  ended(code: string, seconds: number): void {
    this.#handledWith(code).add();
    this.#seconds.observe(seconds);
    this.#inFlight -= 1;
  }

  #handledWith(code: string): Count {
    const known = this.#handled.get(code);
    if (known !== undefined) return known;
    const counter = this.#metrics.counter('grpc_server_handled_total', { ...this.#labels, grpc_code: code });
    this.#handled.set(code, counter);
    return counter;
  }
}
