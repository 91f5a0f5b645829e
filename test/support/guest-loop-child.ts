// Runs executors in a child process with a guest that never ends, and sends the ids of its processes to the test.
import { readdirSync, readFileSync } from 'node:fs';
import { artifactOf, executors, foldOf } from './wasm/executors.ts';
import { guestText } from './wasm/guests.ts';

const LONG = { wallMs: 600_000, cpuMs: 600_000 };
const MUCH = { fuel: 1e13, outputBytesMax: 1000, hostCallsMax: 0 };
/** Clock ticks of the kernel; more than a process needs to become ready. */
const BUSY_TICKS = 50;

const [PARENT, USER, SYSTEM] = [1, 11, 12];

const running = executors();
const looping = await artifactOf(guestText('(loop $l (br $l)) unreachable'));
void running.fold(foldOf(looping, [Uint8Array.of(1)], { time: LONG, limits: MUCH }));
while (!childrenOf(process.pid).some((pid) => ticksOf(pid) > BUSY_TICKS)) await turn();
process.send?.(childrenOf(process.pid));

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)[PARENT]) === parent);
}

/** CPU time. */
function ticksOf(pid: number): number {
  const stat = statOf(pid);
  return Number(stat[USER]) + Number(stat[SYSTEM]);
}

/** Fields of a process after its name, which is in parentheses; the first one is the state. */
function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    // The process has ended.
    return [];
  }
}
