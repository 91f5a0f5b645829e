// A State Change that performs the reads in its command, and whose events depend on every byte of the results.
//
// The results are hashed, and the hash decides whether a step is skipped, so that reads depend on earlier reads. The
// module is built into a component; `stepsOf` and `emittedBy` also serve models of it, which perform the reads
// themselves.
import {
  defineStateChange,
  type NewEvent,
  type Parameters,
  type Selector,
  type StateChangeComponent,
} from '../../../sdk/component/src/index.ts';

export type Step =
  | { readonly kind: 'events'; readonly selector: string; readonly limit: number; readonly unless?: number | undefined }
  | {
      readonly kind: 'view';
      readonly name: string;
      readonly parameters: Parameters;
      readonly unless?: number | undefined;
    }
  | { readonly kind: 'database'; readonly unless?: number | undefined };

export interface Script {
  readonly steps: readonly Step[];
  /** Minimum number of emitted events. */
  readonly leastEvents: number;
}

/** FNV-1a, 32 bits. */
export function digested(digest: number, text: string): number {
  let hash = digest;
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 16_777_619);
  return hash >>> 0;
}

export const FIRST_DIGEST = 2_166_136_261;
const SKIPS = 3;

/** A step is skipped for one digest in three. */
export function isLeftOut(step: Step, digest: number): boolean {
  return step.unless !== undefined && digest % SKIPS === step.unless;
}

const SOURCES = ['a', '/x/a', 'b/'] as const;
const TYPES = ['t', 't.x', 'u'] as const;
const SUBJECTS = ['s', 's/1', undefined] as const;

/** Emits up to two events more than the minimum. */
export function emittedBy({ leastEvents }: Script, digest: number): readonly NewEvent[] {
  return Array.from({ length: leastEvents + (digest % 3) }, (_, index) => {
    const drawn = digested(digest, `event ${index}`);
    const subject = SUBJECTS[(drawn >>> 4) % SUBJECTS.length];
    return {
      id: `${digest}.${index}`,
      source: SOURCES[drawn % SOURCES.length] ?? 'a',
      type: TYPES[(drawn >>> 8) % TYPES.length] ?? 't',
      ...(subject === undefined ? {} : { subject }),
    };
  });
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /scripts': (command, reader) => {
      const script = command.json<Script>();
      let digest = FIRST_DIGEST;
      for (const step of script.steps) {
        if (isLeftOut(step, digest)) continue;
        if (step.kind === 'database') {
          const { name, id, revision, revisionTime } = reader.database();
          digest = digested(digest, `${name} ${id} ${revision} ${revisionTime}`);
        } else if (step.kind === 'view') {
          const bytes = reader.stateViewBytes(step.name, step.parameters);
          digest = digested(digest, bytes === undefined ? 'nothing' : hex(bytes));
        } else {
          const selector: Selector = JSON.parse(step.selector);
          for (const { revision, index, id } of reader.events(selector, step.limit)) {
            digest = digested(digest, `${revision}.${index} ${id}`);
          }
          digest = digested(digest, 'read');
        }
      }
      return emittedBy(script, digest);
    },
  },
});
