/**
 * Publishing: turns the bytes of a component into an artifact for executors, or a refusal.
 *
 *   inspect ──▶ cap ──▶ meter ──▶ link and compile ──▶ smoke call ──▶ artifact
 *
 * It runs in a process of its own (executors/publisher.ts): no component is compiled or run in a process with others.
 */
import type { Result } from '#base';
import type { ValueList } from '../abi/values.ts';
import { type Artifact, encodeArtifact } from '../guest/artifact.ts';
import type { Limited } from '../guest/calls.ts';
import { type AskHost, Program } from '../guest/guest.ts';
import { cap } from '../limiting/cap.ts';
import { meter } from '../limiting/meter.ts';
import { freeMemoryOf } from '../limiting/module-writer.ts';
import { rewriteModules } from '../limiting/strip.ts';
import { type Inspected, type InspectOptions, inspect } from '../reading/inspect.ts';
import { type Refusal, Refused, refusable } from '../reading/refusal.ts';
import { expectFits, type SdkExamples } from './sdk-fitting.ts';

export interface PublishOptions extends InspectOptions {
  /** Arguments of the smoke call of the main function; absent, the component is only instantiated. */
  readonly sample?: ValueList;
  readonly smoke: Limited;
  /** Values that a component of the SDK's shape must have types for; absent, they are not checked. */
  readonly sdk?: SdkExamples;
}

export interface Published extends Omit<Inspected, 'growth'> {
  readonly artifact: Uint8Array;
}

/** Synchronous, and takes as long as the component wants: run it in a process that can be killed. */
export function publish(bytes: Uint8Array, options: PublishOptions): Result<Published, Refusal> {
  const inspected = inspect(bytes, options);
  if (inspected.kind === 'failure') return inspected;
  const { growth, digest, binding } = inspected.value;
  return refusable(() => {
    const component = rewriteModules(bytes, (module) => {
      const capped = accepted(cap(module, growth));
      const metered = accepted(meter(capped));
      freeMemoryOf(capped);
      return metered;
    });
    const artifact: Artifact = { digest, kind: options.kind, binding, component };
    smoke(artifact, options);
    const encoded = encodeArtifact(artifact);
    freeMemoryOf(component);
    return { digest, binding, artifact: encoded };
  });
}

/**
 * Instantiates the component, and calls it when there is a sample. The guest may refuse the sample, or trap on it; it
 * must not give an answer that no component of its kind may give, or need a type that the host lacks.
 */
function smoke(artifact: Artifact, { sample, smoke: limited, sdk }: PublishOptions): void {
  const program = new Program(artifact, noHost, 0);
  const { mainType } = program;
  const { main, shape } = artifact.binding;
  const examples = shape === 'sdk' ? sdk : undefined;
  if (examples !== undefined && mainType !== undefined) expectFits(program.component, mainType, examples);
  const given = sample ?? examples?.given;
  const outcome = program.run(limited, (invoke) => (given === undefined ? undefined : invoke(main, given)));
  if (outcome.kind === 'value' || !SMOKE_REFUSED.has(outcome.fault.code)) return;
  throw new Refused('SmokeCallFailed', 0, outcome.fault.message);
}

const SMOKE_REFUSED: ReadonlySet<string> = new Set(['NotInstantiable', 'AbiViolation']);

const noHost: AskHost = () => undefined;

function accepted<Value>(result: Result<Value, Refusal>): Value {
  if (result.kind === 'ok') return result.value;
  throw new Refused(result.reason.code, result.reason.offset, result.reason.message);
}
