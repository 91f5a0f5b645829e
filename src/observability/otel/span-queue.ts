/**
 * Spans that have ended and wait to be exported: in batches, one at a time, and never more of them than a bound.
 *
 * The SDK's own batches say nothing of what they drop. These count it: a node never waits for a collector, so what it
 * does not take in time is lost, and `cairn_trace_spans_dropped_total` says how much that is.
 */
import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';
import type { Count } from '../metrics.ts';

/** What becomes of spans. */
export interface SpanCounts {
  readonly exported: Count;
  /** More ended than were exported. */
  readonly queueFull: Count;
  /** The collector was not reached, or refused them. */
  readonly exportFailed: Count;
}

export interface SpanQueueOptions {
  readonly exporter: SpanExporter;
  readonly logger: Logger;
  readonly counts: SpanCounts;
  /** Spans that wait; `SPANS_MAX` unless given. */
  readonly spansMax?: number;
  /** Spans of one export; `BATCH_SPANS_MAX` unless given. */
  readonly batchSpansMax?: number;
  /** From the first span that waits to its export; `DELAY_MS` unless given. */
  readonly delayMs?: number;
  /** From any beginning, never back. */
  readonly nowMs?: () => number;
}

/** About 2 KiB each. */
const SPANS_MAX = 4_096;
const BATCH_SPANS_MAX = 512;
const DELAY_MS = 1_000;
/** Between two log lines about exports that fail. */
const LOG_EVERY_MS = 60_000;

export class SpanQueue implements SpanProcessor {
  readonly #options: SpanQueueOptions;
  readonly #spansMax: number;
  readonly #batchSpansMax: number;
  readonly #delayMs: number;
  readonly #nowMs: () => number;
  #waiting: ReadableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The export under way; it never rejects. */
  #exporting: Promise<void> | undefined;
  #saidMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: SpanQueueOptions) {
    const { spansMax = SPANS_MAX, batchSpansMax = BATCH_SPANS_MAX, delayMs = DELAY_MS } = options;
    this.#options = options;
    this.#spansMax = spansMax;
    this.#batchSpansMax = batchSpansMax;
    this.#delayMs = delayMs;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  onStart(): void {
    // A span is nothing to export before it has ended.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#isClosed || this.#waiting.length >= this.#spansMax) {
      this.#options.counts.queueFull.add();
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= this.#batchSpansMax) this.#export();
    else this.#exportLater();
  }

  /** Resolves when everything that waits now has been exported, or was not taken. */
  async forceFlush(): Promise<void> {
    for (let left = this.#waiting.length; left > 0 || this.#exporting !== undefined; left -= this.#batchSpansMax) {
      await this.#exporting;
      this.#export();
    }
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#options.exporter.shutdown();
  }

  #exportLater(): void {
    if (this.#timer !== undefined || this.#exporting !== undefined) return;
    this.#timer = setTimeout(() => this.#export(), this.#delayMs);
    // Spans keep no process alive.
    this.#timer.unref();
  }

  #export(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#exporting !== undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, this.#batchSpansMax);
    this.#exporting = this.#send(batch).finally(() => {
      this.#exporting = undefined;
      if (this.#waiting.length >= this.#batchSpansMax) this.#export();
      else if (this.#waiting.length > 0) this.#exportLater();
    });
  }

  /** Never rejects. */
  async #send(batch: ReadableSpan[]): Promise<void> {
    const failure = await new Promise<unknown>((resolve) => {
      try {
        this.#options.exporter.export(batch, ({ code, error }) => {
          resolve(code === ExportResultCode.SUCCESS ? undefined : (error ?? code));
        });
      } catch (error) {
        resolve(error);
      }
    });
    if (failure === undefined) this.#options.counts.exported.add(batch.length);
    else this.#lost(batch.length, failure);
  }

  #lost(spans: number, failure: unknown): void {
    this.#options.counts.exportFailed.add(spans);
    const nowMs = this.#nowMs();
    if (nowMs - this.#saidMs < LOG_EVERY_MS) return;
    this.#saidMs = nowMs;
    const why = failure instanceof Error ? failure.message : String(failure);
    this.#options.logger.warn('spans-not-exported', { spans, why });
  }
}
