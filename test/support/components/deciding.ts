/**
 * Commands on a known database, decided by a function of the test or by a real component, with the commits that follow.
 */
import type { DecisionAsk, DecisionExecutors, ExecutionAsk, ReadableView, RunnableArtifact } from '#components';
import type { TransactOutcome } from '#database';
import {
  type AskedCommand,
  type Command,
  commandFrom,
  Faults,
  NO_OPTIONS,
  ORIGIN,
  type StateViewDefinition,
  type TransactPayload,
} from '#model';
import type { Value, ValueList } from '#wasm';
import { type ComponentName } from '../../../src/model/names.ts';
import { CREATED_AT_MS, DATABASE_ID, type KnownDatabase } from '../known-database.ts';

/** A well-formed command. */
export function commandOf(asked: AskedCommand & { readonly json?: unknown }): Command {
  const { json, ...rest } = asked;
  const faults = new Faults();
  const body = json === undefined ? rest.body : new TextEncoder().encode(JSON.stringify(json));
  const command = commandFrom({ ...rest, body }, { field: 'command', faults });
  if (command === undefined) throw faults.toError('The command of a test is malformed');
  return command;
}

/** Function in place of a guest: it gets the arguments of `decide` and calls the host. */
export type Deciding = (
  values: ValueList,
  ask: (functionName: string, ...values: ValueList) => Promise<Value>,
) => Promise<Value>;

/** Executors that run a function of the test in place of a guest; its host calls use this interface. */
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

/** Artifact of a component that is never run. */
export function decidingArtifact(shape: 'own' | 'sdk'): RunnableArtifact {
  const binding = { main: { name: 'decide', shape: '' }, shape, batch: undefined, query: undefined } as const;
  return { key: shape, digest: shape, bytes: new Uint8Array(0), binding };
}

/** The id of a transaction or batch. */
export function idOf(number: number): Uint8Array {
  const id = new Uint8Array(16).fill(0xff);
  new DataView(id.buffer).setUint32(0, number);
  return id;
}

export interface AskOptions {
  readonly artifact: RunnableArtifact;
  readonly command: Command;
  readonly views?: ReadonlyMap<string, ReadableView>;
  /** Awaited before each commit. */
  readonly before?: () => Promise<void>;
  readonly onCommit?: (payload: TransactPayload, outcome: TransactOutcome) => void;
}

/** Executes a command with default options for everything that the test does not give. */
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

/** A readable State View with this name. */
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
