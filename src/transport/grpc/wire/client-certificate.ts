/** The certificate that the client of a connection presented: the same object for all of its calls. */
import type { X509Certificate } from 'node:crypto';
import type { Http2Session } from 'node:http2';
import { TLSSocket } from 'node:tls';

const known = new WeakMap<Http2Session, X509Certificate | 'none'>();

/** Undefined: it presented none, or there is no TLS. */
export function certificateOf({
  session,
}: {
  readonly session?: Http2Session | undefined;
}): X509Certificate | undefined {
  if (session === undefined || session.destroyed) return undefined;
  const found = known.get(session) ?? read(session) ?? 'none';
  known.set(session, found);
  return found === 'none' ? undefined : found;
}

function read({ socket }: Http2Session): X509Certificate | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
}
