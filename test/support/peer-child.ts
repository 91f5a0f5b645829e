// A process with links and nothing else, which sends back what it gets: for tests that end it the hard way. Prints its
// port, then lives until it is killed. Arguments: own node, other node, port of the other.
import { toNodeId } from '#cluster';
import { LinkedNode, numberIn, placeOf } from './peer-nodes.ts';

const [self = 0, other = 0, port = 0] = process.argv.slice(2).map(Number);
const node = await LinkedNode.open(placeOf(self));
node.links.setPeers([{ ...placeOf(other), host: '127.0.0.1', port }]);
node.onFrame = (frame, lane): void => void node.send(placeOf(other), lane, numberIn(frame));
process.stdout.write(`${JSON.stringify({ node: toNodeId(self), port: node.links.port })}\n`);
