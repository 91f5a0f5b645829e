/**
 * Makes a node release unused memory, so that the remaining memory is in use: garbage of V8 through the inspector of
 * Node.js, which SIGUSR1 opens, and free blocks of malloc through gdb. The node is paused meanwhile and its inspector
 * stays open, so the node should be discarded after the measurement.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** Default address of the inspector of Node.js. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list';
const LOOKS = 100;
const LOOK_MS = 50;

/** Collects all garbage of the main thread. */
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

/** Makes malloc return its free blocks, which glibc supports but Node.js never requests. */
export function trimMalloc(pid: number): void {
  const command = ['-p', String(pid), '-batch', '-ex', 'call (int)malloc_trim(0)'];
  execFileSync('gdb', command, { stdio: 'ignore' });
}

/** Returns the unparsed reply. */
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
