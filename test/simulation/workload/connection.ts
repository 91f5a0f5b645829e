// The connection of a simulated client to a cluster: one call at a time with a timeout, over a network that may lose
// requests and replies, to processes that may die or relay the request. After no answer, or when it is sent away, the
// client uses another node. It records the history.
import { DatabaseError } from '#base';
import type { DefinitionEntry } from '#model';
import { isFatal } from '#service';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { CallKind, Calls, DefinitionTold, History, Operation, Outcome } from '../history.ts';
import type { Network } from '../network.ts';
import type { NodeProcess } from '../node/process.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { RelayedRequest, Work } from '../node/sim-relay.ts';
import { perform } from './perform.ts';

export interface World {
  readonly simulator: Simulator;
  readonly network: Network;
  readonly nodes: readonly [SimNode, ...SimNode[]];
  readonly history: History;
}

/** Time after which a client gives up. */
const TIMEOUT_US = 4_000_000;
/** Error codes that leave the outcome of a write unknown. */
const VAGUE_CODES: ReadonlySet<string> = new Set(['internal', 'not_found', 'aborted']);
const VAGUE_REASON = 'OutcomeUnknown';
/** Error codes after which another node may succeed. */
const ELSEWHERE_CODES: ReadonlySet<string> = new Set(['unavailable', 'not_leader', 'storage_full']);
const WANDER_SHARE = 0.05;

interface Asked {
  readonly operation: { readonly kind: CallKind | 'define'; isDoubled: boolean };
  readonly isIdempotent: boolean;
  /** The database, for calls that concern one. */
  readonly name: string;
  readonly work: (work: Pick<Work, 'service' | 'signal' | 'shown'>) => Promise<unknown>;
}

interface Waiting {
  readonly node: SimNode;
  readonly asked: Asked;
  readonly finish: (answer: Answer) => void;
}

interface Answer {
  readonly outcome: Outcome<unknown>;
  readonly session: string | undefined;
}

export class Connection {
  readonly client: string;
  readonly #world: World;
  /** Calls that wait for a process of a node and end with it. */
  readonly #waiting = new Map<(answer: Answer) => void, SimNode>();
  readonly #route: Rng;
  readonly #isRelayed: boolean;
  #node: SimNode;

  /** Unless `isRelayed`, nodes only answer for their own replicas. */
  constructor(client: string, world: World, { isRelayed = true }: { readonly isRelayed?: boolean } = {}) {
    this.client = client;
    this.#world = world;
    this.#isRelayed = isRelayed;
    this.#route = world.simulator.random(`${client} route`);
    this.#node = this.#route.pick(world.nodes);
  }

  /** Uses this node from now on. */
  turnTo(node: SimNode): void {
    this.#node = node;
  }

  get nowUs(): number {
    return this.#world.simulator.nowUs;
  }

  async sleep(delayUs: number): Promise<void> {
    await this.#world.simulator.sleep(delayUs, `${this.client} waits`);
  }

  /** The process of the node has ended: calls to it get no answer. */
  lose(node: SimNode): void {
    for (const [finish, asked] of this.#waiting)
      if (asked === node) finish({ outcome: { kind: 'unknown' }, session: undefined });
  }

  /** Sends the call, waits for its outcome and records both. */
  async call<Kind extends CallKind>(kind: Kind, request: Calls[Kind]['request']): Promise<Operation<Kind>> {
    const { history, simulator } = this.#world;
    const operation = history.begin(this.client, kind, request, simulator.nowUs);
    const isIdempotent = kind !== 'create' && kind !== 'delete';
    const work: Asked['work'] = ({ service, ...asked }) => perform(kind, service, request, asked);
    const name = 'name' in request ? request.name : '';
    const answer = await this.#ask({ operation, isIdempotent, name, work });
    operation.outcome = answer.outcome as Outcome<Calls[Kind]['value']>;
    operation.session = answer.session;
    if (answer.outcome.kind !== 'unknown') operation.returnedUs = simulator.nowUs;
    this.#wander(answer.outcome);
    const { outcome } = operation;
    const revision = outcome.kind === 'ok' && 'revision' in outcome.value ? outcome.value.revision : '';
    simulator.note(
      `${this.client} ${operation.number} ${outcome.kind} ${revision}`,
      () => `${this.client} #${operation.number} ${kind} ${text(request)} → ${text(outcome)}`,
    );
    return operation;
  }

  /** Sends a definition entry and records its outcome. */
  async define(name: string, entry: DefinitionEntry): Promise<void> {
    const { history, simulator } = this.#world;
    const defining: History['definings'][number] = { name, entry, told: undefined };
    history.definings.push(defining);
    const operation = { kind: 'define', isDoubled: false } as const;
    const work: Asked['work'] = ({ service }) => service.define(name, entry);
    const { outcome } = await this.#ask({ operation, isIdempotent: false, name, work });
    if (outcome.kind === 'ok') defining.told = outcome.value as DefinitionTold;
    this.#wander(outcome);
    simulator.note(
      `${this.client} ${entry.kind} ${outcome.kind}`,
      () => `${this.client} ${entry.kind} in ${name} → ${text(outcome)}`,
    );
  }

  /** Possibly switches to another node. */
  #wander(outcome: Outcome<unknown>): void {
    const isSentAway = outcome.kind === 'unknown' || (outcome.kind === 'error' && ELSEWHERE_CODES.has(outcome.code));
    if (isSentAway || this.#route.chance(WANDER_SHARE)) this.#node = this.#route.pick(this.#world.nodes);
  }

  #ask(asked: Asked): Promise<Answer> {
    const { operation, isIdempotent } = asked;
    const { simulator, network } = this.#world;
    const node = this.#node;
    return new Promise((resolve) => {
      const finish = (answer: Answer): void => {
        this.#waiting.delete(finish);
        resolve(answer);
      };
      let arrived = 0;
      const copies = network.send(this.client, node.name, () => {
        arrived += 1;
        // A duplicated call that is not idempotent would be another operation.
        if (arrived > 1 && !isIdempotent) return;
        const { process } = node;
        const waiting = { node, asked, finish };
        if (process?.service !== undefined) return this.#serve(process, waiting);
        const isDefinite = copies === 1;
        this.#reply(waiting, { kind: 'error', code: 'unavailable', reason: 'ConnectionRefused', isDefinite });
      });
      operation.isDoubled = copies > 1;
      simulator.after(TIMEOUT_US, `${this.client} timeout`, () =>
        finish({ outcome: { kind: 'unknown' }, session: undefined }),
      );
    });
  }

  #serve(process: NodeProcess, waiting: Waiting): void {
    const { node, asked, finish } = waiting;
    const session = `${this.client} to ${node.name} ${node.incarnation}`;
    const ending = new AbortController();
    this.#waiting.set(finish, node);
    let isAnswered = false;
    const untilUs = this.nowUs + TIMEOUT_US;
    process.front.after(TIMEOUT_US, 'deadline', () => {
      if (!isAnswered) ending.abort(new DatabaseError('unavailable', 'The deadline passed'));
    });
    process.front.after(0, asked.operation.kind, () => {
      const { service } = process;
      if (service === undefined) return;
      const reply = (outcome: Outcome<unknown>): void => {
        isAnswered = true;
        this.#answer(process, waiting, { session, outcome });
      };
      const { signal } = ending;
      const succeed = (value: unknown): void => reply({ kind: 'ok', value });
      const fail = (failure: unknown): void => {
        if (!(failure instanceof DatabaseError) || isFatal(failure)) return process.fail(failure);
        reply(refusalBy(failure, signal));
      };
      const relayed = { signal, untilUs, run: asked.work, onValue: succeed, onFailure: fail };
      asked.work({ service, signal, shown: undefined }).then(succeed, (failure: unknown) => {
        const elsewhere = this.#elsewhere(process, failure, { ...asked, ...relayed });
        if (elsewhere === undefined) fail(failure);
        else elsewhere.catch(fail);
      });
    });
  }

  #elsewhere(
    process: NodeProcess,
    failure: unknown,
    { operation, ...request }: Asked & Omit<RelayedRequest<unknown>, 'isWrite'>,
  ): Promise<void> | undefined {
    if (!this.#isRelayed) return undefined;
    return process.relay?.elsewhere(failure, {
      ...request,
      isWrite: operation.kind === 'transact' || operation.kind === 'define',
    });
  }

  #answer(process: NodeProcess, { node, finish }: Waiting, answer: Answer): void {
    if (process.isAlive) this.#world.network.send(node.name, this.client, () => finish(answer));
  }

  #reply({ node, finish }: Waiting, outcome: Outcome<unknown>): void {
    this.#world.network.send(node.name, this.client, () => finish({ outcome, session: undefined }));
  }
}

function refusalBy({ code, details }: DatabaseError, signal: AbortSignal): Outcome<unknown> {
  const isVague = VAGUE_CODES.has(code) || details.reason === VAGUE_REASON;
  const isDefinite = !isVague && !signal.aborted;
  return { kind: 'error', code, reason: details.reason, isDefinite, scope: details.scope };
}

/** Text of a value, shortened to a line. */
function text(value: unknown): string {
  const long = JSON.stringify(value, (key, part: unknown) => (key === 'body' ? undefined : part)) ?? 'undefined';
  return long.length > 400 ? `${long.slice(0, 400)}…` : long;
}
