// However many connect to the port of peers, it takes no more descriptors than are left for it.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { writeHello } from '../../../../src/transport/peer/lane-words.ts';
import { until } from '../../../support/eventually.ts';
import { LinkedNode, OTHER_CLUSTER, placeOf } from '../../../support/peer-nodes.ts';

const CONNECTIONS_MAX = 3;
const HEADER = { clusterId: OTHER_CLUSTER, from: placeOf(2), to: placeOf(1) };

it('closes connections beyond the most as they come, and takes others when some have gone', async () => {
  await using node = await LinkedNode.open(placeOf(1), { connectionsMax: CONNECTIONS_MAX });
  const crowd = Array.from({ length: 10 }, () => connect(node.links.port, '127.0.0.1').on('error', () => undefined));
  const open = (): number => crowd.filter(({ destroyed }) => !destroyed).length;
  await until(() => open() <= CONNECTIONS_MAX);
  expect(open()).toBe(CONNECTIONS_MAX);
  for (const socket of crowd) socket.destroy();
  await until(async () => {
    const socket = connect(node.links.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    // It answers what is none of its streams, and says why.
    socket.write(writeHello({ header: HEADER, lane: 'beats', run: 1, address: undefined }));
    const answer = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.destroy();
    return answer[0] instanceof Uint8Array;
  });
});
