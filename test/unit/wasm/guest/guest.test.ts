// Goal: an instance is reused while it is small and without a fault, and the costs of a call are counted and repeatable
// (G9, G10, G16). Method: guests as text that count their calls, in the process of the test.
import { expect, it } from 'vitest';
import { isRecord, type Value } from '../../../../src/wasm/abi/values.ts';
import { decodeArtifact } from '../../../../src/wasm/guest/artifact.ts';
import { type Outcome, Program } from '../../../../src/wasm/guest/guest.ts';
import { countingText } from '../../../support/wasm/counting.ts';
import { artifactOf, EVENT, executors, foldOf, LIMITED } from '../../../support/wasm/executors.ts';
import { answer, guestText } from '../../../support/wasm/guests.ts';

const KEPT_BYTES = 100_000;

it('a program replaces its instance when its memory has grown', async () => {
  const call = await callsOf(`(drop (memory.grow (i32.const 1))) ${REMEMBERING}`);
  expect([call(), call()].map(answered)).toEqual([1, 1]);
  expect(call()).toMatchObject({ spent: { memoryBytes: 131_072 } });
});

it('a program folds to the same state for any sizes of batches, one by one or many at once', async () => {
  await using own = executors();
  const events = Array.from({ length: 20 }, (_, i) => new Uint8Array(8 * i).fill(i));
  const folded = async (hasBatch: boolean, size: number): Promise<Uint8Array> => {
    const artifact = await artifactOf(countingText({ hasBatch }));
    let state: Uint8Array = new Uint8Array(0);
    for (let at = 0; at < events.length; at += size) {
      const outcome = await own.fold(foldOf(artifact, events.slice(at, at + size), { state }));
      if (outcome.kind === 'state') ({ state } = outcome);
    }
    return state;
  };
  const [whole, ...others] = await Promise.all([
    folded(false, 20),
    folded(false, 3),
    folded(true, 1),
    folded(true, 7),
    folded(true, 20),
  ]);
  expect(whole?.[0]).toBe(events.length);
  expect(others).toEqual(others.map(() => whole));
});

/** Returns the number of calls of the instance. */
const COUNT = '(i32.store (i32.const 128) (i32.add (i32.load (i32.const 128)) (i32.const 1)))';
const REMEMBERING = `${COUNT} ${answer('128', '1')}`;

interface CallOptions {
  readonly isFresh?: boolean;
  readonly limited?: typeof LIMITED;
}

async function callsOf(evolve: string, text: string = guestText(evolve)): Promise<(options?: CallOptions) => Outcome> {
  const artifact = decodeArtifact((await artifactOf(text)).bytes);
  if (artifact === undefined) throw new Error('The artifact is none');
  const program = new Program(artifact, () => undefined, KEPT_BYTES);
  const work = (invoke: Parameters<Parameters<Program['run']>[1]>[0]): Value =>
    invoke(artifact.binding.main, [new Uint8Array(0), EVENT]);
  return ({ isFresh, limited = LIMITED } = {}) => program.run(limited, work, isFresh);
}

function answered(outcome: Outcome): unknown {
  const value = outcome.kind === 'value' && isRecord(outcome.value) ? outcome.value['val'] : outcome;
  return value instanceof Uint8Array ? value[0] : value;
}
