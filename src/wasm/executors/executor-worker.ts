/**
 * The main program of the process that runs guests (ADR 0087). executor-process.ts starts it with pipes at the
 * descriptors 3 and 4; it ends when the first of them closes. It never returns to an event loop: it reads a request,
 * answers it, and reads the next.
 */
import { closeSync, fstatSync, readdirSync } from 'node:fs';
import { Faulted } from '../faults.ts';
import type { AskHost } from '../guest/guest.ts';
import { Executor } from './executor.ts';
import { decodeHostResult, decodeRequest, encodeAnswer, encodeHostCall } from './messages.ts';
import { SyncPipe } from './sync-pipe.ts';

const REQUESTS_FD = 3;
const HOST_CALLS_FD = 4;

closeInherited();
const requests = new SyncPipe(REQUESTS_FD);
const hostCalls = new SyncPipe(HOST_CALLS_FD);

let working = 0;
const ask: AskHost = (interfaceName, functionName, values) => {
  hostCalls.write(encodeHostCall(working, { interfaceName, functionName, values }));
  const result = decodeHostResult(hostCalls.read()?.slice() ?? new Uint8Array(0));
  if (result === undefined) throw new Error('The node has ended, or its answer cannot be decoded');
  if (result.kind === 'value') return result.value;
  throw new Faulted('HostCallFailed', result.message);
};

const executor = new Executor(ask);
requests.write(encodeAnswer({ kind: 'ready' }));
for (let frame = requests.read(); frame !== undefined; frame = requests.read()) {
  const request = decodeRequest(frame);
  if (request === undefined) throw new TypeError('A request cannot be decoded');
  working = request.id;
  const answer = executor.handle(request);
  if (answer !== undefined) requests.write(encodeAnswer(answer));
}

/** Closes the files that the node had open: LevelDB opens its own without close-on-exec. */
function closeInherited(): void {
  for (const name of descriptors()) {
    const fd = Number(name);
    if (fd > HOST_CALLS_FD && isFile(fd)) closeSync(fd);
  }
}

/** Empty where there is no procfs. */
function descriptors(): readonly string[] {
  try {
    return readdirSync('/proc/self/fd');
  } catch {
    return [];
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // The descriptor of the listing itself is closed already.
    return false;
  }
}
