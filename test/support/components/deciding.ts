/** Commands to a database that a test knows: what is asked, who decides, and the log that it is committed to. */
import type { DecisionAsk, DecisionExecutors, ExecutionAsk, ReadableView, RunnableArtifact } from '#components';
import type { TransactOutcome } from '#database';
import {
  type AskedCommand,
  type Command,
  type ComponentName,
  commandFrom,
  Faults,
  NO_OPTIONS,
  ORIGIN,
  type StateViewDefinition,
  type TransactPayload,
} from '#model';
import type { Value, ValueList } from '#wasm';
import { CREATED_AT_MS, DATABASE_ID, type KnownDatabase } from '../known-database.ts';

/** A command that is well-formed. */
export function commandOf(asked: AskedCommand & { readonly json?: unknown }): Command {
  const { json, ...rest } = asked;
  const faults = new Faults();
  const body = json === undefined ? rest.body : new TextEncoder().encode(JSON.stringify(json));
  const command = commandFrom({ ...rest, body }, { field: 'command', faults });
  if (command === undefined) throw faults.toError('The command of a test is malformed');
  return command;
}

/** What a guest would do: it is given the values of `decide`, and asks the host. */
export type Deciding = (
  values: ValueList,
  ask: (functionName: string, ...values: ValueList) => Promise<Value>,
) => Promise<Value>;

/** Decides by a function of the test, which asks this interface of the host, in the place of a guest. */
export function decidingBy(interfaceName: string, decide: Deciding): DecisionExecutors {
  const spent = { fuel: 0, memoryBytes: 0, hostCalls: 0 };
  return {
    call: async ({ values, host = () => Promise.reject(new Error('There is no host')) }) => {
      try {
        const value = await decide(values, (functionName, ...given) =>
          host({ interfaceName, functionName, values: given }),
        );
        return { kind: 'value', spent, value };
      } catch (error) {
        return { kind: 'fault', spent, fault: { code: 'HostCallFailed', message: String(error) } };
      }
    },
  };
}

/** That of a component which nothing runs. */
export function decidingArtifact(shape: 'own' | 'sdk'): RunnableArtifact {
  const binding = { main: { name: 'decide', shape: '' }, shape, batch: undefined, query: undefined } as const;
  return { key: shape, digest: shape, bytes: new Uint8Array(0), binding };
}

/** The id of a transaction, or of a batch. */
export function idOf(number: number): Uint8Array {
  const id = new Uint8Array(16).fill(0xff);
  new DataView(id.buffer).setUint32(0, number);
  return id;
}

export interface AskOptions {
  readonly artifact: RunnableArtifact;
  readonly command: Command;
  readonly views?: ReadonlyMap<string, ReadableView>;
  /** Is done in front of each commit. */
  readonly before?: () => Promise<void>;
  readonly onCommit?: (payload: TransactPayload, outcome: TransactOutcome) => void;
}

/** With everything else made up; a test takes what it wants to say otherwise. */
export function askOn(known: KnownDatabase, { artifact, command, views, before, onCommit }: AskOptions): ExecutionAsk {
  const ask: DecisionAsk = {
    database: { name: 'shop', databaseId: DATABASE_ID, source: known.source },
    change: 'change/v1',
    artifact,
    command,
    findView: async (name) => views?.get(name),
    receivedAtMs: CREATED_AT_MS,
    seed: 7n,
    mintId: (index) => `minted-${index}`,
  };
  return {
    ...ask,
    basis: { kind: 'latest', revision: known.revision },
    transactionId: idOf(1),
    origin: ORIGIN.HTTP_STATE_CHANGE,
    options: NO_OPTIONS,
    log: {
      applied: () => known.revision,
      newest: async () => known.revision,
      commit: async (payload) => {
        await before?.();
        const outcome = await known.transact(payload, CREATED_AT_MS + 1000);
        onCommit?.(payload, outcome);
        return outcome;
      },
    },
  };
}

/** A State View that can be read under this name. */
export function readable(
  name: string,
  artifact: RunnableArtifact,
  definition: Pick<StateViewDefinition, 'selector'> & Partial<StateViewDefinition>,
): ReadableView {
  return {
    view: `${name}/v1`,
    foldEpoch: 1,
    artifact,
    definition: {
      kind: 'state-view',
      name: name as ComponentName,
      description: undefined,
      sourceCodeUri: undefined,
      order: 'revision',
      keyType: 'none',
      reduceFunction: 'reduce',
      contentType: 'application/json',
      schema: undefined,
      priority: 'normal',
      presenter: undefined,
      ...definition,
    },
  };
}
