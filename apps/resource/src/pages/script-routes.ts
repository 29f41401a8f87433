import { defineRoute, type Route } from '@plainpath/http'
import { DOCS_SCRIPT, LEAVE_SCRIPT } from '@plainpath/pages'
import { PAGE, PUBLIC_PAGE } from './page.ts'

/** Creates the routes for the pages' scripts. */
export const createScriptRoutes = (): Route[] => [
  // Browsers must not cache this script: a cached copy would show that somebody opened a page with the quick exit.
  defineRoute({
    ...PAGE,
    path: LEAVE_SCRIPT.path,
    operationId: 'leaveScript',
    summary: 'The script of the quick exit',
    handle: () => ({ status: 200, text: { type: LEAVE_SCRIPT.contentType, content: LEAVE_SCRIPT.body } }),
  }),
  defineRoute({
    ...PUBLIC_PAGE,
    path: DOCS_SCRIPT.path,
    operationId: 'docsScript',
    summary: 'The script of the API reference',
    handle: () => ({ status: 200, text: { type: DOCS_SCRIPT.contentType, content: DOCS_SCRIPT.body } }),
  }),
]
