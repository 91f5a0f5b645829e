// A cluster of Cairn as the operator sees it, in memory and naive. Calls fail by a seed: before they are executed, or
// after, so that their outcome is unknown.
import { isDeepStrictEqual } from 'node:util';
import { Metadata, status as STATUS } from '@grpc/grpc-js';
import {
  type ApiKey,
  CallError,
  type Database,
  type Databases,
  type Keys,
} from '../../../operator/src/client/index.ts';
import type { ManualRuntime } from '../manual-runtime.ts';
import type { OperatorProcess } from './process.ts';

export type Party = 'operator' | 'other';

export interface Kept extends Database {
  readonly party: Party;
  /** 0: the default of the cluster. */
  readonly copies: number;
}

export class NaiveCairn {
  readonly databases: Map<string, Kept> = new Map<string, Kept>();
  readonly keys: Map<string, ApiKey> = new Map<string, ApiKey>();
  /** Ids of databases before their recovery, by their names. */
  readonly predecessors: Map<string, string> = new Map<string, string>();
  /** Percentage of calls that fail. */
  faultPercent = 0;
  isDown = false;
  /** Called before the operator deletes a database. */
  onDelete: (database: Kept) => void = () => undefined;
  /** Called before the operator changes the number of copies of a database. */
  onCopies: (name: string) => void = () => undefined;
  /** Called when a key is issued. */
  onIssue: (id: string) => void = () => undefined;
  readonly #runtime: ManualRuntime;
  #last = 0;

  constructor(runtime: ManualRuntime) {
    this.#runtime = runtime;
  }

  create(name: string, party: Party, copies: number = 0): Database {
    if (this.databases.has(name)) throw callError('ALREADY_EXISTS');
    this.#last += 1;
    const createdAt = new Date(this.#runtime.wallMs()).toISOString();
    const database = { name, id: `id-${this.#last}`, createdAt, party, copies };
    this.databases.set(name, database);
    return database;
  }

  /** The database continues with another id, as after the loss of its quorum. */
  recover(name: string): void {
    const { id, ...rest } = this.databases.get(name) ?? this.create(name, 'other');
    this.#last += 1;
    this.databases.set(name, { party: 'other', copies: 0, ...rest, id: `id-${this.#last}` });
    this.predecessors.set(name, id);
  }

  /** Another party may do the same. */
  setCopies(name: string, copies: number): void {
    const found = this.databases.get(name);
    if (found !== undefined) this.databases.set(name, { ...found, copies });
  }

  /** The API as a process of the operator calls it. */
  databasesFor(process: OperatorProcess): Databases {
    return {
      find: (name) => this.call(() => this.databases.get(name)),
      describe: ({ name, id }) =>
        this.call(() => {
          const found = this.databases.get(name);
          if (found?.id !== id) return undefined;
          return { copies: found.copies, predecessor: this.predecessors.get(name) };
        }),
      create: (name, copies) => process.step(() => this.call(() => this.create(name, 'operator', copies))),
      setCopies: ({ name, id }, copies) =>
        process.step(() =>
          this.call(() => {
            if (this.databases.get(name)?.id !== id) throw callError('NOT_FOUND');
            this.onCopies(name);
            this.setCopies(name, copies);
          }),
        ),
      delete: (name, id) =>
        process.step(() =>
          this.call(() => {
            const found = this.databases.get(name);
            if (found === undefined || found.id !== id) return;
            this.onDelete(found);
            this.databases.delete(name);
          }),
        ),
    };
  }

  keysFor(process: OperatorProcess): Keys {
    const { keys } = this;
    return {
      list: () => this.call(() => [...keys.values()]),
      issue: (key) =>
        process.step(() =>
          this.call(() => {
            const found = keys.get(key.id);
            if (found === undefined) {
              keys.set(key.id, { ...key, createdMs: this.#runtime.wallMs() });
              this.onIssue(key.id);
            }
            if (found !== undefined && !isDeepStrictEqual({ ...key, createdMs: found.createdMs }, found))
              throw callError('ALREADY_EXISTS');
          }),
        ),
      revoke: (id, expiresMs) =>
        process.step(() =>
          this.call(() => {
            const found = keys.get(id);
            if (expiresMs === undefined) keys.delete(id);
            else if (found !== undefined) keys.set(id, { ...found, expiresMs });
          }),
        ),
    };
  }

  async call<Answer>(execute: () => Answer): Promise<Answer> {
    const { chance } = this.#runtime;
    if (this.isDown || chance.chance(this.faultPercent)) throw callError('UNAVAILABLE');
    const answer = execute();
    if (chance.chance(this.faultPercent)) throw callError('DEADLINE_EXCEEDED');
    return answer;
  }
}

export function callError(code: keyof typeof STATUS): CallError {
  const error = Object.assign(new Error(code), { code: STATUS[code], details: '', metadata: new Metadata() });
  return new CallError(error, 'naive');
}
