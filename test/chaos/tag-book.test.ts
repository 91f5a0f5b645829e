/** Tests the ETag check of `npm run chaos` with made-up replies: each rule, and correct replies. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type PageSeen, TagBook } from '../../chaos/pages/tag-book.ts';

const PATH = '/db/orders/7';
const FIRST: PageSeen = {
  path: PATH,
  databaseId: 'one',
  tag: 'W/"a"',
  by: 'node-1 to a reader',
  sentTag: undefined,
  digest: 'd1',
};

describe('the book of tags', () => {
  let book: TagBook;

  beforeEach(() => {
    book = new TagBook();
    book.take(FIRST);
  });

  it('accepts the same page from another node, and a 304', () => {
    expect(new TagBook().take(FIRST)).toBeUndefined();
    expect(book.take({ ...FIRST, by: 'node-2 to a reader' })).toBeUndefined();
    expect(book.take({ ...FIRST, sentTag: FIRST.tag, digest: undefined })).toBeUndefined();
    expect(book.tagOf(PATH)).toBe(FIRST.tag);
  });

  it('accepts a page of the next instance with another ETag', () => {
    expect(book.take({ ...FIRST, databaseId: 'two', tag: 'W/"b"', sentTag: FIRST.tag, digest: 'd2' })).toBeUndefined();
    expect(book.tagOf(PATH)).toBe('W/"b"');
  });

  it.each<[string, Partial<PageSeen>, string]>([
    ['another tag for the same page', { tag: 'W/"b"' }, 'has the tag W/"b", and had W/"a", by node-1 to a reader'],
    ['another body under the same tag', { digest: 'd2' }, 'has another body under the tag W/"a"'],
    ['a page that is sent to who has it', { sentTag: FIRST.tag }, 'is sent again to who has it'],
    ['the tag of the instance before', { databaseId: 'two' }, 'has the tag W/"a", as it has of one'],
    [
      'an instance that says that what the one before had has not changed',
      { databaseId: 'two', sentTag: FIRST.tag, digest: undefined },
      'is said not to have changed, and never had the tag',
    ],
    ['not changed, by a tag that was not sent', { sentTag: 'W/"c"', digest: undefined }, 'by the tag W/"a", not W/"c"'],
  ])('finds %s', (_what, change, fault) => {
    expect(book.take({ ...FIRST, ...change })).toContain(fault);
  });
});
