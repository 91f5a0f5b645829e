// A command that cannot be decided is answered with its error code over both interfaces, and commits nothing.
import { beforeAll, describe, expect, it } from 'vitest';
import { ProcessStateChangeRequest } from '../../proto/gen/cairn/v1/component.ts';
import { changeText, ONE_EVENT } from '../support/components/change-text.ts';
import { Commands, JSON_TYPE, SLOW } from '../support/components/commands.ts';
import { uniqueName } from '../support/grpc-requests.ts';
import { startHttpNode } from '../support/http-node.ts';
import { wat } from '../support/wasm/wat.ts';

const TEXTS = {
  trapping: changeText('unreachable'),
  endless: changeText('(loop $l (br $l)) unreachable'),
  emitting: changeText(ONE_EVENT),
};
const databaseName = uniqueName();

const { server } = await startHttpNode('--guest-executors=1', '--guest-fuel=100000000');
const commands = new Commands(server, databaseName);

beforeAll(async () => {
  await server.client.send('createDatabase', { databaseName });
  for (const [name, text] of Object.entries(TEXTS)) await commands.publish(name, await wat(text));
}, 120_000);

describe('SPEC-ERRORS-COMPONENTS', { timeout: 120_000 }, () => {
  it('is WasmExecutionError when a component traps or does not end', async () => {
    const before = await commands.latest();
    const expected = ['INTERNAL', 'WasmExecutionError', 500, 'INTERNAL', 'WasmExecutionError'];
    for (const name of ['trapping', 'endless']) {
      expect([name, ...(await commands.refusalsOf({ name }))]).toEqual([name, ...expected]);
      expect(await insideOf(name)).toEqual(['WasmExecutionError', 200, false, 'WasmExecutionError']);
    }
    expect(await commands.latest()).toBe(before);
  });

  it('is ValidationError when a component emits an invalid event', async () => {
    const before = await commands.latest();
    const told = await commands.refusalsOf({ name: 'emitting' });
    expect(told).toEqual(['INVALID_ARGUMENT', 'ValidationError', 400, 'INVALID_ARGUMENT', 'ValidationError']);
    expect(await insideOf('emitting')).toEqual(['ValidationError', 200, false, 'ValidationError']);
    expect(await commands.latest()).toBe(before);
  });
});

async function insideOf(stateChangeName: string): Promise<readonly unknown[]> {
  const command = { contentType: 'application/json', bytes: Buffer.from('{}') };
  const request = ProcessStateChangeRequest.fromPartial({ databaseName, stateChangeName, command });
  const { result } = await server.client.send('processStateChange', request, SLOW);
  const sent = { method: 'POST', headers: JSON_TYPE, body: '{"command":{}}' };
  const path = `/databases/${databaseName}/state-changes/${stateChangeName}/process`;
  const response = await fetch(`${server.http}${path}`, sent);
  const { success, error } = (await response.json()) as { success: boolean; error: { code: string } };
  return [result?.$case === 'error' && result.value.code, response.status, success, error.code];
}
