// Histories in memory, for the stores of tests and of the simulation.
import { assert, type GroupId } from '#base';
import { type HistoryAppend, HistoryFault, type HistoryRange, type HistoryReader } from '#kv';

const NO_BYTES: Uint8Array = new Uint8Array(0);

export class MemoryHistories implements HistoryReader {
  readonly #histories: Map<GroupId, { readonly bytes: Uint8Array; readonly length: number }> = new Map();

  read(group: GroupId, range: HistoryRange): Uint8Array {
    const { bytes, length } = this.#histories.get(group) ?? { bytes: NO_BYTES, length: 0 };
    if (range.to > length) throw new HistoryFault(group, range, { isMissing: true, text: `it has ${length} bytes` });
    return bytes.subarray(range.from, length);
  }

  readAll(group: GroupId, ranges: readonly HistoryRange[]): readonly Uint8Array[] {
    return ranges.map((range) => this.read(group, range));
  }

  /** Bytes before the end never change, so views of them stay what they were. */
  append(group: GroupId, { position, bytes: more, segments }: HistoryAppend): void {
    const { bytes, length } = this.#histories.get(group) ?? { bytes: NO_BYTES, length: 0 };
    assert(position === length, 'Records are added at the end of a history', [position, length]);
    const begun = segments.every(({ position: at }) => at >= position && at < position + more.length);
    assert(begun && (position > 0 || segments[0]?.position === 0), 'A segment begins at a record that is added');
    const end = position + more.length;
    const grown = end <= bytes.length ? bytes : new Uint8Array(Math.max(end, 2 * bytes.length));
    if (grown !== bytes) grown.set(bytes.subarray(0, length));
    grown.set(more, position);
    this.#histories.set(group, { bytes: grown, length: end });
  }

  cut(group: GroupId, position: number): number {
    const history = this.#histories.get(group);
    if (history === undefined || position >= history.length) return Math.min(position, history?.length ?? 0);
    if (position === 0) this.#histories.delete(group);
    // Copied, so that views of what was cut do not change.
    else this.#histories.set(group, { bytes: history.bytes.slice(0, position), length: position });
    return position;
  }

  copy(from: GroupId, to: GroupId): void {
    const history = this.#histories.get(from);
    if (history === undefined) this.#histories.delete(to);
    else this.#histories.set(to, { bytes: history.bytes.slice(0, history.length), length: history.length });
  }

  size(group: GroupId): number {
    return this.#histories.get(group)?.length ?? 0;
  }

  clear(): void {
    this.#histories.clear();
  }
}
