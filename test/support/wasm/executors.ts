/** Artifacts from components in text format, built in the test process, and executors to call them. */
import {
  type ComponentKind,
  DEFAULT_EXECUTORS,
  DEFAULT_LIMITS,
  type ExecutorSettings,
  Executors,
  type FoldCall,
} from '#wasm';
import type { KeptArtifact } from '../../../src/wasm/executors/executor-slot.ts';
import type { Limited } from '../../../src/wasm/guest/calls.ts';
import { publish } from '../../../src/wasm/publishing/publish.ts';
import { wat } from './wat.ts';

/** Sufficient for terminating code, and quickly used up by endless code. */
export const LIMITED: Limited = {
  limits: { fuel: 20_000_000, outputBytesMax: 60_000, hostCallsMax: 10 },
  wasi: { timeNs: 1_700_000_000_000_000_000n, seed: 7n },
};
export const TIME: FoldCall['time'] = { wallMs: 20_000, cpuMs: 20_000 };

export async function artifactOf(text: string, kind: ComponentKind = 'state-view'): Promise<KeptArtifact> {
  const made = publish(await wat(text), { kind, limits: DEFAULT_LIMITS, smoke: LIMITED });
  if (made.kind === 'failure') throw new Error(`${made.reason.code}: ${made.reason.message}`);
  return { digest: made.value.digest, bytes: made.value.artifact };
}

export function executors(settings: Partial<ExecutorSettings> = {}, nowMs?: () => number): Executors {
  return new Executors({ ...DEFAULT_EXECUTORS, count: 1, ...settings }, nowMs);
}

/** A fold of these events into a state. */
export function foldOf(artifact: KeptArtifact, events: readonly Uint8Array[], more: Partial<FoldCall> = {}): FoldCall {
  return { artifact, ...LIMITED, time: TIME, state: new Uint8Array(0), events: packed(events), ...more };
}

/** Encodes each event after its length. */
export function packed(events: readonly Uint8Array[]): Uint8Array {
  const parts = events.flatMap((event) => [new Uint8Array(Uint32Array.of(event.length).buffer), event]);
  return Buffer.concat(parts);
}

export const EVENT: Uint8Array = Uint8Array.of(1, 2, 3);
