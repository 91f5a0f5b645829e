/**
 * The thread of the log: opens it, makes arriving records durable, and reports its progress. See log-thread.ts for the
 * other side.
 *
 * It writes and syncs synchronously, because nothing else runs on this thread and a synchronous sync is the fastest.
 * Before each write it takes all messages that have arrived, so that records that arrived during a sync become durable
 * by the next one.
 */
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { assert } from '#base';
import { GroupCommit } from './group-commit.ts';
import { buffersOf, type FromLogThread, type OpenLog, type ToLogThread, toFailureMessage } from './log-messages.ts';
import { Wal } from './wal.ts';
import { BATCH_BYTES_MAX } from './wal-format.ts';

assert(parentPort !== null, 'The log worker is started as a thread');
const port: MessagePort = parentPort;
port.once('message', open);

function open(order: OpenLog): void {
  attempt(() => {
    const { wal, recovered } = Wal.open(order.directory, order);
    const commit = new GroupCommit(wal, () => performance.now());
    port.on('message', (first: ToLogThread) => attempt(() => work(wal, commit, first)));
    post({ kind: 'opened', recovered }, buffersOf(recovered));
  });
}

function work(wal: Wal, commit: GroupCommit, first: ToLogThread): void {
  const isClosing = gather(commit, first);
  commit.flush((through, facts) => post({ kind: 'persisted', through, facts }));
  if (isClosing) wal.close().then(() => port.close(), fail);
}

/** Queues the message and those that arrived after it, up to about one batch. True when the user closes the log. */
function gather(commit: GroupCommit, first: ToLogThread): boolean {
  let message: ToLogThread | undefined = first;
  while (message !== undefined) {
    if (message === 'close') return true;
    commit.add(message);
    if (commit.queuedBytes >= BATCH_BYTES_MAX) return false;
    message = receive();
  }
  return false;
}

function receive(): ToLogThread | undefined {
  const received: { readonly message: ToLogThread } | undefined = receiveMessageOnPort(port);
  return received?.message;
}

/** After a failure the thread ends: messages in its port were never acknowledged. */
function attempt(task: () => void): void {
  try {
    task();
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): void {
  post({ kind: 'failed', failure: toFailureMessage(error) });
  port.close();
}

function post(message: FromLogThread, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}
