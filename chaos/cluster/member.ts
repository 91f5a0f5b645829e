/**
 * One node of a run: its host in the network, its disk, its clock, and its successive processes. A caller that ends a
 * process allows its exit beforehand; any other exit is a fault of the node.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, type WriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NodeProcess, startNode } from '../support/node-process.ts';
import type { Disk } from './disk.ts';
import type { Address } from './line.ts';
import type { Host } from './network.ts';
import { inject } from './tracer.ts';

export interface MemberOptions {
  /** Numbers start at 1. */
  readonly number: number;
  readonly host: Host;
  readonly disk: Disk;
  /** Library that shifts the clock of a process; absent: clocks cannot be changed. */
  readonly fakeTime: string | undefined;
  /** Bundle of an earlier release, which every second process runs; absent: all processes run this release. */
  readonly before: string | undefined;
  /** Directory of the log file. */
  readonly dir: string;
  /** Called when a process ends unexpectedly or does not end. */
  readonly onMisbehaviour: (what: string) => void;
}

const SETTINGS = ['--wal-segment-bytes=4MiB', '--store-write-buffer-bytes=2MiB', '--guest-executors=1'];
/** Thresholds that fit a disk of any size. */
const DISK_LEVELS = ['--disk-soft-bytes=24MiB', '--disk-hard-bytes=8MiB'];
const FATAL_EXIT = 70;
/**
 * Requests get 10 s to end (`--shutdown-grace-ms`); leadership transfers and closing the store take a few more seconds.
 */
const ENDS_WITHIN_MS = 45_000;
const REPORT_SIGNAL = 'SIGUSR2';
const REPORTED_WITHIN_MS = 5000;

/** Exits that can be allowed: after SIGKILL, after SIGTERM, for a disk failure, and for the removal of the node. */
const EXITS = { SIGKILL: 'SIGKILL', SIGTERM: 0, disk: FATAL_EXIT, removed: FATAL_EXIT } as const;
/** Node.js may abort while it ends the threads of a process that has already logged why it exits. */
const ABORTED = 'SIGABRT';

/** Without namespaces, nodes would outlive the run, so it must kill them. */
const running = new Set<ChildProcess>();
let isOver = false;
process.on('exit', killAll);

/** Kills all remaining nodes and resolves when they have ended. */
export async function endAll(): Promise<void> {
  const ends = [...running].map((child) => once(child, 'exit'));
  killAll();
  await Promise.all(ends);
}

/** Kills all remaining nodes without waiting. */
export function killAll(): void {
  isOver = true;
  for (const child of running) child.kill('SIGKILL');
}

export class Member {
  readonly number: number;
  readonly name: string;
  readonly address: Address;
  readonly peer: string;
  readonly disk: Disk;
  /** Number of processes of this release, and of the earlier one. */
  readonly started: Record<'now' | 'before', number> = { now: 0, before: 0 };
  readonly #options: MemberOptions;
  readonly #log: WriteStream;
  readonly #clockFile: string;
  /** host:port of nodes through which it joins; empty for the node that founds the cluster. */
  #seeds: readonly string[] = [];
  #process: NodeProcess | undefined;
  #incarnation = 0;
  readonly #allowed = new Set<number | string>();
  #clockMs = 0;

  constructor(options: MemberOptions) {
    const { number, host, disk, dir } = options;
    this.#options = options;
    this.number = number;
    this.name = `node-${number}`;
    this.disk = disk;
    const { ip, ports } = host;
    this.address = { grpc: `${ip}:${ports.grpc}`, http: `http://${ip}:${ports.http}` };
    this.peer = `${ip}:${ports.peer}`;
    this.#log = createWriteStream(join(dir, `${this.name}.log`));
    this.#clockFile = join(disk.path, 'clock');
    this.setClock(0);
  }

  /** Number of processes so far. */
  get incarnation(): number {
    return this.#incarnation;
  }

  /** Id of the current process; undefined until it was ready once, and after its end. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get clockMs(): number {
    return this.#clockMs;
  }

  /** Starts the first process of a node that joins through these addresses (host:port). */
  startAnew(seeds: readonly string[]): Promise<void> {
    this.#seeds = seeds;
    return this.start();
  }

  /** Starts a process and resolves when it is ready. */
  async start(): Promise<void> {
    const { host, disk } = this.#options;
    this.#incarnation += 1;
    this.#allowed.clear();
    const product = this.#product;
    this.started[product === undefined ? 'now' : 'before'] += 1;
    this.#log.write(`--- process ${this.#incarnation}${product === undefined ? '' : `, ${product}`}\n`);
    const node = await startNode({
      dataDir: disk.dataDir,
      ports: Object.entries(host.ports).map(([name, port]) => `--${name}-port=${port}`),
      settings: [
        ...host.settings,
        `--node-name=${this.name}`,
        `--zone=${this.name}`,
        ...SETTINGS,
        ...DISK_LEVELS,
        ...(this.#seeds.length === 0 ? [] : [`--join=${this.#seeds.join(',')}`]),
      ],
      nodeOptions: [...host.nodeOptions, ...this.#reports],
      product,
      under: [...host.under, ...this.#clockCommand()],
      onSpawn: (child) => this.#keepLog(child),
    });
    this.#process = node;
    void node.ended.then((how) => this.#hasEnded(node, how));
  }

  /** Ends the process with a signal and resolves when it has ended. Does nothing without a process. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const node = this.#process;
    if (node === undefined) return;
    this.#allowed.add(EXITS[signal]);
    node.kill(signal);
    if (!(await this.endsWithin(ENDS_WITHIN_MS))) await this.#giveUp(node, signal);
  }

  /** Allows or forbids that the process exits because of its disk. */
  allowDiskFailure(isAllowed: boolean): void {
    if (isAllowed) this.#allowed.add(EXITS.disk);
    else this.#allowed.delete(EXITS.disk);
  }

  /** Allows that the process exits because its node was removed from the cluster. */
  allowRemoval(): void {
    this.#allowed.add(EXITS.removed);
  }

  /** Waits until the process has ended, but at most `limitMs`; returns whether it has ended. */
  async endsWithin(limitMs: number): Promise<boolean> {
    const node = this.#process;
    if (node === undefined) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), limitMs);
    void node.ended.then(() => resolve(true));
    const hasEnded = await promise;
    clearTimeout(timer);
    if (hasEnded) this.#process = undefined;
    return hasEnded;
  }

  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Sets the offset of the node's wall clock. Its monotonic clock does not change. */
  setClock(offsetMs: number): void {
    this.#clockMs = offsetMs;
    const sign = offsetMs < 0 ? '-' : '+';
    writeFileSync(this.#clockFile, `${sign}${Math.abs(offsetMs) / 1000}\n`);
  }

  /**
   * Makes system calls of all threads of the process fail or take longer (syntax of strace). The returned function ends
   * it.
   */
  async inject(calls: string, how: string): Promise<() => Promise<void>> {
    const { pid } = this;
    return pid === undefined ? async () => undefined : inject(pid, calls, how);
  }

  /** Fills the disk, so that `leftBytes` remain. The returned function ends it. */
  async fillDisk(leftBytes: number): Promise<() => Promise<void>> {
    // A shared disk cannot be filled: its writes fail instead.
    if (!this.disk.isOwn) return this.inject('pwrite64,pwritev,fallocate', 'error=ENOSPC');
    await this.disk.fill(leftBytes);
    return async () => this.disk.empty();
  }

  /** The first process of node 1 runs the earlier release, so the cluster has its level. */
  get #product(): string | undefined {
    return (this.number + this.#incarnation) % 2 === 0 ? this.#options.before : undefined;
  }

  get #reports(): readonly string[] {
    return ['--report-on-signal', `--report-signal=${REPORT_SIGNAL}`, `--report-directory=${this.#options.dir}`];
  }

  /** A process that does not end is a fault: a report beside its log shows what keeps it alive. */
  async #giveUp(node: NodeProcess, signal: string): Promise<void> {
    this.#options.onMisbehaviour(`${this.name} has not ended ${ENDS_WITHIN_MS / 1000} s after ${signal}`);
    node.kill(REPORT_SIGNAL);
    await this.endsWithin(REPORTED_WITHIN_MS);
    this.#allowed.add(EXITS.SIGKILL);
    node.kill('SIGKILL');
    await node.ended;
    this.#process = undefined;
  }

  #clockCommand(): readonly string[] {
    const { fakeTime } = this.#options;
    if (fakeTime === undefined) return [];
    return [
      'env',
      `LD_PRELOAD=${fakeTime}`,
      `FAKETIME_TIMESTAMP_FILE=${this.#clockFile}`,
      'FAKETIME_CACHE_DURATION=1',
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
      'DONT_FAKE_MONOTONIC=1',
    ];
  }

  #keepLog(child: ChildProcess): void {
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.stderr?.on('data', (text: Buffer | string) => this.#log.write(text));
  }

  #hasEnded(node: NodeProcess, how: number | string): void {
    this.#log.write(`--- ended with ${how}\n`);
    const hasSaidWhy = how === ABORTED && /"exitCode":70\b/.test(node.log());
    const exit = hasSaidWhy ? FATAL_EXIT : how;
    if (!this.#allowed.has(exit) && !isOver) this.#options.onMisbehaviour(`${this.name} ended with ${how}`);
  }
}
