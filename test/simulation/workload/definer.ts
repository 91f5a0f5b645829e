// A client that defines, changes and deletes components of databases, with few names and small components, so that
// several conflict. It proposes the log entries directly, because publishing would inspect real components.
import { type DefinitionEntry, MAINTENANCE_MODES, toVersionNumber } from '#model';
import { DEFINITIONS, ofInactive, partOf, SMALL_BLOBS } from '../../support/definition-entries.ts';
import type { Rng } from '../engine/random.ts';
import type { Connection } from './connection.ts';

const THINK_US_MEAN = 150_000;
const INACTIVE_SHARE = 0.2;
const [FIRST_BLOB] = SMALL_BLOBS;
const [FIRST_DEFINITION] = DEFINITIONS;

export class Definer {
  readonly #connection: Connection;
  readonly #names: readonly [string, ...string[]];
  readonly #random: Rng;

  constructor(connection: Connection, names: readonly [string, ...string[]], random: Rng) {
    this.#connection = connection;
    this.#names = names;
    this.#random = random;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#connection.sleep(this.#random.exponential(THINK_US_MEAN));
      if (!isOver()) await this.#connection.define(this.#random.pick(this.#names), this.#either(this.#entry()));
    }
  }

  /** Some entries require feature level 7, which not every cluster has. */
  #either(entry: DefinitionEntry): DefinitionEntry {
    return this.#random.chance(INACTIVE_SHARE) ? ofInactive(entry) : entry;
  }

  #entry(): DefinitionEntry {
    const random = this.#random;
    const blob = SMALL_BLOBS[random.between(0, SMALL_BLOBS.length - 1)] ?? FIRST_BLOB;
    const definition = DEFINITIONS[random.between(0, DEFINITIONS.length - 1)] ?? FIRST_DEFINITION;
    if (blob === undefined || definition === undefined) throw new Error('There is nothing to define');
    const { kind: component, name } = definition;
    const version = toVersionNumber(random.between(1, 4));
    switch (random.between(0, 9)) {
      case 0:
      case 1:
      case 2:
        return partOf(blob, 0);
      case 3:
      case 4:
      case 5:
        return { kind: 'define', blob, definition, isInactive: false };
      case 6:
      case 7: {
        const status = { active: random.chance(0.5), mode: random.pick(MAINTENANCE_MODES) };
        return { kind: 'set-status', component, name, version, status };
      }
      case 8:
        return {
          kind: 'delete',
          component,
          name,
          version: random.chance(0.3) ? undefined : version,
          onlyInactive: false,
        };
      default:
        return { kind: 'expire', name };
    }
  }
}
