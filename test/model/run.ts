/** Sessions of random requests to real nodes, each answer compared with that of the model. */
import { differences, show } from './compare.ts';
import { Random } from './generate/random.ts';
import { drawRead, type Subject } from './generate/reads.ts';
import * as values from './generate/values.ts';
import { badDatabase, drawCreate, drawDelete, drawTransact } from './generate/writes.ts';
import { ReferenceModel } from './model/index.ts';
import { lastOf } from './model/store.ts';
import type { Answer, Request, Saved, Sent } from './model/vocabulary.ts';
import type { Deployment, Nodes } from './nodes.ts';

/** Reads that are in flight together, between two writes. */
const READS = 24;
const SAVED_MAX = 20;

export interface Plan {
  readonly seed: number;
  readonly requests: number;
}

export interface Figures {
  requests: number;
  /** By operation and how it was sent. */
  readonly operations: Map<string, number>;
  readonly refusals: Map<string, number>;
  eventsRead: number;
}

/** An answer that is wrong, or a node that has logged an error: with how to see it again. */
export class Fault extends Error {}

export async function runModel(nodes: Nodes, plan: Plan): Promise<Figures> {
  const figures: Figures = { requests: 0, operations: new Map(), refusals: new Map(), eventsRead: 0 };
  const random = new Random(plan.seed);
  while (figures.requests < plan.requests) {
    const session = new Session(nodes, random.pick(nodes.deployments), { random, plan, figures });
    await session.run(15 + random.below(60));
  }
  return figures;
}

interface Running {
  readonly random: Random;
  readonly plan: Plan;
  readonly figures: Figures;
}

class Session {
  readonly #nodes: Nodes;
  readonly #deployment: Deployment;
  readonly #running: Running;
  readonly #random: Random;
  readonly #model = new ReferenceModel();
  readonly #names: readonly string[];
  readonly #saved = new Map<string, Saved[]>();
  /** Of instances that are, or were. */
  readonly #ids: string[] = [];

  constructor(nodes: Nodes, deployment: Deployment, running: Running) {
    this.#nodes = nodes;
    this.#deployment = deployment;
    this.#running = running;
    this.#random = running.random;
    const { requests } = running.figures;
    this.#names = ['a', 'b'].map((name) => `${name}-${requests}`);
  }

  get #isOver(): boolean {
    return this.#running.figures.requests >= this.#running.plan.requests;
  }

  async run(rounds: number): Promise<void> {
    for (const name of this.#names) await this.#send(drawCreate(this.#random, name));
    for (let round = 0; round < rounds && !this.#isOver; round++) {
      await this.#write();
      await Promise.all(this.#drawReads().map((each) => this.#exchange(each)));
      this.#requireSilence();
    }
    for (const name of this.#model.store.databases.keys())
      await this.#send({ kind: 'delete', via: 'DeleteDatabase', database: name });
  }

  async #write(): Promise<void> {
    const random = this.#random;
    const name = random.chance(3) ? badDatabase(random) : random.chance(2) ? 'absent' : random.pick(this.#names);
    const database = this.#model.store.databases.get(name);
    const dice = random.below(100);
    if (dice < 2) return this.#send(drawDelete(random, name, this.#ids));
    if (dice < 5 || (database === undefined && dice < 50)) return this.#send(drawCreate(random, name));
    const before = database === undefined ? 0 : lastOf(database);
    await this.#send(drawTransact(random, name, database));
    const id = database?.transactions[before]?.id;
    // Shows what only the server knows of a new transaction, on which later answers depend.
    if (id === undefined) return;
    const via = random.pick(['FetchTransaction', 'GET transaction'] as const);
    await this.#exchange({
      node: random.below(this.#deployment.length),
      request: { kind: 'lookup', via, database: name, id },
    });
  }

  #drawReads(): readonly Sent[] {
    const left = this.#running.plan.requests - this.#running.figures.requests;
    return Array.from({ length: Math.min(READS, left) }, () => this.#address(drawRead(this.#random, this.#subject())));
  }

  #subject(): Subject {
    const random = this.#random;
    const name = random.chance(1) ? badDatabase(random) : random.chance(1) ? 'absent' : random.pick(this.#names);
    return { name, database: this.#model.store.databases.get(name), saved: this.#saved.get(name) ?? [] };
  }

  /** To any node, and now and then not below a revision. */
  #address(request: Request): Sent {
    const node = this.#random.below(this.#deployment.length);
    const database = this.#model.store.databases.get(request.database);
    const last = database === undefined ? 0 : lastOf(database);
    // These say what a node has, which may be less.
    const isOfNode = request.via === 'GET /db/{db}/cached' || request.kind === 'subscribe';
    if (isOfNode) return { request, node, minRevision: BigInt(last) };
    const hasLeast = !['create', 'delete', 'catalog', 'malformed'].includes(request.kind) && this.#random.chance(8);
    const isTool =
      /^tool /.test(request.via) ||
      (/^(?:GET|POST) /.test(request.via) && this.#random.chance(request.kind === 'transact' ? 50 : 15));
    if (!hasLeast) return { request, node, isTool };
    const least = this.#random.chance(90) ? BigInt(this.#random.below(last + 1)) : values.revision(this.#random, last);
    return { request, node, minRevision: least };
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

  /** A wrong answer tells more than what a node has logged about it. */
  #requireSilence(): void {
    const { plan, figures } = this.#running;
    const { errors } = this.#nodes;
    if (errors.length === 0) return;
    throw new Fault(
      [`a node has logged, by request ${figures.requests}:`, ...errors, againBy(plan.seed, figures.requests)].join(
        '\n',
      ),
    );
  }

  async #answerTo(sent: Sent, place: number): Promise<Answer> {
    try {
      const node = this.#deployment[sent.node];
      if (node === undefined) throw new Error(`there is no node ${sent.node}`);
      return await node.send(sent);
    } catch (error) {
      return this.#fail(place, sent, [
        `no answer: ${error instanceof Error ? error.stack : String(error)}`,
        ...this.#nodes.errors,
      ]);
    }
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

  #fail(place: number, { request, node, minRevision }: Sent, lines: readonly string[]): never {
    const { seed } = this.#running.plan;
    const where = `node ${node + 1} of ${this.#deployment.length}`;
    const least = minRevision === undefined ? '' : `, x-min-revision ${minRevision}`;
    throw new Fault(
      [`seed ${seed}, request ${place}, to ${where}${least}: ${show(request)}`, ...lines, againBy(seed, place)].join(
        '\n',
      ),
    );
  }
}

function againBy(seed: number, requests: number): string {
  return `again: npm run test:model -- --seed ${seed} --requests ${requests}`;
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
