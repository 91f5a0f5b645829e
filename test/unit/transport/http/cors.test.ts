// Goal: the cross-origin headers of the specification, and those that a browser client needs. Method: a table.
import { describe, expect, it } from 'vitest';
import { corsHeaders } from '../../../../src/transport/http/cors.ts';

describe('SPEC-HTTP-CORS: cross-origin headers', () => {
  it('let any origin in by default', () => {
    expect(corsHeaders('*', undefined)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, DELETE, OPTIONS',
    });
  });

  it('name the two request headers of the specification first, then those of this API', () => {
    const allowed = corsHeaders('*', 'https://a.example')['access-control-allow-headers'];
    expect(allowed).toMatch(/^Content-Type, X-API-Key, /);
    for (const name of ['Authorization', 'If-None-Match', 'x-min-revision', 'x-batch-id', 'X-Last-Seen-Revision']) {
      expect(allowed).toContain(name);
    }
  });

  it('let a page read where a reply comes from and where to go on', () => {
    const exposed = corsHeaders('*', undefined)['access-control-expose-headers'];
    for (const name of ['Link', 'Location', 'Retry-After', 'x-database-id', 'x-revision', 'x-effective-time-end-at']) {
      expect(exposed).toContain(name);
    }
  });

  it('answer a listed origin by its name and tell caches so', () => {
    const headers = corsHeaders(['https://a.example', 'https://b.example'], 'https://b.example');
    expect(headers).toMatchObject({ 'access-control-allow-origin': 'https://b.example', vary: 'Origin' });
  });

  it.each(['https://c.example', undefined, 'null'])('say nothing to the origin %s when it is not listed', (origin) => {
    expect(corsHeaders(['https://a.example'], origin)).toEqual({ vary: 'Origin' });
  });
});
