/**
 * The State Views of a database that this node maintains, each with its folds: the only one, or one per combination of
 * parameter values that was read here.
 */
import { DatabaseError, instantFromMs, messageOf } from '#base';
import type { Binding } from '#cluster';
import type { AdvanceStep, MaintainedView, MaintenanceOutcome, ViewParameters } from '#components';
import {
  bindView,
  type DefinedVersion,
  encodeSelector,
  Faults,
  type Priority,
  parametersOf,
  type Selector,
} from '#model';
import { LATEST } from '../components/defined-version.ts';
import { askedKey, viewRead } from '../components/fold-inputs.ts';
import type { DefinedAs } from '../components/operations.ts';
import { openComponents, type ServiceContext } from '../context.ts';
import { isFatal } from '../fatal.ts';
import type { ReadView } from '../instance.ts';

type KeptVersion = DefinedAs<'state-view'> & { readonly status: { readonly mode: MaintainedView['mode'] } };

/** A fold of a version with parameter values. */
interface Fold {
  readonly version: KeptVersion;
  readonly parameters: ViewParameters;
  readonly selector: Selector;
}

const NO_PARAMETERS: ViewParameters = new Map();
const RANKS: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 };

export class MaintainedViews {
  readonly #context: ServiceContext;
  readonly #onFatal: (failure: unknown) => void;
  /** Definitions at the last poll, by replica. */
  readonly #versions = new WeakMap<Binding, { readonly last: number; readonly versions: readonly KeptVersion[] }>();
  /** Undefined: the version cannot be read with these values. */
  readonly #folds = new WeakMap<KeptVersion, WeakMap<ViewParameters, MaintainedView | undefined>>();

  constructor(context: ServiceContext, onFatal: (failure: unknown) => void) {
    this.#context = context;
    this.#onFatal = onFatal;
  }

  /**
   * Views of high priority first, at most `maintainedMax`. None while this node may not answer for the database;
   * without maintained views no component is opened.
   */
  async of(binding: Binding): Promise<readonly MaintainedView[]> {
    const versions = await this.#versionsOf(binding);
    const { timers, limits } = this.#context;
    const views: MaintainedView[] = [];
    for (const version of versions) {
      if (views.length >= limits.maintainedMax) break;
      views.push(...(await this.#foldsOf(binding, version)));
      // A version may have a hundred folds, each new when it was first read.
      await timers.turn();
    }
    return views.slice(0, limits.maintainedMax);
  }

  async #versionsOf(binding: Binding): Promise<readonly KeptVersion[]> {
    const { node, reads } = this.#context;
    if (node.absence(binding.group) !== undefined) return [];
    const last = await reads.lastDefinition(binding);
    if (last === 0) return [];
    const known = this.#versions.get(binding);
    if (known?.last === last) return known.versions;
    const definitions = await reads.definitions(binding);
    const kept = definitions.list(LATEST, 'state-view').filter(isKept);
    const versions = kept.toSorted((one, other) => RANKS[one.definition.priority] - RANKS[other.definition.priority]);
    this.#versions.set(binding, { last, versions });
    return versions;
  }

  async #foldsOf(binding: Binding, version: KeptVersion): Promise<readonly MaintainedView[]> {
    const { asked } = await openComponents(this.#context);
    const hasParameters = parametersOf(version.definition.selector).length > 0;
    const all = hasParameters ? await asked.of(askedKey(binding, version)) : [NO_PARAMETERS];
    const known = this.#folds.get(version) ?? new WeakMap<ViewParameters, MaintainedView | undefined>();
    this.#folds.set(version, known);
    return all.flatMap((parameters) => {
      if (!known.has(parameters)) known.set(parameters, this.#made(binding, version, parameters));
      return known.get(parameters) ?? [];
    });
  }

  #made(binding: Binding, version: KeptVersion, parameters: ViewParameters): MaintainedView | undefined {
    const { definition, foldEpoch, status } = version;
    const selector = bindView(definition, parameters, { field: 'parameters', faults: new Faults() });
    if (selector === undefined) return undefined;
    const context = this.#context;
    const fold = { version, parameters, selector };
    const bound = Buffer.from(encodeSelector(selector)).toString('base64');
    return {
      key: JSON.stringify([binding.databaseId, definition.name, version.version, foldEpoch, bound]),
      mode: status.mode,
      priority: definition.priority,
      database: binding.name,
      view: `${definition.name} v${version.version}`,
      applied: () => context.node.readable(binding.group),
      step: (step) => this.#stepped(binding, fold, step),
      drop: async (place) => (await openComponents(context)).views.drop(place),
    };
  }

  async #stepped(binding: Binding, fold: Fold, step: AdvanceStep): Promise<MaintenanceOutcome> {
    try {
      return await this.#advanced(binding, fold, step);
    } catch (failure) {
      if (isFatal(failure)) this.#onFatal(failure);
      if (isFatal(failure) || isGone(failure)) return GONE;
      const message = messageOf(failure);
      return { kind: 'failed', code: 'WasmExecutionError', message };
    }
  }

  async #advanced(binding: Binding, fold: Fold, step: AdvanceStep): Promise<MaintenanceOutcome> {
    const { node, reads, clock } = this.#context;
    if (node.absence(binding.group) !== undefined) return GONE;
    const view: ReadView = { binding, revision: node.readable(binding.group) };
    const { artifacts, views } = await openComponents(this.#context);
    // Events with a later effective time are folded when their time has come and the log has grown.
    const cut = fold.version.definition.order === 'revision' ? undefined : instantFromMs(clock.nowMs());
    const read = await viewRead(this.#context, artifacts, { ...fold, view, cut });
    const outcome = await reads.read(binding, () => views.advance(read, step));
    return outcome.kind === 'advanced' ? { ...outcome, at: read.at } : outcome;
  }
}

const GONE: MaintenanceOutcome = { kind: 'gone' };

function isKept(version: DefinedVersion): version is KeptVersion {
  const { definition, status } = version;
  return definition.kind === 'state-view' && status.active && status.mode !== 'lazy';
}

/** Deleted, or no longer on this node; the next poll finds out. */
export function isGone(failure: unknown): boolean {
  return failure instanceof DatabaseError && (failure.code === 'not_found' || failure.code === 'unavailable');
}
