/** Runs sessions of random requests against real nodes, and compares each answer with that of the model. */
import { sendBytes } from './bytes.ts';
import { differences, show } from './compare.ts';
import { Random } from './generate/random.ts';
import { drawRead, type Subject } from './generate/reads.ts';
import * as values from './generate/values.ts';
import { badDatabase, drawCreate, drawDelete, drawStateChange, drawTransact } from './generate/writes.ts';
import type { RecordedNodes } from './in-process.ts';
import { ReferenceModel } from './model/index.ts';
import { lastOf } from './model/store.ts';
import type { Answer, Request, Saved, Sent } from './model/vocabulary.ts';
import type { Deployment, ModelNode, Nodes } from './nodes.ts';

/** Number of concurrent reads between two writes. */
const READS = 24;
const SAVED_MAX = 20;
/** Number of requests whose bytes are recorded. */
const RECORDED = 200;
/** Number of rounds between two kills, at least. */
const ROUNDS_PER_KILL = 8;
const UNAVAILABLE_MS = 30_000;
const PAUSE_MS = 20;

export interface Plan {
  readonly seed: number;
  readonly requests: number;
  /** Number of kills. */
  readonly kills?: number;
  /** Prefix of database names when other databases may exist. */
  readonly prefix?: string;
}

export interface Figures {
  requests: number;
  kills: number;
  /** Answers that another node gave after a failure. */
  repeats: number;
  eventsRead: number;
  /** Counts by operation and `via`. */
  readonly operations: Map<string, number>;
  readonly refusals: Map<string, number>;
}

/** A wrong answer, or a logged error of a node, with the command that repeats it. */
export class Fault extends Error {}

export async function runModel(nodes: Pick<Nodes, 'deployments' | 'errors'>, plan: Plan): Promise<Figures> {
  const figures = { requests: 0, kills: 0, repeats: 0, eventsRead: 0, operations: new Map(), refusals: new Map() };
  const random = new Random(plan.seed);
  while (figures.requests < plan.requests || figures.kills < (plan.kills ?? 0)) {
    const { errors } = nodes;
    const session = new Session({ errors, deployment: random.pick(nodes.deployments), random, plan, figures });
    await session.run(15 + random.below(60));
  }
  return figures;
}

/** Sends `bytes` conversations of raw bytes to each port of a node, while sessions of the model run. */
export async function runBytes(
  nodes: RecordedNodes,
  { seed, bytes }: { seed: number; bytes: number },
): Promise<Figures> {
  const { recorded, targets, errors } = nodes;
  await runModel({ deployments: [recorded], errors }, { seed, requests: RECORDED });
  const plan = { seed, requests: Number.POSITIVE_INFINITY, prefix: 'model-' };
  const [figures] = await Promise.all([runModel(nodes, plan), sendBytes(targets, { seed, bytes }, plan)]);
  return figures;
}

interface Running {
  readonly errors: readonly string[];
  readonly deployment: Deployment;
  readonly random: Random;
  readonly plan: Plan;
  readonly figures: Figures;
}

class Session {
  readonly #running: Running;
  readonly #random: Random;
  readonly #model = new ReferenceModel();
  readonly #names: readonly string[];
  readonly #absent: string;
  readonly #saved = new Map<string, Saved[]>();
  /** Ids of current and former instances. */
  readonly #ids: string[] = [];
  /** True when nodes may be down, so that requests are repeated at another node. */
  readonly #mayRepeat: boolean;

  constructor(running: Running) {
    this.#running = running;
    this.#random = running.random;
    const { requests } = running.figures;
    const { prefix = '', kills = 0 } = running.plan;
    this.#mayRepeat = prefix !== '' || kills > 0;
    this.#absent = `${prefix}absent`;
    this.#names = ['a', 'b'].map((name) => `${prefix}${name}-${requests}`);
  }

  get #isOver(): boolean {
    const { figures, plan } = this.#running;
    return figures.requests >= plan.requests && figures.kills >= (plan.kills ?? 0);
  }

  async run(rounds: number): Promise<void> {
    for (const name of this.#names) await this.#send(drawCreate(this.#random, name));
    for (let round = 0; round < rounds && !this.#isOver; round++) {
      // The kill happens during the write or during the reads.
      const isKill = this.#isKillDue(round);
      const killed = isKill && this.#random.chance(50) ? this.#kill() : undefined;
      await this.#write();
      const reads = Promise.all(this.#drawReads().map((each) => this.#exchange(each)));
      const node = await (killed ?? (isKill ? this.#kill() : undefined));
      await reads;
      await node?.start?.();
      this.#requireSilence();
    }
    for (const name of this.#model.store.databases.keys())
      await this.#send({ kind: 'delete', via: 'DeleteDatabase', database: name });
  }

  /** The kills are spread evenly over the requests. */
  #isKillDue(round: number): boolean {
    const { figures, plan } = this.#running;
    const { requests, kills = 0 } = plan;
    const isLate = figures.kills * requests <= figures.requests * kills;
    return figures.kills < kills && isLate && round % ROUNDS_PER_KILL === 1;
  }

  async #kill(): Promise<ModelNode> {
    const { figures, deployment } = this.#running;
    figures.kills += 1;
    const node = this.#random.pick(deployment);
    await node.kill?.();
    return node;
  }

  async #write(): Promise<void> {
    const random = this.#random;
    const name = random.chance(3) ? badDatabase(random) : random.chance(2) ? this.#absent : random.pick(this.#names);
    const database = this.#model.store.databases.get(name);
    const dice = random.below(100);
    if (dice < 2) return this.#send(drawDelete(random, name, this.#ids));
    if (dice < 5 || (database === undefined && dice < 50)) return this.#send(drawCreate(random, name));
    const before = database === undefined ? 0 : lastOf(database);
    if (dice < 15 && !this.#mayRepeat) await this.#send(drawStateChange(random, name));
    else {
      const drawn = drawTransact(random, name, database);
      // Without an id it could not be repeated.
      await this.#send(this.#mayRepeat ? { ...drawn, id: drawn.id ?? random.uuid() } : drawn);
    }
    const id = database?.transactions[before]?.id;
    // Learns values of a new transaction that only the server knows, and on which later answers depend.
    if (id === undefined) return;
    const via = random.pick(['FetchTransaction', 'GET transaction'] as const);
    const node = random.below(this.#running.deployment.length);
    await this.#exchange({ node, request: { kind: 'lookup', via, database: name, id } });
  }

  #drawReads(): readonly Sent[] {
    const { plan, figures } = this.#running;
    const left = (plan.kills ?? 0) > 0 ? READS : plan.requests - figures.requests;
    const count = Math.max(Math.min(READS, left), 0);
    return Array.from({ length: count }, () => this.#address(drawRead(this.#random, this.#subject())));
  }

  #subject(): Subject {
    const random = this.#random;
    const name = random.chance(1) ? badDatabase(random) : random.chance(1) ? this.#absent : random.pick(this.#names);
    return { name, database: this.#model.store.databases.get(name), saved: this.#saved.get(name) ?? [] };
  }

  /** Selects a node, HTTP or an MCP tool, and sometimes a minimum revision. */
  #address(request: Request): Sent {
    const random = this.#random;
    const node = random.below(this.#running.deployment.length);
    const database = this.#model.store.databases.get(request.database);
    const last = database === undefined ? 0 : lastOf(database);
    // These reads return the node's own state, which may lag.
    const isOfNode = request.via === 'GET /db/{db}/cached' || request.kind === 'subscribe';
    if (isOfNode) return { request, node, minRevision: BigInt(last) };
    const isOfTools = request.via.startsWith('tool ');
    const hasLeast =
      !isOfTools && !['create', 'delete', 'catalog', 'malformed'].includes(request.kind) && random.chance(8);
    if (hasLeast) {
      const least = random.chance(90) ? BigInt(random.below(last + 1)) : values.revision(random, last);
      return { request, node, minRevision: least };
    }
    const percent = request.kind === 'transact' ? 50 : 15;
    const mayBeTool = /^(?:GET|POST) /.test(request.via) && random.chance(percent);
    return { request, node, isTool: mayBeTool || isOfTools };
  }

  async #send(request: Request): Promise<void> {
    await this.#exchange(this.#address(request));
  }

  async #exchange(sent: Sent): Promise<void> {
    const { figures } = this.#running;
    const place = ++figures.requests;
    const seen = await this.#answerTo(sent, place);
    const right = this.#model.answer(sent, seen);
    const lines = differences(right, seen);
    if (lines.length > 0) this.#fail(place, sent, lines);
    this.#note(sent, seen);
  }

  /** Checked after answers, because a wrong answer says more than a logged error. */
  #requireSilence(): void {
    const { plan, figures, errors } = this.#running;
    if (errors.length === 0) return;
    const lines = [`a node has logged, by request ${figures.requests}:`, ...errors];
    throw new Fault([...lines, againBy(plan, figures.requests)].join('\n'));
  }

  async #answerTo(sent: Sent, place: number): Promise<Answer> {
    const { deployment, errors, plan } = this.#running;
    const endMs = Date.now() + UNAVAILABLE_MS;
    for (let tries = 0; ; tries++) {
      const node = deployment[(sent.node + tries) % deployment.length];
      const seen = await node?.send(sent).catch((error: unknown) => ({ failure: error }));
      if (seen !== undefined && !('failure' in seen) && !(this.#mayRepeat && isUnavailable(seen))) {
        const isKept = plan.prefix === undefined || sent.request.kind !== 'catalog';
        const names = seen.names?.filter((name) => isKept || name.startsWith(plan.prefix ?? ''));
        return this.#settled(sent, { ...seen, names }, tries);
      }
      if (!this.#mayRepeat || Date.now() > endMs) {
        const failure = seen !== undefined && 'failure' in seen ? seen.failure : show(seen);
        const lines = [`no answer: ${failure instanceof Error ? failure.stack : String(failure)}`, ...errors];
        return this.#fail(place, sent, lines);
      }
      this.#running.figures.repeats += 1;
      await pause();
    }
  }

  /** The answer after removing the effect of an earlier attempt whose answer was lost. */
  async #settled({ request, node }: Sent, seen: Answer, tries: number): Promise<Answer> {
    const isThere = this.#model.store.databases.has(request.database);
    if (tries === 0) return seen;
    if (request.kind === 'transact') {
      const { replayed: _, ...members } = seen.members ?? {};
      return { ...seen, members };
    }
    if (request.kind === 'delete' && seen.error === 'DatabaseNotFound' && isThere) return {};
    if (request.kind !== 'create' || seen.error !== 'already_exists' || isThere) return seen;
    return this.#answerTo({ node, request: { ...request, kind: 'database', via: 'FetchLatestDatabase' } }, 0);
  }

  #note({ request: { kind, via, database }, isTool }: Sent, { error, events = [], saved, databaseId }: Answer): void {
    const { operations, refusals } = this.#running.figures;
    add(operations, `${isTool === true ? 'fetch ' : ''}${kind === 'malformed' ? kind : via}`);
    if (error !== undefined) add(refusals, error);
    this.#running.figures.eventsRead += events.length;
    if (kind === 'create' && databaseId !== undefined && error === undefined) {
      this.#ids.push(databaseId);
      this.#saved.delete(database);
    }
    if (saved !== undefined)
      this.#saved.set(database, [saved, ...(this.#saved.get(database) ?? [])].slice(0, SAVED_MAX));
  }

  #fail(place: number, { request, node, minRevision, isTool }: Sent, lines: readonly string[]): never {
    const { plan, deployment } = this.#running;
    const where = `${isTool === true ? 'MCP of ' : ''}node ${node + 1} of ${deployment.length}`;
    const least = minRevision === undefined ? '' : `, x-min-revision ${minRevision}`;
    const what = `seed ${plan.seed}, request ${place}, to ${where}${least}: ${show(request)}`;
    throw new Fault([what, ...lines, againBy(plan, place)].join('\n'));
  }
}

/** Leaves the processor to the nodes. */
function pause(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, PAUSE_MS);
  return promise;
}

/** True when another node, or this one later, can answer; the request may have taken effect. */
function isUnavailable({ error = '' }: Answer): boolean {
  return /^(?:UNAVAILABLE|CANCELLED|503)/.test(error) || error.includes('"code":-32603');
}

function againBy({ seed, requests, kills = 0 }: Plan, place: number): string {
  // The number of requests determines which rounds have a kill.
  const asked = kills > 0 ? `${requests} --kills ${kills}` : place;
  return `again: npm run test:model -- --seed ${seed} --requests ${asked}`;
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
