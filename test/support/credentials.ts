/** Request headers with credentials, for tests of authentication. */
import type { Credentials } from '#auth';

/** Headers by lowercase name; a list is a header that is sent several times. */
export function credentialsOf(headers: Readonly<Record<string, string | readonly string[]>>): Credentials {
  return { values: (name) => [headers[name] ?? []].flat() };
}

/** The header that a browser sends after the user has signed in. */
export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}
