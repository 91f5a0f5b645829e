/** Where browsers say that a request comes from. */

type Said = Readonly<Record<string, string>>;

/** From pages that are not of `host`, each in another way. */
export function foreignOrigins(host: string): readonly Said[] {
  return [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
}

/** From pages of `host` itself. */
export function ownOrigins(host: string): readonly Said[] {
  return [
    { origin: `http://${host}` },
    { 'sec-fetch-site': 'same-origin' },
    { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
  ];
}
