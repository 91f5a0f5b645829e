// Goal: a command that an agent describes by its path is run by that path, with or without its method, and all else is
// a body, of which its component makes what it likes. Method: the tool, before an API that notes what it is asked.
import { expect, it } from 'vitest';
import { assert } from '#base';
import { Api, type ApiAnswer, type ApiRequest } from '../../../../src/transport/mcp/api.ts';
import { Arguments } from '../../../../src/transport/mcp/tool-arguments.ts';
import { TOOLS } from '../../../../src/transport/mcp/tools.ts';

function unreached(): never {
  throw new Error('Nothing is dialled');
}

class NotingApi extends Api {
  readonly asked: ApiRequest[] = [];

  constructor() {
    super('http://127.0.0.1:1', () => unreached());
  }

  override async ask(request: ApiRequest): Promise<ApiAnswer> {
    this.asked.push(request);
    return Promise.resolve({ status: 200, text: 'done', location: undefined });
  }
}

const DESCRIBED = '/api/v1/db/shop/state-changes/orders/v3/execute';
const AS_BODY = '/api/v1/db/shop/latest/state-changes/orders/v3';

it.each([
  [{ method: 'POST', path: '/orders/a', body: { total: 1 } }, DESCRIBED],
  [{ path: '/orders/a', body: { total: 1 } }, DESCRIBED],
  [{ path: '/orders/a' }, DESCRIBED],
  [{ method: null, path: '/orders/a' }, DESCRIBED],
  [{ method: 'DELETE', path: '/orders/a' }, DESCRIBED],
  [{}, AS_BODY],
  [{ body: { total: 1 } }, AS_BODY],
  [{ method: 'POST', body: { total: 1 } }, AS_BODY],
  [{ path: 5 }, AS_BODY],
  [{ path: '/orders/a', method: 5 }, AS_BODY],
  [{ path: '/var/lib', size: 1 }, AS_BODY],
  [{ method: 'card', path: 'b', total: 1 }, AS_BODY],
])('the command %j is sent whole to where it is understood', async (command, path) => {
  const api = new NotingApi();
  const tool = TOOLS.find(({ name }) => name === 'execute_state_change');
  assert(tool !== undefined, 'There is the tool');
  const given = { database: 'shop', state_change: 'orders', version: 3, command };
  const call = { api, authorization: undefined, signal: new AbortController().signal, span: undefined };
  await tool.call(new Arguments(given, Object.keys(given)), call);
  expect(api.asked).toMatchObject([{ method: 'POST', path, body: { bytes: JSON.stringify(command) } }]);
});
