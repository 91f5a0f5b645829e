// What is counted of gRPC calls is in every scrape, under the names that dashboards know (O1).
import { describe, expect, it } from 'vitest';
import { createMetrics } from '#observability';
import { methodMeters } from '../../../../src/transport/grpc/meters.ts';

const LABELS = 'grpc_type="unary",grpc_service="cairn.v1.EventStore",grpc_method="Transact"';

describe('methodMeters', () => {
  it('counts calls, messages, ends by status, time, and what is in flight', async () => {
    const metrics = createMetrics({ runtime: false });
    const meter = methodMeters(metrics)({ kind: 'unary', service: 'cairn.v1.EventStore', name: 'Transact' });
    const line = async (name: string): Promise<string | undefined> => {
      const { body } = await metrics.render();
      return body.split('\n').find((row) => row.startsWith(name));
    };
    for (const code of ['OK', 'OK', 'NOT_FOUND']) {
      meter.started();
      meter.received();
      meter.sent(2);
      meter.ended(code, 0.01);
    }
    meter.started();
    expect(await line('grpc_server_started_total{')).toBe(`grpc_server_started_total{${LABELS}} 4`);
    meter.started();
    expect(await line('grpc_server_started_total{')).toBe(`grpc_server_started_total{${LABELS}} 5`);
    expect(await line('grpc_server_msg_received_total{')).toBe(`grpc_server_msg_received_total{${LABELS}} 3`);
    expect(await line('grpc_server_msg_sent_total{')).toBe(`grpc_server_msg_sent_total{${LABELS}} 6`);
    expect(await line(`grpc_server_handled_total{${LABELS},grpc_code="OK"}`)).toMatch(/ 2$/);
    expect(await line(`grpc_server_handled_total{${LABELS},grpc_code="NOT_FOUND"}`)).toMatch(/ 1$/);
    expect(await line(`grpc_server_handling_seconds_count{${LABELS}}`)).toMatch(/ 3$/);
    expect(await line('cairn_inflight_requests{plane="grpc"}')).toMatch(/ 2$/);
  });
});
