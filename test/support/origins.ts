/** Request headers in which browsers name the origin of a request. */

type Said = Readonly<Record<string, string>>;

/** Headers of requests from pages of other origins, in different forms. */
export function foreignOrigins(host: string): readonly Said[] {
  return [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
}

/** Headers of requests from pages of `host`. */
export function ownOrigins(host: string): readonly Said[] {
  return [
    { origin: `http://${host}` },
    { 'sec-fetch-site': 'same-origin' },
    { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
  ];
}
