/** A bound port that a server takes over instead of binding one itself. */

export interface HeldPort {
  /** The port that was bound. */
  readonly port: number;
  /** Part of the options of `server.listen`; called once. */
  take(): { readonly handle: unknown };
}

/** Options of `listen`: the address, or the held port. */
export function listenOptions(
  { host, port }: { readonly host: string; readonly port: number },
  held: HeldPort | undefined,
): { readonly host: string; readonly port: number; readonly handle?: unknown } {
  return held === undefined ? { host, port } : { host, port, ...held.take() };
}
