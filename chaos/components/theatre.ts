/**
 * Clients of components under faults. A State View and a State Change are published before the first fault, several
 * clients use them through all nodes during the run, and at the end every node renders State Views again for the check.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ActivateStateViewRequest,
  MaintenanceMode,
  PublishStateChangeRequest,
  PublishStateViewRequest,
} from '../../proto/gen/cairn/v1/component.ts';
import { ParameterTerm } from '../../proto/gen/cairn/v1/event.ts';
import { Rng } from '../../test/simulation/engine/random.ts';
import { hashingView } from '../../test/support/components/views.ts';
import { GrpcFailure, TestClient } from '../../test/support/grpc-client.ts';
import { BoxOffice, THEATRE, type Way } from './box-office.ts';
import { type Place, soldEvents } from './final-seats.ts';
import { CHANGE, PARAMETER, SEATS, sellingChange, VIEW } from './seats.ts';
import { checkSeats } from './seats-check.ts';
import type { FinalSeats, Sale, SaleOutcome, SeatsHistory, Show, ShowOutcome } from './seats-history.ts';

export interface TheatreOptions {
  readonly seed: number;
  /** Nodes that clients may use now. */
  readonly places: () => readonly [Place, ...Place[]];
}

const CLIENTS = 4;
const THINK_MS_MEAN = 120;
const SELLS = 0.6;
/** Number of houses that sell at the same time. */
const OPEN_HOUSES = 3;
/** Share of sales in a house that is already full. */
const LATE = 0.1;
const ATTEMPTS_MAX = 5;
const REVISIONS_KEPT = 200;
const PUBLISH_MS = 60_000;
const AGAIN_MS = 200;
const RENDERED_WITHIN_MS = 60_000;
const RENDERED_ON_EACH = 120;

/**
 * Repeats a request while the node is unavailable: the cluster moves leaderships of new databases to balance them.
 * After a lost reply, ALREADY_EXISTS means that the request had succeeded.
 * @throws GrpcFailure for any other failure, and after `PUBLISH_MS`
 */
async function untilTaken(send: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + PUBLISH_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      await send();
      return;
    } catch (failure) {
      if (!(failure instanceof GrpcFailure)) throw failure;
      if (failure.code === 'ALREADY_EXISTS' && attempt > 1) return;
      if (failure.code !== 'UNAVAILABLE' || performance.now() > untilMs) throw failure;
      await delay(AGAIN_MS);
    }
  }
}

export class Theatre {
  readonly #options: TheatreOptions;
  readonly #sales: Sale[] = [];
  readonly #shows: Show[] = [];
  readonly #offices = new Map<string, BoxOffice>();
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;
  /** Number of the first house that sells. */
  #front = 0;
  /** Highest revision that any client received. */
  #floor = 0;
  /** Some of the revisions that clients received. */
  readonly #revisions: [number, ...number[]] = [0];

  constructor(options: TheatreOptions) {
    this.#options = options;
  }

  /** Includes the final reads after `judge`. */
  get history(): SeatsHistory {
    return { sales: this.#sales, shows: this.#shows };
  }

  /** Creates the database and publishes the components. @throws GrpcFailure when the node refuses */
  async open(): Promise<void> {
    const [place] = this.#options.places();
    const client = new TestClient(place.address.grpc);
    const options = { deadlineMs: PUBLISH_MS };
    await untilTaken(() => client.send('createDatabase', { databaseName: THEATRE }, options));
    const bytes = await (await hashingView({ hasBatch: true, hasQuery: false })).bytes();
    const term = { name: PARAMETER, term: ParameterTerm.PARAMETER_TERM_SUBJECT };
    const view = PublishStateViewRequest.fromPartial({
      databaseName: THEATRE,
      stateViewName: VIEW,
      contentType: 'application/octet-stream',
      eventSelection: { selectors: [{ kind: { $case: 'parameter', value: term } }] },
      wasmBytes: Buffer.from(bytes),
    });
    await untilTaken(() => client.send('publishStateView', view, options));
    const maintenanceMode = MaintenanceMode.MAINTENANCE_MODE_EAGER;
    const active = { databaseName: THEATRE, stateViewName: VIEW, version: 1, maintenanceMode };
    const activation = ActivateStateViewRequest.fromPartial(active);
    await untilTaken(() => client.send('activateStateView', activation, options));
    const wasmBytes = Buffer.from(await sellingChange());
    const change = { databaseName: THEATRE, stateChangeName: CHANGE, stateViewNames: [VIEW], wasmBytes };
    const publication = PublishStateChangeRequest.fromPartial(change);
    await untilTaken(() => client.send('publishStateChange', publication, options));
    await client[Symbol.asyncDispose]();
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: CLIENTS }, (_, number) => this.#visit(`visitor-${number + 1}`)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /**
   * Reads all events, lets every healed node render State Views, and checks all answers against the events.
   * @throws Error when a node does not answer for a minute
   */
  async judge(final: Pick<FinalSeats, 'revision' | 'transactions'>): Promise<readonly string[]> {
    const places = this.#options.places();
    const [first] = places;
    const events = await soldEvents(first, final.revision);
    for (const place of places) this.#shows.push(...(await this.#rendered(place, final.revision)));
    this.#close();
    return checkSeats(this.history, { ...final, events });
  }

  async #visit(client: string): Promise<void> {
    const random = new Rng(this.#options.seed, `theatre ${client}`);
    while (!this.#isOver) {
      await delay(random.exponential(THINK_MS_MEAN));
      if (random.chance(SELLS)) await this.#sell(client, random);
      else await this.#look(client, random);
    }
  }

  /** While the outcome is unknown, sends the command again, to another node and under the same id. */
  async #sell(client: string, random: Rng): Promise<void> {
    const isLate = random.chance(LATE);
    const house = houseOf(isLate ? random.between(0, this.#front) : this.#front + random.between(0, OPEN_HOUSES - 1));
    const wanted = { batchId: randomUUID(), house, seat: String(random.between(0, SEATS - 1)).padStart(2, '0') };
    const floor = this.#floor;
    let outcome: SaleOutcome = { kind: 'unknown' };
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      outcome = await this.#office(random).sell(wanted, wayOf(random));
      if (outcome.kind !== 'unknown' && outcome.kind !== 'conflict') break;
      await delay(random.exponential(THINK_MS_MEAN * attempt));
    }
    this.#sales.push({ client, ...wanted, floor, outcome });
    this.#hear(outcome);
    const isFull = outcome.kind === 'refused' && outcome.reason === 'full';
    if (isFull && house === houseOf(this.#front)) this.#front += 1;
  }

  async #look(client: string, random: Rng): Promise<void> {
    const house = houseOf(random.between(0, this.#front + OPEN_HOUSES - 1));
    const at = random.chance(0.5) ? 'latest' : random.pick(this.#revisions);
    const floor = this.#floor;
    const outcome = await this.#office(random).show(house, at, wayOf(random));
    this.#shows.push({ client, house, at, floor, outcome });
    this.#hear(outcome);
  }

  #hear(outcome: SaleOutcome | ShowOutcome): void {
    if (!('revision' in outcome)) return;
    this.#floor = Math.max(this.#floor, outcome.revision);
    this.#revisions.push(outcome.revision);
    if (this.#revisions.length > REVISIONS_KEPT) this.#revisions.splice(1, 1);
  }

  #office(random: Rng): BoxOffice {
    return this.#officeAt(random.pick(this.#options.places()));
  }

  #officeAt({ name, address }: Place): BoxOffice {
    const known = this.#offices.get(name) ?? new BoxOffice(address);
    this.#offices.set(name, known);
    return known;
  }

  /** Renders houses at the last revision and at earlier ones. */
  async #rendered(place: Place, last: number): Promise<readonly Show[]> {
    const random = new Rng(this.#options.seed, `the end of the theatre at ${place.name}`);
    const shows: Show[] = [];
    for (let count = 0; count < RENDERED_ON_EACH; count++) {
      const house = houseOf(random.between(0, this.#front + OPEN_HOUSES - 1));
      const at = random.chance(0.5) ? last : random.between(0, last);
      const outcome = await this.#must(place, house, at);
      shows.push({ client: `the judge at ${place.name}`, house, at, floor: 0, outcome });
    }
    return shows;
  }

  async #must(place: Place, house: string, at: number): Promise<ShowOutcome> {
    const untilMs = performance.now() + RENDERED_WITHIN_MS;
    for (;;) {
      const outcome = await this.#officeAt(place).show(house, at, 'http');
      if (outcome.kind !== 'unknown') return outcome;
      if (performance.now() > untilMs) throw new Error(`A healed ${place.name} does not render ${house} at ${at}`);
      await delay(THINK_MS_MEAN);
    }
  }

  #close(): void {
    for (const office of this.#offices.values()) office[Symbol.dispose]();
    this.#offices.clear();
  }
}

function houseOf(number: number): string {
  return String(number).padStart(4, '0');
}

function wayOf(random: Rng): Way {
  return random.chance(0.5) ? 'grpc' : 'http';
}
