/**
 * Keeps connections from taking the last file descriptors of the process: log and store must be able to open files.
 *
 * LevelDB never gets over a file that it could not open: every later write fails, and the process has to end. So all
 * servers together take so many connections that some descriptors are always left; one more is closed as it comes.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { DatabaseError } from '#base';

/** An idle node has about 40 open; a start, a compaction and a checkpoint take a few more at a time. */
const RESERVED = 128;
/** A node that can serve nobody is of no use. */
const CONNECTIONS_MIN = 32;
/** Node's names for: a server has accepted a connection, and this process dials somebody. */
const ACCEPTED = 'net.server.socket';
const DIALLED = 'net.client.socket';
/** Linux: the soft limit, which Node has raised to the hard one by then. */
const LIMIT_LINE = /^Max open files\s+(\d+)/m;

/** How many files the process may have open; undefined where that cannot be read, or is not limited. */
export function openFilesMax(): number | undefined {
  try {
    const [, soft] = LIMIT_LINE.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** @throws DatabaseError when the limit leaves no room for connections. */
export function connectionsMax(filesMax: number): number {
  if (filesMax >= RESERVED + CONNECTIONS_MIN) return filesMax - RESERVED;
  const message = `This process may have ${filesMax} files open at a time, and a node needs ${RESERVED + CONNECTIONS_MIN} at least: raise the limit (ulimit -n, LimitNOFILE)`;
  throw new DatabaseError('invalid_argument', message, { details: { reason: 'TooFewDescriptors' } });
}

/**
 * From now on closes connections beyond the bound as they come, and counts them. What is dialled counts as well, and is
 * not closed: it serves connections that have come. Returns how to end it.
 */
export function boundConnections(countMax: number, closed: { readonly add: () => void }): () => void {
  let open = 0;
  const countIn = (message: unknown): Socket | undefined => {
    const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : undefined;
    if (!(socket instanceof Socket)) return undefined;
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    return socket;
  };
  const onAccepted = (message: unknown): void => {
    const socket = countIn(message);
    if (socket === undefined || open <= countMax) return;
    closed.add();
    socket.destroy();
  };
  const onDialled = (message: unknown): void => void countIn(message);
  subscribe(ACCEPTED, onAccepted);
  subscribe(DIALLED, onDialled);
  return () => {
    unsubscribe(ACCEPTED, onAccepted);
    unsubscribe(DIALLED, onDialled);
  };
}
