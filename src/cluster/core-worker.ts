/**
 * The thread of the core: opens log and store, runs the core over them, and carries its messages. See core-thread.ts
 * for the other side. Nothing is decided here.
 *
 * Who starts the thread composes it: the file that it runs is of #main, and calls `runCore`.
 */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { assert } from '#base';
import { LogThread, openLevelStore, type WalIdentity } from '#storage';
import { unpackCommands } from './command-message.ts';
import { type CorePorts, CoreRuntime } from './core-runtime.ts';
import { type CoreOrder, type FromCore, packFailure, type ToCore } from './core-thread-messages.ts';
import { databaseMachines } from './database-machines.ts';
import { nativeRandom, wallClock } from './native.ts';
import type { NodeIdentity } from './node.ts';
import { uuidBytes } from './node-rows.ts';
import { MeasureGatherer } from './observer.ts';
import { noPeers } from './peers.ts';
import { clusterOf } from './placement.ts';
import { packReport } from './report-message.ts';

/** How late a deadline of the core may be noticed. */
const TICK_MS = 50;

/** Runs the core in this thread, which was started for it. */
export function runCore(): void {
  const port = parentPort;
  assert(port !== null, 'The core is started as a thread');
  port.once('message', (order: CoreOrder) => {
    start(port, order).catch((failure: unknown) => fail(port, failure));
  });
}

async function start(port: MessagePort, order: CoreOrder): Promise<void> {
  const { identity, limits, walSegmentBytes } = order;
  const store = await openLevelStore(order.storeDirectory, order.store);
  const { log, recovered } = await LogThread.open(order.logDirectory, {
    identity: identityBytes(identity),
    segmentBytes: walSegmentBytes,
  });
  const gatherer = new MeasureGatherer();
  const ports: CorePorts = {
    ...clusterOf([identity.node], identity.node),
    kv: store,
    syncStore: () => store.checkpointFiles(),
    log,
    peers: noPeers,
    machines: databaseMachines,
    limits,
    clock: wallClock,
    monotonicMs: () => performance.now(),
    random: nativeRandom,
    observer: gatherer,
    later: setImmediate,
  };
  const core = await CoreRuntime.open(ports, recovered);
  core.onFailure((failure) => fail(port, failure));
  core.onReport((report) => {
    post(port, packReport(report, gatherer.take(core.levels)));
  });
  const ticking = setInterval(() => core.tick(), TICK_MS);
  port.on('message', (message: ToCore) => {
    if (message instanceof ArrayBuffer || message.kind === 'commands') core.send(unpackCommands(message));
    else if (message.kind === 'disk') core.reportDisk(message.level);
    else drain().catch((failure: unknown) => fail(port, failure));
  });
  post(port, { kind: 'opened', bindings: core.bindings });

  async function drain(): Promise<void> {
    await core.drain();
    clearInterval(ticking);
    await log.close();
    await store.close();
    post(port, { kind: 'drained' });
    port.close();
  }
}

function identityBytes({ clusterId, storeId }: NodeIdentity): WalIdentity {
  return { clusterId: uuidBytes(clusterId), storeId: uuidBytes(storeId) };
}

/** The front ends the process when it hears of it. Nothing that was not reported is acknowledged. */
function fail(port: MessagePort, failure: unknown): void {
  post(port, { kind: 'failed', failure: packFailure(failure) });
}

function post(port: MessagePort, message: FromCore): void {
  port.postMessage(message, []);
}
