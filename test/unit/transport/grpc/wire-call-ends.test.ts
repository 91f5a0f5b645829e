// Goal: every call ends exactly once, by the server, the client, a deadline or a drain (T1). Method: calls that end in
// each way.
import { once } from 'node:events';
import { type ClientHttp2Stream, constants, connect as dial } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import { RawGrpc, type RawReply } from '../../../support/raw-grpc.ts';
import { MESSAGE, type SmallService, startSmallService } from '../../../support/small-service.ts';

let at: SmallService;

beforeEach(async () => {
  at = await startSmallService();
});

afterEach(async () => at[Symbol.asyncDispose]());

function ask(name: string, headers: Record<string, string> = {}): Promise<RawReply> {
  return at.raw.call({ path: `/test.Service/${name}`, pieces: [frame(MESSAGE)], headers });
}

function open(name: string): ClientHttp2Stream {
  const headers = { ':method': 'POST', ':path': `/test.Service/${name}`, 'content-type': 'application/grpc' };
  return at.raw.session
    .request(headers)
    .on('error', () => undefined)
    .end(frame(MESSAGE));
}

describe('the end of a call (T1)', () => {
  it('comes at the deadline', async () => {
    const reply = await ask('Wait', { 'grpc-timeout': '200m' });
    expect(reply).toMatchObject({ status: GRPC_STATUS.DEADLINE_EXCEEDED, message: '200m are over' });
    expect(at.waiting[0]?.signal.aborted).toBe(true);
    at.waiting[0]?.reply(frame(MESSAGE));
    expect(at.ended).toEqual(['DEADLINE_EXCEEDED']);
  });

  it('comes at the deadline also when all was written and its client reads nothing', async () => {
    await using slow = await startSmallService({ limits: { lingerMs: 0 } });
    const session = dial(`http://127.0.0.1:${slow.port}`, { settings: { initialWindowSize: 0 } });
    const reply = new RawGrpc(session).call({
      path: '/test.Service/Whole',
      pieces: [frame(MESSAGE)],
      headers: { 'grpc-timeout': '100m' },
    });
    await until(() => slow.ended.length > 0);
    expect(slow.ended).toEqual(['DEADLINE_EXCEEDED']);
    expect((await reply).resetCode).toBe(constants.NGHTTP2_CANCEL);
    session.destroy();
  });

  it('comes with UNAVAILABLE for a waiting call when the server drains', async () => {
    const answer = ask('Await');
    await until(() => at.waiting.length === 1);
    // The test ends before this time.
    await at.server.drain(600_000);
    expect(await answer).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'draining' });
    at = await startSmallService();
  });

  it('does not prevent the close of a server whose clients do nothing any more', async () => {
    // The client sends no request, and does not close its connection on request.
    const frozen = connect({ host: '127.0.0.1', port: at.port });
    frozen.on('error', () => undefined);
    frozen.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    await once(frozen, 'readable');
    await at.raw.close();
    await expect(at.server.drain(100)).resolves.toBeUndefined();
    frozen.destroy();
    at = await startSmallService();
  });

  it('comes with the end of the connection for calls that a drained server cannot end in time', async () => {
    open('Fill').pause();
    const unanswered = ask('Wait').catch(() => 'lost');
    await until(() => at.written.chunks > 0 && at.waiting.length === 1);
    const lost = new Promise((resolve) => at.raw.session.on('close', resolve));
    await at.server.drain(200);
    await Promise.all([lost, unanswered]);
    expect(at.server.callCount).toBe(0);
    at = await startSmallService();
  });
});
