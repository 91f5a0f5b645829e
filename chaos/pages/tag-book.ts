/**
 * Records the ETags of pages from all nodes and finds contradictions. A page is a path with a revision, of one instance
 * of a database; it has one ETag and one body forever, on every node (specification, HTTP rule 6).
 */
export interface PageSeen {
  readonly path: string;
  /** Instance that the reply names. */
  readonly databaseId: string;
  readonly tag: string;
  /** Names of the node and the reader. */
  readonly by: string;
  /** ETag in the request (`If-None-Match`). */
  readonly sentTag: string | undefined;
  /** Digest of the body; undefined for a 304. */
  readonly digest: string | undefined;
}

interface Page {
  readonly tag: string;
  readonly digest: string;
  readonly by: string;
}

export class TagBook {
  /** Pages by path, then by instance. */
  readonly #pages = new Map<string, Map<string, Page>>();

  /** The last recorded ETag of a page. */
  tagOf(path: string): string | undefined {
    return [...(this.#pages.get(path)?.values() ?? [])].at(-1)?.tag;
  }

  /** Records a reply, and returns a description of its fault if it has one. */
  take({ path, databaseId, tag, by, sentTag, digest }: PageSeen): string | undefined {
    const instances = this.#pages.get(path) ?? new Map<string, Page>();
    const known = instances.get(databaseId);
    const what = `${path} of ${databaseId}, by ${by}`;
    if (digest === undefined) {
      if (tag !== sentTag) return `${what}, is said not to have changed by the tag ${tag}, not ${sentTag}`;
      return known?.tag === tag ? undefined : `${what}, is said not to have changed, and never had the tag ${tag}`;
    }
    if (tag === sentTag) return `${what}, is sent again to who has it by the tag ${tag}`;
    if (known === undefined) {
      const [other] = [...instances].find(([, page]) => page.tag === tag) ?? [];
      this.#pages.set(path, instances.set(databaseId, { tag, digest, by }));
      return other === undefined ? undefined : `${what}, has the tag ${tag}, as it has of ${other}`;
    }
    if (known.tag !== tag) return `${what}, has the tag ${tag}, and had ${known.tag}, by ${known.by}`;
    return known.digest === digest ? undefined : `${what}, has another body under the tag ${tag} than by ${known.by}`;
  }
}
