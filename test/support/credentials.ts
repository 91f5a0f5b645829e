/** Headers of a request, for whoever finds out who asks. */
import type { Credentials } from '#auth';

/** By lowercase names; a list is a header that is sent several times. */
export function credentialsOf(headers: Readonly<Record<string, string | readonly string[]>>): Credentials {
  return { values: (name) => [headers[name] ?? []].flat() };
}

/** What a browser sends once its user has signed in. */
export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}
