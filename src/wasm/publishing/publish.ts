/**
 * Publishing: from the bytes of a component to an artifact that executors run, or to a refusal.
 *
 *   inspect ──▶ cap ──▶ meter ──▶ link and compile ──▶ smoke call ──▶ artifact
 *
 * It runs in a process of its own, which ends with it (executors/publisher.ts): nothing of a component is compiled, let
 * alone run, where other components are.
 */
import type { Result } from '#base';
import type { ValueList } from '../abi/values.ts';
import { type Artifact, encodeArtifact } from '../guest/artifact.ts';
import type { Limited } from '../guest/calls.ts';
import { type AskHost, Program } from '../guest/guest.ts';
import { cap } from '../limiting/cap.ts';
import { meter } from '../limiting/meter.ts';
import { letGo } from '../limiting/module-writer.ts';
import { rewriteModules } from '../limiting/strip.ts';
import { type Inspected, type InspectOptions, inspect } from '../reading/inspect.ts';
import { type Refusal, Refused, refusable } from '../reading/refusal.ts';
import { expectFits, type SdkExamples } from './sdk-fitting.ts';

export interface PublishOptions extends InspectOptions {
  /** What the main function is called with, to see whether it can be; absent, the component is only instantiated. */
  readonly sample?: ValueList;
  readonly smoke: Limited;
  /** What a component of the SDK's shape has to have types for; absent, they are not looked at. */
  readonly sdk?: SdkExamples;
}

export interface Published extends Omit<Inspected, 'growth'> {
  readonly artifact: Uint8Array;
}

/** Synchronous, and as long as the component wants: for a process that can be killed. */
export function publish(bytes: Uint8Array, options: PublishOptions): Result<Published, Refusal> {
  const inspected = inspect(bytes, options);
  if (inspected.kind === 'failure') return inspected;
  const { growth, digest, binding } = inspected.value;
  return refusable(() => {
    const component = rewriteModules(bytes, (module) => {
      const capped = accepted(cap(module, growth));
      const metered = accepted(meter(capped, options.limits));
      letGo(capped);
      return metered;
    });
    const artifact: Artifact = { digest, kind: options.kind, binding, component };
    smoke(artifact, options);
    const encoded = encodeArtifact(artifact);
    letGo(component);
    return { digest, binding, artifact: encoded };
  });
}

/**
 * Instantiates it, and calls it when there is something to call it with. A guest may well say that the sample makes no
 * sense, or trap because it expects another one; what it may not do is answer what no component answers, or want what
 * the host does not have.
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
