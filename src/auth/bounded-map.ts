/** Appends an entry to a map, as its newest, and evicts the oldest ones when there would be more than `max`. */
export function keep<Value>(into: Map<string, Value>, name: string, value: Value, max: number): void {
  into.delete(name);
  for (const [oldest] of into) {
    if (into.size < max) break;
    into.delete(oldest);
  }
  into.set(name, value);
}
