/**
 * Has a node give back the memory that it keeps for later, part by part, so that what is left is what it holds: the
 * garbage of V8 through Node's inspector, which SIGUSR1 opens, and the free blocks of malloc through gdb. The node
 * stands still meanwhile, and its inspector stays open: it is for a node that is measured and then thrown away.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** Where Node's inspector listens unless told otherwise. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list';
const LOOKS = 100;
const LOOK_MS = 50;

/** Collects everything that the thread of the servers does not hold any more. */
export async function collectGarbage(pid: number): Promise<void> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await inspectorAddress());
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error('The inspector does not answer')));
    });
    const asked = await ask(socket, 'Runtime.evaluate', { expression: 'process.pid' });
    if (!asked.includes(`"value":${pid},`)) throw new Error(`The inspector is not that of process ${pid}: ${asked}`);
    await ask(socket, 'HeapProfiler.collectGarbage');
  } finally {
    socket.close();
  }
}

/** Has malloc give its free blocks back, as glibc can, and Node never asks it to. */
export function trimMalloc(pid: number): void {
  const command = ['-p', String(pid), '-batch', '-ex', 'call (int)malloc_trim(0)'];
  execFileSync('gdb', command, { stdio: 'ignore' });
}

/** The reply, as it came. */
function ask(socket: WebSocket, method: string, params: object = {}): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.addEventListener('message', ({ data }) => resolve(String(data)), { once: true });
  socket.send(JSON.stringify({ id: 1, method, params }));
  return promise;
}

async function inspectorAddress(): Promise<string> {
  for (let n = 0; n < LOOKS; n++) {
    await delay(LOOK_MS);
    const listed = await fetch(INSPECTOR).then(
      (reply) => reply.text(),
      () => '',
    );
    const address = /"webSocketDebuggerUrl": "([^"]+)"/.exec(listed)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error(`There is no inspector at ${INSPECTOR}`);
}
