/**
 * Who must give back bytes so that a lighter connection gets some: of the connection that has most, the hold that has
 * stood still longest, as long as that connection then still has about as much as the one that waits.
 *
 * ```
 *   heavy  ████ ████ ████ ████      after    ████ ████ ████
 *   light  ·                                 ████
 * ```
 *
 * Slots of calls are shared in the same way (T9, ADR 0015). A connection with one hold is never disturbed, nor is a
 * hold of which parts leave (TM2).
 */
import type { Hold } from './byte-budget.ts';

/** Of what the other one will have: holds of events that are alike differ a little. */
const KEPT_SHARE = 3 / 4;

export interface Displacing {
  /** Those of connections that may lose them, the longest stalled first. */
  readonly stalled: readonly Hold[];
  /** So much must be given back at least. */
  readonly missingBytes: number;
  /** What the connection that waits will have. */
  readonly lightBytes: number;
  /** What the connection of a hold has. */
  readonly heavyBytes: (hold: Hold) => { readonly connection: object; readonly bytes: number };
}

/** The holds; none when it cannot be enough, so that nobody is disturbed in vain. */
export function displaced({ stalled, missingBytes, lightBytes, heavyBytes }: Displacing): readonly Hold[] {
  const left = new Set(stalled);
  const lost = new Map<object, number>();
  const taken: Hold[] = [];
  let missing = missingBytes;
  while (missing > 0) {
    let heaviest: { readonly hold: Hold; readonly connection: object; readonly bytes: number } | undefined;
    for (const hold of left) {
      const { connection, bytes: all } = heavyBytes(hold);
      const bytes = all - (lost.get(connection) ?? 0);
      if (bytes - hold.bytes >= KEPT_SHARE * lightBytes && bytes > (heaviest?.bytes ?? 0))
        heaviest = { hold, connection, bytes };
    }
    if (heaviest === undefined) return [];
    const { hold, connection } = heaviest;
    left.delete(hold);
    lost.set(connection, (lost.get(connection) ?? 0) + hold.bytes);
    taken.push(hold);
    missing -= hold.bytes;
  }
  return taken;
}
