// Goal: the peer port uses no more descriptors than its limit, for any number of connections. Method: more connections
// than the limit.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { writeHello } from '../../../../src/transport/peer/lane-words.ts';
import { until } from '../../../support/eventually.ts';
import { LinkedNode, OTHER_CLUSTER, placeOf } from '../../../support/peer-nodes.ts';

const CONNECTIONS_MAX = 3;
const HEADER = { clusterId: OTHER_CLUSTER, from: placeOf(2), to: placeOf(1) };

it('closes connections beyond the maximum, and accepts others when some have ended', async () => {
  await using node = await LinkedNode.open(placeOf(1), { connectionsMax: CONNECTIONS_MAX });
  const crowd = Array.from({ length: 10 }, () => connect(node.links.port, '127.0.0.1').on('error', () => undefined));
  const open = (): number => crowd.filter(({ destroyed }) => !destroyed).length;
  await until(() => open() <= CONNECTIONS_MAX);
  expect(open()).toBe(CONNECTIONS_MAX);
  for (const socket of crowd) socket.destroy();
  await until(async () => {
    const socket = connect(node.links.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    // The port rejects a greeting for another cluster with a reason.
    socket.write(writeHello({ header: HEADER, lane: 'beats', run: 1, address: undefined }));
    const answer = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.destroy();
    return answer[0] instanceof Uint8Array;
  });
});
