/**
 * The tags that pages had, whoever was asked for them. A page is a path that names a revision, of one instance of a
 * database: it has one tag and one body for ever, at every node (specification, HTTP rule 6).
 */
export interface PageSeen {
  readonly path: string;
  /** Which instance has answered. */
  readonly databaseId: string;
  readonly tag: string;
  /** Who has answered whom. */
  readonly by: string;
  /** What was asked for only if it had changed. */
  readonly sentTag: string | undefined;
  /** Of the body; undefined: it has not changed. */
  readonly digest: string | undefined;
}

interface Page {
  readonly tag: string;
  readonly digest: string;
  readonly by: string;
}

export class TagBook {
  /** By path, then by instance. */
  readonly #pages = new Map<string, Map<string, Page>>();

  /** The tag of a page as somebody has it. */
  tagOf(path: string): string | undefined {
    return [...(this.#pages.get(path)?.values() ?? [])].at(-1)?.tag;
  }

  /** Takes an answer in; says what is wrong with it. */
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
