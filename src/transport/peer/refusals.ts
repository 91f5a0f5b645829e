/**
 * Finds out why a node refuses questions. gRPC cannot transport the reason, but the port sends it to a lane. So the
 * node is dialled once more as a lane, only after a question that did not reach it.
 */
import { concatBytes, NO_BYTES } from '#base';
import type { DialledAddress } from '#cluster';
import { answerLength, HELLO_BEGINS, readAnswer } from './lane-words.ts';
import { dialled, type PeerTls } from './peer-tls.ts';

/** Short, because a node refuses as soon as a connection has begun. */
const ANSWER_MS = 1_000;

/** Asks the node at an address why it refuses connections; undefined when no node answers or it refuses none. */
export function refusalAt(address: DialledAddress, tls?: PeerTls): Promise<string | undefined> {
  const socket = dialled(address, tls);
  return new Promise((resolve) => {
    let said: Uint8Array = NO_BYTES;
    const end = (refusal?: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(refusal);
    };
    const timer = setTimeout(end, ANSWER_MS);
    socket.on('error', (failure) => end(tls?.refusalIn(failure, address)));
    socket.on('close', () => end());
    socket.on('data', (bytes) => {
      said = concatBytes([said, bytes]);
      const length = answerLength(said);
      if (length === undefined || said.length < length) return;
      const answer = readAnswer(said.subarray(0, length));
      end(answer.kind === 'refused' ? answer.reason : undefined);
    });
    socket.write(Uint8Array.of(HELLO_BEGINS));
  });
}
