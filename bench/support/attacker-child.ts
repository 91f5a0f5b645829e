/**
 * Carries out one attack of attack-list.ts, in a process of its own, so that its processor time is not that of the
 * measuring clients.
 *
 *   node --conditions=source bench/support/attacker-child.ts <attack> <port> <addresses as JSON>
 *
 * SIGTERM ends it; it prints its counts as JSON before.
 */
import { connect, type Socket } from 'node:net';
import { type Addresses, ATTACKS, type Link, type Port } from './attack-list.ts';

export interface AttackCounts {
  /** Number of connections that were opened, and that the server has closed or refused. */
  readonly opened: number;
  readonly closed: number;
  readonly sentBytes: number;
}

const TICK_MS = 20;
const SECOND_MS = 1_000;
/** More is not buffered for a server that does not read. */
const UNSENT_BYTES_MAX = 256 * 1024;

const [, , name = '', port = '', addresses = ''] = process.argv;
const attack = ATTACKS.find((each) => each.name === name);
if (attack === undefined)
  throw new Error(`There is no attack ${name}: use ${ATTACKS.map((each) => each.name).join(', ')}`);
const at: Addresses = JSON.parse(addresses);
const behave = await attack.on(port as Port, at);
const target = at[port as Port];
const { hostname: host, port: number } = new URL(target.includes('://') ? target : `http://${target}`);
const open = new Set<Socket>();
const counts = { opened: 0, closed: 0, sentBytes: 0 };
let due = 0;

setInterval(() => {
  due = Math.min(attack.opensPerSecond, due + (attack.opensPerSecond * TICK_MS) / SECOND_MS);
  for (; due >= 1 && open.size < attack.connections; due--) begin();
}, TICK_MS);

process.once('SIGTERM', () => {
  for (const socket of open) counts.sentBytes += socket.bytesWritten;
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
});

function begin(): void {
  const socket = connect({ host, port: Number(number), noDelay: true });
  // The attack decides whether anything is read.
  socket.pause();
  const timers: NodeJS.Timeout[] = [];
  const link: Link = {
    socket,
    send: (bytes) => void (socket.writableLength < UNSENT_BYTES_MAX && socket.write(bytes)),
    every: (ms, act) => void timers.push(setInterval(act, ms)),
  };
  open.add(socket);
  socket.once('connect', () => {
    counts.opened += 1;
    behave(link);
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    for (const timer of timers) clearInterval(timer);
    open.delete(socket);
    counts.closed += 1;
    counts.sentBytes += socket.bytesWritten;
  });
}
