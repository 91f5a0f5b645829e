/**
 * A client's way to a node: one call after the other, each with a time limit, over a network that may lose it either way,
 * to a process that may die under it. Fills the history.
 */
import { DatabaseError } from '#base';
import { isFatal, type Service } from '#service';
import type { Simulator } from '../engine/simulator.ts';
import type { AnyOperation, CallKind, Calls, History, Operation, Outcome } from '../history.ts';
import type { Network } from '../network.ts';
import type { NodeProcess } from '../node/process.ts';
import type { SimNode } from '../node/sim-node.ts';
import { perform } from './perform.ts';

export interface World {
  readonly simulator: Simulator;
  readonly network: Network;
  readonly node: SimNode;
  readonly history: History;
}

/** Without an answer for so long, a client gives up. */
const TIMEOUT_US = 4_000_000;
/** Errors after which nobody knows what became of a write. */
const VAGUE_CODES: ReadonlySet<string> = new Set(['internal', 'not_found', 'aborted']);

type Call = (service: Service, signal: AbortSignal) => Promise<unknown>;

interface Asked {
  readonly operation: { readonly kind: string; isDoubled: boolean };
  readonly isIdempotent: boolean;
}

interface Answer {
  readonly outcome: Outcome<unknown>;
  readonly session: string | undefined;
}

export class Connection {
  readonly client: string;
  readonly #world: World;
  /** Calls that wait for a process, to be ended with it. */
  readonly #waiting = new Map<(answer: Answer) => void, NodeProcess>();

  constructor(client: string, world: World) {
    this.client = client;
    this.#world = world;
  }

  get nowUs(): number {
    return this.#world.simulator.nowUs;
  }

  async sleep(delayUs: number): Promise<void> {
    await this.#world.simulator.sleep(delayUs, `${this.client} waits`);
  }

  /** The node has lost its process: nobody will answer what was asked of it. */
  lose(): void {
    for (const finish of this.#waiting.keys()) finish({ outcome: { kind: 'unknown' }, session: undefined });
    this.#waiting.clear();
  }

  /** Asks, waits for what comes of it, and writes both down. */
  async call<Kind extends CallKind>(kind: Kind, request: Calls[Kind]['request']): Promise<Operation<Kind>> {
    const { history, simulator } = this.#world;
    const operation: Operation<Kind> = {
      number: history.operations.length,
      kind,
      client: this.client,
      request,
      invokedUs: simulator.nowUs,
      isDoubled: false,
      returnedUs: Number.POSITIVE_INFINITY,
      session: undefined,
      outcome: { kind: 'unknown' },
    };
    history.operations.push(operation as unknown as AnyOperation);
    const isIdempotent = kind !== 'create' && kind !== 'delete';
    const ask = { operation, isIdempotent };
    const answer = await this.#ask(ask, (service, signal) => perform(kind, service, request, signal));
    operation.outcome = answer.outcome as Outcome<Calls[Kind]['value']>;
    operation.session = answer.session;
    if (answer.outcome.kind !== 'unknown') operation.returnedUs = simulator.nowUs;
    const { outcome } = operation;
    const revision = outcome.kind === 'ok' && 'revision' in outcome.value ? outcome.value.revision : '';
    simulator.note(
      `${this.client} ${operation.number} ${outcome.kind} ${revision}`,
      () => `${this.client} #${operation.number} ${kind} ${text(request)} → ${text(outcome)}`,
    );
    return operation;
  }

  #ask({ operation, isIdempotent }: Asked, work: Call): Promise<Answer> {
    const { simulator, network, node } = this.#world;
    return new Promise((resolve) => {
      const finish = (answer: Answer): void => {
        this.#waiting.delete(finish);
        resolve(answer);
      };
      let arrived = 0;
      const copies = network.send(this.client, node.name, () => {
        arrived += 1;
        // A second call with an effect of its own would be another operation.
        if (arrived > 1 && !isIdempotent) return;
        const { process } = node;
        if (process?.service !== undefined) return this.#serve(process, operation.kind, work, finish);
        const isDefinite = copies === 1;
        this.#reply(finish, { kind: 'error', code: 'unavailable', reason: 'ConnectionRefused', isDefinite });
      });
      operation.isDoubled = copies > 1;
      simulator.after(TIMEOUT_US, `${this.client} timeout`, () =>
        finish({ outcome: { kind: 'unknown' }, session: undefined }),
      );
    });
  }

  #serve(process: NodeProcess, label: string, work: Call, finish: (answer: Answer) => void): void {
    const { node } = this.#world;
    const session = `${this.client} to ${node.name} ${node.incarnation}`;
    const ending = new AbortController();
    this.#waiting.set(finish, process);
    process.front.after(TIMEOUT_US, 'deadline', () =>
      ending.abort(new DatabaseError('unavailable', 'The deadline passed')),
    );
    process.front.after(0, label, () => {
      const { service } = process;
      if (service === undefined) return;
      work(service, ending.signal).then(
        (value) => this.#answer(process, { session, outcome: { kind: 'ok', value } }, finish),
        (failure: unknown) => {
          if (!(failure instanceof DatabaseError) || isFatal(failure)) return process.fail(failure);
          const { code, details } = failure;
          const isDefinite = !VAGUE_CODES.has(code) && !ending.signal.aborted;
          const outcome = { kind: 'error', code, reason: details.reason, isDefinite, scope: details.scope } as const;
          this.#answer(process, { session, outcome }, finish);
        },
      );
    });
  }

  #answer(process: NodeProcess, answer: Answer, finish: (answer: Answer) => void): void {
    if (!process.isAlive) return;
    const { network, node } = this.#world;
    network.send(node.name, this.client, () => finish(answer));
  }

  #reply(finish: (answer: Answer) => void, outcome: Outcome<unknown>): void {
    const { network, node } = this.#world;
    network.send(node.name, this.client, () => finish({ outcome, session: undefined }));
  }
}

/** Short enough for a line. */
function text(value: unknown): string {
  const long = JSON.stringify(value, (key, part: unknown) => (key === 'body' ? undefined : part)) ?? 'undefined';
  return long.length > 400 ? `${long.slice(0, 400)}…` : long;
}
