/**
 * #ui: what the replies of the HTTP API look like to people and to agents.
 *
 * For: the text beside the data of a reply (title, summary, links, actions), and the drawing of both as a page of HTML
 * or of TOON, with the style, the icon and the modules that pages of HTML load.
 *
 * Not here: requests, statuses, headers, content negotiation (#transport). This layer is given plain values and returns
 * strings; it never reads a database.
 *
 * The files of this folder say what a page shows. html/ and toon/ draw it, and import from here; nothing here imports
 * from them. DESIGN.md has a picture.
 */
export { CREATE_DATABASE, executeCommand, expireSnapshots, publish, runCommand, transact } from './actions.ts';
export { isReadable, type ShownState, versionPage, versionsPage } from './component-pages.ts';
export { catalogPage, changesPage, collectionPage, databasePage } from './database-pages.ts';
export type { Action, Description, Form, FormField } from './description.ts';
export { errorPage } from './error-page.ts';
export { eventPage, eventsPage, type ListedEvents, transactionPage } from './event-pages.ts';
export { answeredPage, committedPath, type Members, membersOf, type SentForm, unsentPage } from './form-pages.ts';
export { ASSETS, ASSETS_TAG } from './html/assets.ts';
export { PAGE_HEADERS, renderHtml, renderHtmlNow } from './html/page.ts';
export { BUILDER_CHOICES, BUILDER_ROWS, renderQueryBuilder } from './html/query-builder.ts';
export { type DocumentedRoute, renderReference } from './html/reference-page.ts';
export { isOfSwagger, renderSwagger, SWAGGER_HEADERS, swaggerAsset } from './html/swagger-ui.ts';
export { laidOut } from './laid-out.ts';
export { namesPage } from './name-pages.ts';
export { clusterPage, nodePage } from './node-pages.ts';
export {
  type Attribute,
  belowDatabase,
  CATALOG_PATH,
  type ComponentSegment,
  type NamedVersion,
  queryPath,
  versionPath,
} from './paths.ts';
export type { ReplyData } from './reply-data.ts';
export { renderToon, renderToonNow } from './toon/toon.ts';
