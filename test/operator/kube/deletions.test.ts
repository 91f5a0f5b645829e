// Goal: the API server in memory deletes as a real one does. Method: the requests of deletions.ts, which
// real-server.long.test.ts sends to a real API server with the same expectations.
import { expect, it } from 'vitest';
import { Api } from '../../../operator/src/kube/index.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { DELETIONS, deletions } from './deletions.ts';

it('the server in memory honours finalizers, owners and preconditions of versions', async () => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  expect(await deletions(new Api(server, runtime), () => runtime.advance(10_000))).toEqual(DELETIONS);
});
