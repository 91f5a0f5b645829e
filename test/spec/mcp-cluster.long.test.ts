// Sessions of MCP end with their node, also when the node process is stopped.
import { type ClientRequest, request as sendHttp } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { startNode } from '../../chaos/support/node-process.ts';
import { startHttpNode } from '../support/http-node.ts';
import { BOTH, begun, type Headers, LIST, READY, send, untilPassedOn } from '../support/mcp-requests.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const { server: one } = await startHttpNode('--peer-port=0', '--node-name=one');
const { server: two } = await startHttpNode('--peer-port=0', '--node-name=two', `--join=${one.peer}`);
await untilPassedOn(two.mcp, one.mcp);

const listen = (url: string, headers: Headers): Promise<Response> =>
  fetch(url, { headers: { accept: 'text/event-stream', ...headers } });

function answerTo(outgoing: ClientRequest): Promise<readonly [number | undefined, string]> {
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject).once('response', (answer) => {
      text(answer).then((body) => resolve([answer.statusCode, body]), reject);
    });
  });
}

interface Third {
  /** A ready session of the third node, and a stream of it through the second node. */
  readonly session: Headers;
  readonly stream: Response;
  readonly kill: (signal: NodeJS.Signals) => Promise<void>;
}

async function third(name: string): Promise<Third> {
  const ports = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0', '--peer-port=0'];
  const settings = ['--wal-segment-bytes=4MiB', `--join=${one.peer}`, `--node-name=${name}`];
  const node = await startNode({ dataDir: testDir(), ports, settings, onSpawn: endWithTest });
  await untilPassedOn(two.mcp, node.mcp);
  const session = await begun(node.mcp);
  expect((await send(two.mcp, READY, session)).status).toBe(202);
  const stream = await listen(two.mcp, session);
  expect(stream.status).toBe(200);
  return {
    session,
    stream,
    kill: async (signal) => {
      node.kill(signal);
      if (signal === 'SIGKILL') await node.ended;
    },
  };
}

describe('SPEC-MCP-CLUSTER: a node that is gone', { timeout: 60_000 }, () => {
  it('has lost its sessions, so clients begin new ones', async () => {
    const { session, stream, kill } = await third('killed');
    const half = sendHttp(two.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: BOTH, 'content-length': '1000', ...session },
    });
    const lost = answerTo(half);
    half.write('{');
    // This uses the same connection between nodes, so the bytes written before have arrived.
    expect((await listen(two.mcp, session)).status).toBe(409);
    await kill('SIGKILL');
    await expect(stream.text()).rejects.toThrow('terminated');
    expect(await lost).toEqual([503, expect.stringMatching(/its answer was lost: it may be done or not/)]);
    half.destroy();
    const { status, text: told } = await send(one.mcp, LIST, session);
    expect([status, told]).toEqual([404, expect.stringMatching(/is not reached; begin with initialize/)]);
    expect((await send(one.mcp, { ...LIST, params: { x: 'x'.repeat(3_000_000) } }, session)).status).toBe(404);
  });

  it('that is stopped is detected while a client listens to its streams, and before a request is sent to it', async () => {
    const { session, stream, kill } = await third('stopped');
    await kill('SIGSTOP');
    await expect(stream.text()).rejects.toThrow('terminated');
    expect((await send(one.mcp, LIST, session)).status).toBe(404);
  });
});
