// A reply to a write names the leader by an address that the client can reach, inside or outside the network of the
// cluster, at both nodes (ADR 0178).
import { describe, expect, it, onTestFinished } from 'vitest';
import { GrpcFailure, TestClient } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { startTwoNodes } from '../support/two-nodes.ts';

const { holder, other } = await startTwoNodes('shop', '--advertise-outside=*.cairn.example.com:443');

async function leaderTold(
  grpc: string,
  authority: string | undefined,
  events = [event({ id: uniqueName() })],
): Promise<string> {
  const client = new TestClient(grpc, authority === undefined ? {} : { 'grpc.default_authority': authority });
  onTestFinished(() => client[Symbol.asyncDispose]());
  const trailers = await client.call('transact', transaction('shop', events)).then(
    (reply) => reply.trailers,
    (failure: unknown) => {
      if (failure instanceof GrpcFailure) return failure.trailers;
      throw failure;
    },
  );
  return `${String(trailers['x-leader-node'])} at ${String(trailers['x-leader-address'])}`;
}

describe.each([
  ['that leads', holder],
  ['that relays', other],
])('SPEC-GRPC-REQUIRE-LEADER: the node %s', (_which, { grpc }) => {
  it.each(['cairn.example.com', 'two.cairn.example.com:443'])(
    'names an outside address to a client of %s',
    async (host) => {
      const [name, inside] = (await leaderTold(holder.grpc, undefined)).split(' at ');
      expect(inside).toBe(holder.grpc);
      expect(await leaderTold(grpc, host)).toBe(`${name} at ${name}.cairn.example.com:443`);
      expect(await leaderTold(grpc, host, [])).toBe(`${name} at ${name}.cairn.example.com:443`);
    },
  );

  it('names an inside address to every other client', async () => {
    for (const host of [undefined, 'cairn.shop.svc:50051']) {
      expect(await leaderTold(grpc, host)).toMatch(new RegExp(`^(?:one|two) at ${holder.grpc}$`));
    }
  });
});
