/** What a maintenance knows of one view: how far it is, when it goes on, and which of its snapshots to drop. */
import type { MaintainedView, MaintenanceSettings, StepResult } from './maintained-view.ts';

const PRIORITY_RANKS = { high: 0, normal: 1, low: 2 } as const;
/** A view is folded from the first event again for at most about a tenth of the time. */
const RESTART_REST = 10;

type UpkeepSettings = Pick<
  MaintenanceSettings,
  'eagerMs' | 'scheduleMs' | 'retryMsMin' | 'retryMsMax' | 'milestoneEvents'
>;

/** How a step went, as far as it matters for the next one. */
export interface UpkeepStep {
  readonly at: number;
  readonly isWhole: boolean;
  readonly isFromFirst: boolean;
  readonly foldedCount: number;
  readonly place: string | undefined;
}

export class Upkeep {
  readonly #settings: UpkeepSettings;
  #view: MaintainedView;
  /** It has seen every event up to this revision. */
  #followed = 0;
  #dueMs: number;
  /** When the pass began that is under way; undefined: none is. */
  #passMs: number | undefined;
  #stepMs = 0;
  #failures = 0;
  /** The latest snapshots of steps, the older one first. */
  #places: { readonly name: string; readonly isMilestone: boolean }[] = [];
  #sinceMilestone = 0;
  /** Aborted when the view is not kept up any more. */
  readonly #stop = new AbortController();

  constructor(view: MaintainedView, settings: UpkeepSettings, nowMs: number) {
    this.#settings = settings;
    this.#view = view;
    this.#dueMs = nowMs;
  }

  get view(): MaintainedView {
    return this.#view;
  }

  /** Whether the last step failed. */
  get isTroubled(): boolean {
    return this.#failures > 0;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lag(): number {
    return Math.max(0, this.#view.applied() - this.#followed);
  }

  /** The same fold, perhaps in another mode, which then counts from now on. */
  become(view: MaintainedView, nowMs: number): void {
    if (view.mode !== this.#view.mode && !this.isTroubled) this.#dueMs = nowMs;
    this.#view = view;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Asked again and again: a scheduled pass for which there is nothing to do counts as done. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#dueMs) return false;
    if (this.lag > 0) return true;
    if (this.#view.mode === 'scheduled') this.#dueMs = nowMs + this.#settings.scheduleMs;
    return false;
  }

  /** Whether it goes before the other: by priority, then whoever has waited for longer. */
  isBefore(other: Upkeep): boolean {
    const ranks = PRIORITY_RANKS[this.#view.priority] - PRIORITY_RANKS[other.#view.priority];
    return ranks < 0 || (ranks === 0 && this.#stepMs < other.#stepMs);
  }

  begin(nowMs: number): void {
    this.#stepMs = nowMs;
    this.#passMs ??= nowMs;
  }

  /** Returns what became of it. */
  advanced({ at, isWhole, isFromFirst, foldedCount, place }: UpkeepStep, nowMs: number): StepResult {
    const isRestart = isFromFirst && foldedCount > 0 && this.#places.length > 0;
    this.#failures = 0;
    if (isRestart) this.#places = [];
    this.#sinceMilestone += foldedCount;
    if (place !== undefined) this.#keep(place);
    const { eagerMs, retryMsMin } = this.#settings;
    const restMs = isRestart ? Math.max(retryMsMin, RESTART_REST * (nowMs - this.#stepMs)) : 0;
    if (!isWhole) {
      this.#dueMs = nowMs + restMs;
      return isRestart ? 'restarted' : 'advanced';
    }
    this.#followed = at;
    const begunMs = this.#passMs ?? nowMs;
    const pauseMs =
      this.#view.mode === 'eager' ? Math.max(eagerMs, nowMs - begunMs) : this.#untilNextMs(begunMs, nowMs);
    this.#dueMs = nowMs + Math.max(restMs, pauseMs);
    this.#passMs = undefined;
    return isRestart ? 'restarted' : 'advanced';
  }

  /** Returns after how long it is tried again. */
  failed(nowMs: number): number {
    const { retryMsMin, retryMsMax } = this.#settings;
    const retryMs = Math.min(retryMsMax, retryMsMin * 2 ** this.#failures);
    this.#failures++;
    this.rest(nowMs, retryMs);
    return retryMs;
  }

  /** Nothing came of the step, and it is nobody's fault. */
  rest(nowMs: number, restMs: number): void {
    this.#dueMs = nowMs + restMs;
    this.#passMs = undefined;
  }

  /**
   * The snapshots that nobody needs any more. The last one but one stays: a reader may have chosen it. One each so many
   * events stays, too, until there are too many of the fold.
   */
  superseded(): readonly string[] {
    const older = this.#places.splice(0, this.#places.length - 2);
    return older.filter(({ isMilestone }) => !isMilestone).map(({ name }) => name);
  }

  #keep(name: string): void {
    const isMilestone = this.#sinceMilestone >= this.#settings.milestoneEvents;
    this.#places.push({ name, isMilestone });
    if (isMilestone) this.#sinceMilestone = 0;
  }

  /** Scheduled passes begin at equal distances; one that takes longer than that leaves some out. */
  #untilNextMs(begunMs: number, nowMs: number): number {
    const { scheduleMs } = this.#settings;
    return scheduleMs - ((nowMs - begunMs) % scheduleMs);
  }
}
